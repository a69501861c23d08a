use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::runsc::fake::write_script;

const FAKE_RUNSC: &str = "#!/bin/sh\ncase $1 in --version) echo 'runsc version release-20270101.0';; help) echo ' -leave-running -compression -direct';; esac\n";

/// Serves the given paths on a loopback port; everything else is 404.
async fn serve(files: BTreeMap<String, Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/releases/", listener.local_addr().unwrap());
    let files = Arc::new(files);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let files = Arc::clone(&files);
            tokio::spawn(async move {
                let mut request = vec![0; 4096];
                let length = stream.read(&mut request).await.unwrap();
                let request = String::from_utf8_lossy(&request[..length]).into_owned();
                let path = request.split(' ').nth(1).unwrap();
                let (status, body) = files.get(path).map_or(("404 Not Found", &[][..]), |body| ("200 OK", body));
                let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
                stream.write_all(&[head.as_bytes(), body].concat()).await.unwrap();
            });
        }
    });
    url
}

fn release(binary: &str, checksum: &str) -> BTreeMap<String, Vec<u8>> {
    let path = format!("/releases/{}/runsc", env::consts::ARCH);
    BTreeMap::from([(path.clone(), binary.into()), (format!("{path}.sha512"), format!("{checksum}  runsc\n").into())])
}

fn sha512(text: &str) -> String {
    Sha512::digest(text).iter().map(|byte| format!("{byte:02X}")).collect()
}

fn home() -> (tempfile::TempDir, Home) {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path().join("home")).unwrap();
    home.create().unwrap();
    (folder, home)
}

async fn installed(home: &Home, releases: String, go: PathBuf) -> Result<FoundRunsc, RunscError> {
    install(home, &InstallOptions { releases, go }, &|_| {}).await
}

#[tokio::test]
async fn a_release_with_the_right_checksum_is_installed() {
    let (_folder, home) = home();
    let releases = serve(release(FAKE_RUNSC, &sha512(FAKE_RUNSC))).await;
    let found = installed(&home, releases, "/nowhere/go".into()).await.unwrap();
    assert_eq!((found.path, found.version.as_str()), (home.bin().join("runsc"), "release-20270101.0"));
    assert_eq!(fs::read_to_string(home.bin().join("runsc")).unwrap(), FAKE_RUNSC);
    assert!(!home.bin().join(".install").exists());
}

#[tokio::test]
async fn a_damaged_release_is_refused_and_nothing_is_replaced() {
    let (_folder, home) = home();
    fs::write(home.bin().join("runsc"), "the old one").unwrap();
    let releases = serve(release(FAKE_RUNSC, &sha512("another"))).await;
    let error = installed(&home, releases, "/nowhere/go".into()).await.unwrap_err().to_string();
    assert!(
        error.contains("SHA-512") && error.contains("/nowhere/go") && error.contains("PANDASTACK_RUNSC"),
        "{error}"
    );
    assert_eq!(fs::read_to_string(home.bin().join("runsc")).unwrap(), "the old one");
    assert!(!home.bin().join(".install").exists());
}

#[tokio::test]
async fn a_release_that_is_too_old_is_refused() {
    let (_folder, home) = home();
    let old = FAKE_RUNSC.replace("20270101", "20221219");
    let releases = serve(release(&old, &sha512(&old))).await;
    let error = installed(&home, releases, "/nowhere/go".into()).await.unwrap_err().to_string();
    assert!(error.contains("release-20221219.0") && error.contains("too old"), "{error}");
}

#[tokio::test]
async fn without_a_release_it_is_built_with_go() {
    let (folder, home) = home();
    let go = folder.path().join("go");
    let body = format!(
        "echo \"$CGO_ENABLED $@\" > {0}/called\nprintf '%s' \"$(cat {0}/fake)\" > $GOBIN/runsc\nchmod 755 $GOBIN/runsc",
        folder.path().display()
    );
    write_script(&go, &body);
    fs::write(folder.path().join("fake"), FAKE_RUNSC).unwrap();
    let releases = serve(BTreeMap::new()).await;
    let found = installed(&home, releases, go).await.unwrap();
    assert_eq!(found.path, home.bin().join("runsc"));
    let called = fs::read_to_string(folder.path().join("called")).unwrap();
    assert!(
        called.starts_with("0 install ") && called.contains(PINNED_VERSION) && called.contains(GO_MODULE_VERSION),
        "{called}"
    );
}

#[tokio::test]
async fn a_failed_build_shows_what_go_said() {
    let (folder, home) = home();
    let go = folder.path().join("go");
    write_script(&go, "echo 'requires go >= 1.26.3' >&2; exit 1");
    let releases = serve(BTreeMap::new()).await;
    let error = installed(&home, releases, go).await.unwrap_err().to_string();
    assert!(error.contains("404") && error.contains("requires go >= 1.26.3"), "{error}");
}
