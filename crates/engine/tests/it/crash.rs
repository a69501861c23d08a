//! An engine that is killed in the middle of everything.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use pandastack_engine::engine::{Engine, EngineConfig};
use pandastack_engine::guest::GuestClient;
use pandastack_engine::home::Home;
use pandastack_engine::runsc;
use pandastack_guest_protocol::context::{CreateContext, RunRequest};
use pandastack_guest_protocol::exec::ExecRequest;

use crate::home::{TestHome, cell, create, shell, with_home};

/// Set for the process that is to be killed: the home that it serves.
const VICTIM_HOME: &str = "PANDASTACK_TEST_VICTIM_HOME";

#[test]
fn sandboxes_survive_a_killed_engine() {
    with_home(|home| async {
        let engine = home.open().await;
        let made = create(&engine).await;
        let guest = engine.guest(&made.id).await.unwrap();
        let context = guest
            .create_context(&CreateContext { language: "python".into(), ..CreateContext::default() })
            .await
            .unwrap();
        cell(&guest, &context.id, "kept = 7; count = 0").await;
        engine.shutdown(false).await.unwrap();
        drop((guest, engine));

        for delay_ms in [0, 50, 300] {
            let mut victim = start_victim(home);
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
            victim.kill().unwrap();
            victim.wait().unwrap();

            let engine = home.open().await;
            let guest = engine.guest(&made.id).await.unwrap();
            let (_, output) = cell(&guest, &context.id, "print(kept, count > 0)").await;
            assert_eq!(output.stdout, "7 True\n", "killed after {delay_ms} ms");
            let (exit, output) = shell(&guest, "pgrep -c yes; true").await;
            assert_eq!((exit.exit_code, output.stdout.as_str()), (0, "0\n"), "commands of the killed engine go on");
            engine.shutdown(false).await.unwrap();
        }
        home.open().await.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn a_deletion_that_a_killed_engine_had_begun_is_completed() {
    with_home(|home| async {
        let engine = home.open().await;
        let made = create(&engine).await;
        engine.shutdown(false).await.unwrap();
        drop(engine);
        let database = rusqlite::Connection::open(home.home().root().join("engine.db")).unwrap();
        let changed = database.execute("UPDATE sandboxes SET status = 'ending' WHERE id = ?1", [&made.id]).unwrap();
        drop(database);
        assert_eq!(changed, 1);

        let engine = home.open().await;
        assert_eq!(engine.list_sandboxes().await.unwrap(), []);
        assert_eq!(engine.sandbox_info(&made.id).await.unwrap_err().status(), 404);
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

fn start_victim(home: &TestHome) -> Child {
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::victim", "--nocapture"])
        .env(VICTIM_HOME, home.home().root())
        .env("PANDASTACK_RUNSC", home.config().runsc.path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.contains("all is under way")), "the victim did not get far");
    victim
}

/// Keeps both directions of the one sandbox full until it is killed. Does nothing in an ordinary test run.
#[test]
fn victim() {
    let Some(home) = std::env::var_os(VICTIM_HOME) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let home = Home::at(home).unwrap();
        let engine = Engine::open(EngineConfig::new(home.clone(), runsc::find(&home).await.unwrap())).await.unwrap();
        let id = engine.list_sandboxes().await.unwrap()[0].id.clone();
        let guest = engine.guest(&id).await.unwrap();
        let context = guest.list_contexts().await.unwrap()[0].id.clone();
        tokio::join!(flood(&guest), upload(&guest), count(&guest, &context));
    });
}

async fn flood(guest: &GuestClient) {
    let request = ExecRequest { command: Some("yes".to_owned()), ..ExecRequest::default() };
    let mut stream = guest.exec(&request).await.unwrap();
    while stream.next().await.is_some() {}
}

async fn upload(guest: &GuestClient) {
    let pieces = futures::stream::repeat(Bytes::from(vec![b'u'; 100_000])).map(Ok::<_, String>).take(10_000);
    let _ = guest.write_file("/dev/shm/upload", pieces).await;
}

/// Tells that all is under way once the cell says so.
async fn count(guest: &GuestClient, context: &str) {
    let code = "count = 1; print('counting')\nwhile True: count += 1".to_owned();
    let mut stream = guest.run(context, &RunRequest { code, ..RunRequest::default() }).await.unwrap();
    while let Some(Ok(_)) = stream.next().await {
        println!("all is under way");
        std::io::stdout().flush().unwrap();
    }
}

#[test]
fn a_sandbox_whose_agent_stands_still_is_ended() {
    with_home(|home| async {
        let engine = Engine::open(EngineConfig { heartbeat_ms: 500, ..home.config() }).await.unwrap();
        let made = create(&engine).await;
        let guest = engine.guest(&made.id).await.unwrap();
        let request = ExecRequest { command: Some("sleep 4242".to_owned()), ..ExecRequest::default() };
        let mut stream = guest.exec(&request).await.unwrap();
        runsc::Runsc::new(&home.config().runsc.path, home.home().run()).pause(&made.id).await.unwrap();
        let error = tokio::time::timeout(Duration::from_secs(30), stream.next()).await.unwrap().unwrap().unwrap_err();
        assert!(error.to_string().contains("stopped answering"), "{error}");
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}
