use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;

fn engine(home: &Path, script: &str) -> LocalEngine {
    let binary = home.join("pandastack");
    std::fs::write(&binary, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&binary, std::fs::Permissions::from_mode(0o755)).unwrap();
    LocalEngine {
        home: home.to_owned(),
        socket: home.join("engine.sock"),
        binary: Some(binary),
        starting: tokio::sync::Mutex::new(()),
    }
}

const LISTEN: &str = r#"echo start >> "$PANDASTACK_HOME/starts"
exec python3 -c 'import os,socket,time
s=socket.socket(socket.AF_UNIX); s.bind(os.environ["PANDASTACK_HOME"]+"/engine.sock"); s.listen(64); time.sleep(3)'"#;

#[tokio::test]
async fn many_starters_start_one_engine() {
    let home = tempfile::tempdir().unwrap();
    let engines: Vec<_> = (0..8).map(|_| engine(home.path(), LISTEN)).collect();
    let started = futures::future::join_all(engines.iter().map(LocalEngine::start)).await;
    assert!(started.iter().all(Result::is_ok), "{started:?}");
    assert_eq!(std::fs::read_to_string(home.path().join("starts")).unwrap(), "start\n");
}

#[tokio::test]
async fn an_engine_that_fails_tells_why() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("engine.log"), "old\n").unwrap();
    let engine = engine(home.path(), "echo 'no template: run `pandastack engine setup`' >&2; exit 1");
    let error = engine.start().await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::Engine);
    assert!(error.message().contains("run `pandastack engine setup`") && !error.message().contains("old"), "{error}");
    let binary = engine.binary.unwrap();
    assert!(error.message().contains(&*binary.to_string_lossy()), "{error}");
}

#[tokio::test]
async fn a_missing_binary_is_named() {
    let home = tempfile::tempdir().unwrap();
    let mut engine = engine(home.path(), "");
    engine.binary = Some(home.path().join("gone"));
    let error = engine.start().await.err().unwrap();
    assert!(error.message().contains("gone") && error.message().contains("PANDASTACK_BINARY"), "{error}");
    engine.binary = None;
    assert!(engine.start().await.err().unwrap().message().contains("PANDASTACK_BINARY"));
}
