use tempfile::TempDir;

use super::*;
use crate::runsc::fake::write_script;

/// A `runsc` that appends its arguments to `calls` and then does what `body` says; `$word` is the command word.
fn fake(body: &str) -> (TempDir, Runsc) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runsc");
    let script = format!(
        "echo \"$@\" >> {calls}\nlog=\nword=\nwhile [ $# -gt 0 ]; do case $1 in --root) shift;; --log) log=$2; shift;; --*) ;; *) word=$1; break;; esac; shift; done\n{body}",
        calls = folder.path().join("calls").display()
    );
    write_script(&path, &script);
    let runsc = Runsc::new(path, folder.path().join("run"));
    (folder, runsc)
}

fn calls(folder: &TempDir) -> String {
    fs::read_to_string(folder.path().join("calls")).unwrap()
}

fn stdio(folder: &TempDir) -> GuestStdio {
    let stdio = GuestStdio::of(folder.path());
    stdio.make().unwrap();
    stdio
}

#[test]
fn a_command_that_found_no_room_to_say_why_it_failed_had_a_full_disk() {
    let error = |log: &str, free| failure("create", "a", reason_in(log.as_bytes(), free).as_bytes());
    for free in [0, 4096] {
        assert!(error("", Some(free)).is_disk_full());
    }
    for free in [None, Some(1 << 30)] {
        assert!(error("", free).to_string().ends_with("no reason given"));
    }
    assert!(error(r#"{"msg":"no such bundle"}"#, Some(0)).to_string().ends_with("no such bundle"));
}

#[tokio::test]
async fn every_call_names_root_and_platform() {
    let (folder, runsc) = fake("exit 0");
    runsc.start("a").await.unwrap();
    runsc.checkpoint("a", Path::new("/image"), true).await.unwrap();
    runsc.delete("a", true).await.unwrap();
    let root = folder.path().join("run").display().to_string();
    let expected: String = ["start a", "checkpoint --image-path /image -leave-running a", "delete -force a"]
        .map(|call| format!("--root {root} --network=none --ignore-cgroups --platform=systrap {call}\n"))
        .concat();
    assert_eq!(calls(&folder), expected);
}

#[tokio::test]
async fn a_failure_is_one_line_without_a_go_trace() {
    let (_folder, runsc) =
        fake("printf 'starting container: unknown header: 41:\\ngoroutine 21 [running]:\\nmain()\\n' >&2; exit 128");
    let error = runsc.checkpoint("a", Path::new("/image"), false).await.unwrap_err();
    assert_eq!(error.to_string(), "runsc checkpoint failed for `a`: starting container: unknown header: 41");
}

#[tokio::test]
async fn an_unknown_sandbox_is_told_apart() {
    let (_folder, runsc) = fake("printf 'FetchSpec failed: loading container: file does not exist\\n' >&2; exit 128");
    assert!(matches!(runsc.state("a").await.unwrap_err(), RunscError::UnknownContainer { id } if id == "a"));
}

#[tokio::test]
async fn a_call_that_hangs_is_killed_at_its_deadline() {
    let (_folder, runsc) = fake("exec sleep 600");
    let deadlines = Deadlines { quick: Duration::from_millis(50), image: Duration::from_millis(50) };
    let error = runsc.with_deadlines(deadlines).pause("a").await.unwrap_err();
    assert_eq!(error.to_string(), "runsc pause did not finish within 50 ms: `a`");
}

#[tokio::test]
async fn a_missing_binary_is_named() {
    let error = Runsc::new("/nowhere/runsc", "/run").start("a").await.unwrap_err();
    assert_eq!(error.to_string(), "cannot start runsc: `/nowhere/runsc`");
}

#[tokio::test]
async fn state_is_typed_and_nonsense_is_refused() {
    let (_folder, runsc) = fake(r#"echo '{"ociVersion":"1.2.1","id":"a","status":"running","pid":7,"bundle":"b"}'"#);
    assert_eq!(runsc.state("a").await.unwrap(), ContainerState { status: ContainerStatus::Running, pid: 7 });
    let (_folder, runsc) = fake("echo nonsense");
    assert!(runsc.state("a").await.unwrap_err().to_string().contains("nonsense"));
}

#[tokio::test]
async fn a_failed_create_reads_the_log_and_leaves_nothing() {
    let (folder, runsc) = fake(
        r#"[ $word = create ] || exit 0; echo '{"msg":"earlier","level":"info"}' > $log; echo '{"msg":"creating container: no such image","level":"error"}' >> $log; exit 128"#,
    );
    let stdio = stdio(&folder);
    let error = runsc.create("a", folder.path(), &stdio, None).await.unwrap_err();
    assert_eq!(error.to_string(), "runsc create failed for `a`: creating container: no such image");
    assert!(calls(&folder).ends_with("delete -force a\n"));
    assert!(!folder.path().join("runsc.log").exists());
}

#[tokio::test]
async fn the_sandbox_gets_the_pipes() {
    let (folder, runsc) = fake("read line; echo \"got $line\"; echo warned >&2");
    let stdio = stdio(&folder);
    let [mut stdin, mut stdout, mut stderr] = stdio.open().unwrap();
    io::Write::write_all(&mut stdin, b"hello\n").unwrap();
    runsc.restore("a", folder.path(), Path::new("/image"), &stdio).await.unwrap();
    let mut answer = [0; 10];
    io::Read::read_exact(&mut stdout, &mut answer).unwrap();
    assert_eq!(&answer, b"got hello\n");
    io::Read::read_exact(&mut stderr, &mut answer[..7]).unwrap();
    assert_eq!(&answer[..7], b"warned\n");
}
