//! The way out.

use hyper::Method;
use pandastack_guest_protocol::hello::Hello;
use pandastack_guest_protocol::route::EGRESS_ACCEPT;

use crate::harness::{Agent, read_all, until};

const CONNECT: &str = "exec 5<>/dev/tcp/127.0.0.1/3128";

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_request_takes_a_connection() {
    let (_agent, engine) = Agent::greeted().await;
    let parked = tokio::spawn({
        let engine = engine.clone();
        async move { engine.request(Method::POST, EGRESS_ACCEPT, "from the engine").await }
    });
    let outcome = engine.exec(&format!("{CONNECT}; cat <&5; echo; printf 'from the program' >&5")).await;
    assert_eq!(outcome.stdout(), "from the engine\n");
    assert_eq!(read_all(parked.await.unwrap()).await, "from the program");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_waits_for_the_engine() {
    let (_agent, engine) = Agent::greeted().await;
    let program = tokio::spawn({
        let engine = engine.clone();
        async move { engine.exec(&format!("{CONNECT}; printf hello >&5; cat <&5")).await }
    });
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let response = engine.request(Method::POST, EGRESS_ACCEPT, "answer").await;
    assert_eq!(program.await.unwrap().stdout(), "answer");
    assert_eq!(read_all(response).await, "hello");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_epoch_ends_connections() {
    let (mut agent, engine) = Agent::greeted().await;
    let mark = agent.folder().join("mark");
    let program =
        format!("setsid -f bash -c '{CONNECT}; echo connected > {0}; cat <&5; echo closed > {0}'", mark.display());
    engine.exec(&program).await;
    let response = engine.request(Method::POST, EGRESS_ACCEPT, "").await;
    assert_eq!(response.status(), 200);
    agent.hello(Hello::default()).await;
    until(async || std::fs::read_to_string(&mark).is_ok_and(|text| text == "closed\n")).await;
}
