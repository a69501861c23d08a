//! The record layer: epochs, freezing, resync.

use std::time::Duration;

use hyper::Method;
use pandastack_guest_protocol::hello::Hello;
use pandastack_guest_protocol::record::{self, Kind, MARKER};
use pandastack_guest_protocol::route;
use serde_json::Value;

use crate::harness::{Agent, until};

/// Takeovers in a row.
const ROUNDS: u32 = 100;

/// Time for one of them, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn hello_is_answered_and_health_served() {
    let (_agent, engine) = Agent::greeted().await;
    let health: Value = engine.get(route::HEALTH).await;
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    assert!(health["uptime_ms"].is_u64());
    let (status, error) = engine.refusal(Method::GET, "/nothing", "").await;
    assert_eq!((status, error.as_str()), (404, "no such route: `GET /nothing`"));
    let (status, error) = engine.refusal(Method::PUT, route::EXEC, "").await;
    assert_eq!((status, error.as_str()), (404, "no such route: `PUT /exec`"));
}

#[tokio::test(flavor = "multi_thread")]
async fn rubbish_before_the_first_hello_is_skipped() {
    let mut agent = Agent::start();
    agent.write(&[7; 5000]).await;
    agent.write(&MARKER[..20]).await;
    let engine = agent.hello(Hello::default()).await;
    assert_eq!(engine.exec("echo $((6*7))").await.stdout(), "42\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_layer_is_mended_by_the_next_hello() {
    let (mut agent, _engine) = Agent::greeted().await;
    agent.write(&[0xff; 64]).await;
    let engine = agent.hello(Hello::default()).await;
    assert_eq!(engine.exec("echo ok").await.stdout(), "ok\n");
    agent.write(&[5, 0, 0, 0, 99, 1, 2, 3, 4]).await;
    let engine = agent.hello(Hello::default()).await;
    assert_eq!(engine.exec("echo ok").await.stdout(), "ok\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_signal_half_a_record_does_not_swallow_the_hello() {
    let (mut agent, _engine) = Agent::greeted().await;
    let mut half = Vec::new();
    record::encode(Kind::Mux, &[1; 100_000], &mut half);
    agent.write(&half[..500]).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    agent.ask_for_resync();
    let engine = agent.hello(Hello::default()).await;
    assert_eq!(engine.exec("echo ok").await.stdout(), "ok\n");
}

/// A signal that is handled late would make the agent skip the `Hello`, or what its sender says next.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_after_the_signal_is_skipped() {
    let (mut agent, _engine) = Agent::greeted().await;
    let load = std::thread::available_parallelism().map_or(2, usize::from);
    let loops = agent.hello(Hello::default()).await;
    let hogs =
        format!("for i in $(seq {load}); do setsid -f timeout 300 sh -c 'while :; do :; done'; done >/dev/null 2>&1");
    assert_eq!(loops.exec(&hogs).await.exit().exit_code, 0);
    for round in 0..ROUNDS {
        agent.ask_for_resync();
        let answered = async {
            let engine = agent.hello(Hello::default()).await;
            for _ in 0..3 {
                engine.get::<Value>(route::HEALTH).await;
            }
        };
        assert!(tokio::time::timeout(PATIENCE, answered).await.is_ok(), "skipped in round {round}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_agent_writes_nothing_until_it_is_thawed() {
    let (mut agent, engine) = Agent::greeted().await;
    let running = tokio::spawn(async move { engine.exec("for i in 1 2 3 4 5 6; do echo $i; sleep 0.1; done").await });
    tokio::time::sleep(Duration::from_millis(150)).await;
    agent.write_record(Kind::Freeze, b"").await;
    assert_eq!(agent.next_record().await.kind, Kind::Frozen);
    tokio::time::sleep(Duration::from_millis(800)).await;
    assert!(!running.is_finished(), "the answer came through although the agent was frozen");
    agent.write_record(Kind::Thaw, b"").await;
    assert_eq!(running.await.unwrap().stdout(), "1\n2\n3\n4\n5\n6\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hello_thaws_and_ends_what_the_old_connection_ran() {
    let (mut agent, engine) = Agent::greeted().await;
    let mark = agent.folder().join("mark");
    let command = format!("touch {0}; sleep 1000; echo never > {0}", mark.display());
    let old = tokio::spawn(async move { engine.exec(&command).await });
    until(async || mark.exists()).await;
    agent.write_record(Kind::Freeze, b"").await;
    assert_eq!(agent.next_record().await.kind, Kind::Frozen);
    let engine = agent.hello(Hello::default()).await;
    until(async || engine.exec("cat /proc/[0-9]*/comm | grep -c '^sleep$'").await.stdout().trim() == "0").await;
    old.abort();
}
