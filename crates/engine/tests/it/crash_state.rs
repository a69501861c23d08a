//! An engine that is killed while it copies, stores and wakes a sandbox.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use pandastack_engine::engine::{Engine, EngineConfig};
use pandastack_engine::home::Home;
use pandastack_engine::runsc;
use pandastack_protocol::fork::ForkSandbox;
use pandastack_protocol::sandbox::CreateSandbox;

use crate::home::{TestHome, cell, create, python, with_home};

/// Set for the process that is to be killed: the home that it serves.
const VICTIM_HOME: &str = "PANDASTACK_TEST_STATE_VICTIM_HOME";

/// Set for it as well: the sandbox that it works on.
const VICTIM_SANDBOX: &str = "PANDASTACK_TEST_STATE_VICTIM_SANDBOX";

#[test]
fn whenever_the_engine_is_killed_the_state_is_whole() {
    with_home(|home| async {
        let engine = home.open().await;
        let made = create(&engine).await;
        let context = python(&engine, &made.id).await;
        cell(&engine.guest(&made.id).await.unwrap(), &context, "kept = 7").await;
        engine.shutdown(false).await.unwrap();
        drop(engine);
        for delay_ms in [20, 90, 170, 260, 400, 700, 1100] {
            let mut victim = start_victim(home, &made.id);
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
            victim.kill().unwrap();
            victim.wait().unwrap();
            let engine = home.open().await;
            check_folders(home, &engine).await;
            let guest = engine.guest(&made.id).await.unwrap();
            let (_, output) = cell(&guest, &context, "print(kept)").await;
            assert_eq!(output.stdout, "7\n", "killed after {delay_ms} ms");
            for snapshot in engine.snapshots(None).await.unwrap() {
                let request = CreateSandbox { from_snapshot: Some(snapshot.id.clone()), ..CreateSandbox::default() };
                let copy = engine.create_sandbox(request).await.unwrap();
                let (_, output) = cell(&engine.guest(&copy.id).await.unwrap(), &context, "print(kept)").await;
                assert_eq!(output.stdout, "7\n", "snapshot taken before the kill after {delay_ms} ms");
                engine.delete_snapshot(&snapshot.id).await.unwrap();
            }
            for info in engine.list_sandboxes().await.unwrap().into_iter().filter(|info| info.id != made.id) {
                engine.delete_sandbox(&info.id).await.unwrap();
            }
            engine.shutdown(false).await.unwrap();
        }
        home.open().await.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

/// Folders of images are those that the engine knows, and no others.
async fn check_folders(home: &TestHome, engine: &Engine) {
    let names = |folder: std::path::PathBuf| -> HashSet<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    };
    let snapshots = engine.snapshots(None).await.unwrap().into_iter().map(|snapshot| snapshot.id).collect();
    assert_eq!(names(home.home().snapshots()), snapshots);
    let sandboxes = engine.list_sandboxes().await.unwrap();
    let hibernated =
        sandboxes.iter().filter(|info| info.status == pandastack_protocol::sandbox::SandboxStatus::Hibernated);
    assert_eq!(names(home.home().hibernated()), hibernated.map(|info| info.id.clone()).collect());
}

fn start_victim(home: &TestHome, sandbox_id: &str) -> Child {
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash_state::victim", "--nocapture"])
        .env(VICTIM_HOME, home.home().root())
        .env(VICTIM_SANDBOX, sandbox_id)
        .env("PANDASTACK_RUNSC", home.config().runsc.path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.contains("begun")), "the victim did not get far");
    victim
}

/// Copies, stores and wakes the sandbox until it is killed. Does nothing in an ordinary test run.
#[test]
fn victim() {
    let (Some(home), Ok(id)) = (std::env::var_os(VICTIM_HOME), std::env::var(VICTIM_SANDBOX)) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let home = Home::at(home).unwrap();
        let config = EngineConfig {
            ready_sandboxes: 0,
            blank_sandboxes: 0,
            ..EngineConfig::new(home.clone(), runsc::find(&home).await.unwrap())
        };
        let engine = Engine::open(config).await.unwrap();
        println!("begun");
        std::io::stdout().flush().unwrap();
        loop {
            engine.create_snapshot(&id).await.unwrap();
            engine.hibernate_sandbox(&id).await.unwrap();
            engine.wake_sandbox(&id).await.unwrap();
            engine.fork_sandbox(&id, ForkSandbox::default(), 1).await.unwrap();
        }
    });
}
