use super::*;
use crate::runsc::Version;
use crate::runsc::fake::write_script;

/// Waits for nothing, or fails.
struct Instant {
    outcome: Result<(), String>,
}

impl WarmUp for Instant {
    async fn warm_up(&self, stdio: &GuestStdio) -> Result<(), String> {
        let [_, _, mut stderr] = stdio.open().unwrap();
        std::io::Write::write_all(&mut stderr, b"agent: no kernel\n").unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        self.outcome.clone()
    }
}

/// A `runsc` that notes its calls in `calls` and writes checkpoints unless there is a file `full`.
fn fake(folder: &Path) -> FoundRunsc {
    let path = folder.join("runsc");
    let body = format!(
        "echo \"$@\" >> {0}/calls\ncase \" $* \" in *' checkpoint '*) [ -e {0}/full ] && {{ echo 'no space left on device' >&2; exit 1; }}\nwhile [ $# -gt 0 ]; do [ $1 = --image-path ] && image=$2; shift; done\nfor name in checkpoint pages pages_meta; do echo x > $image/$name.img; done;; esac",
        folder.display()
    );
    write_script(&path, &body);
    FoundRunsc { path, version: Version::parse("runsc version 20260905.0").unwrap() }
}

fn home() -> (tempfile::TempDir, Home) {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path().join("home")).unwrap();
    home.create().unwrap();
    (folder, home)
}

fn calls(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("calls")).unwrap();
    text.lines()
        .map(|line| line.split("--platform=systrap ").last().unwrap().split(' ').next().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_warm_sandbox_is_kept_and_ended() {
    let (folder, home) = home();
    let runsc = fake(folder.path());
    let checkpoint = home.templates().join("checkpoint");
    let spec = SandboxSpec::new("/image.erofs");
    bake(&home, &runsc, &spec, &Instant { outcome: Ok(()) }, &checkpoint).await.unwrap();
    assert!(CHECKPOINT_FILES.iter().all(|name| checkpoint.join(name).is_file()));
    assert_eq!(calls(folder.path())[1..], ["start", "checkpoint", "delete"]);
    assert!(!bake_folder(&home).exists());
}

#[tokio::test]
async fn a_sandbox_that_stays_cold_leaves_nothing_but_an_error_with_its_last_words() {
    let (folder, home) = home();
    let runsc = fake(folder.path());
    let checkpoint = home.templates().join("checkpoint");
    let warm_up = Instant { outcome: Err("no warm kernel within 1 s".to_owned()) };
    let error =
        bake(&home, &runsc, &SandboxSpec::new("/image.erofs"), &warm_up, &checkpoint).await.unwrap_err().to_string();
    assert_eq!(error, "template could not be warmed up: no warm kernel within 1 s; the agent said: agent: no kernel");
    assert_eq!(calls(folder.path()).last().unwrap(), "delete");
    assert!(!checkpoint.exists() && !bake_folder(&home).exists());
}

#[tokio::test]
async fn a_checkpoint_that_fails_half_way_leaves_no_part_of_it() {
    let (folder, home) = home();
    let runsc = fake(folder.path());
    fs::write(folder.path().join("full"), "").unwrap();
    let checkpoint = home.templates().join("checkpoint");
    let error = bake(&home, &runsc, &SandboxSpec::new("/image.erofs"), &Instant { outcome: Ok(()) }, &checkpoint)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("no space left on device"), "{error}");
    assert_eq!(fs::read_dir(home.templates()).unwrap().count(), 0);
}

#[tokio::test]
async fn what_a_killed_bake_left_is_ended_first() {
    let (folder, home) = home();
    let runsc = fake(folder.path());
    let sandbox = prepare(&home, &runsc, &SandboxSpec::new("/image.erofs")).unwrap();
    assert!(sandbox.bundle.exists());
    clean_bake(&home, &runsc).await.unwrap();
    clean_bake(&home, &runsc).await.unwrap();
    assert_eq!(calls(folder.path()), ["delete"]);
    assert!(!bake_folder(&home).exists());
}
