//! What things cost. Prints only where `PANDASTACK_TEST_FIGURES` is set; asserts nothing.

use std::time::{Duration, Instant};

use hyper::Method;
use pandastack_guest_protocol::exec::ExecRequest;
use pandastack_guest_protocol::hello::Hello;
use pandastack_guest_protocol::route;

use crate::harness::{Agent, read_all};

async fn median(name: &str, rounds: usize, mut work: impl AsyncFnMut()) {
    work().await;
    let mut times = Vec::new();
    for _ in 0..rounds {
        let started = Instant::now();
        work().await;
        times.push(started.elapsed());
    }
    times.sort();
    eprintln!("{name}: {:?} (p90 {:?})", times[rounds / 2], times[rounds * 9 / 10]);
}

#[tokio::test(flavor = "multi_thread")]
async fn figures() {
    if std::env::var_os("PANDASTACK_TEST_FIGURES").is_none() {
        eprintln!("skipped: PANDASTACK_TEST_FIGURES is not set");
        return;
    }
    let started = Instant::now();
    let (mut agent, engine) = Agent::greeted().await;
    eprintln!("start to hello: {:?}", started.elapsed());
    let context = engine.python().await;
    eprintln!("start to first context: {:?}", started.elapsed());
    median("health", 300, async || drop(engine.request(Method::GET, route::HEALTH, "").await)).await;
    median("cell 1+1", 300, async || drop(engine.cell(&context, "1+1").await)).await;
    let argv = ExecRequest { argv: Some(vec!["true".into()]), ..ExecRequest::default() };
    median("exec true", 100, async || drop(engine.start(&argv).await.all().await)).await;
    median("exec bash -c", 100, async || drop(engine.exec(":").await)).await;
    let small = format!("{}?path=/root/small", route::FILES);
    median("write 1 KB", 200, async || drop(engine.request(Method::PUT, &small, vec![7; 1000]).await)).await;
    median("read 1 KB", 200, async || drop(read_all(engine.request(Method::GET, &small, "").await).await)).await;
    let big = format!("{}?path=/root/big", route::FILES);
    let bytes = vec![7; 100 << 20];
    let started = Instant::now();
    drop(engine.request(Method::PUT, &big, bytes).await);
    eprintln!("write: {:.0} MB/s", 104.8 / started.elapsed().as_secs_f64());
    let started = Instant::now();
    drop(read_all(engine.request(Method::GET, &big, "").await).await);
    eprintln!("read: {:.0} MB/s", 104.8 / started.elapsed().as_secs_f64());
    let started = Instant::now();
    engine.exec("dd if=/dev/zero bs=1M count=300 status=none").await;
    eprintln!("exec output: {:.0} MB/s", 300.0 / started.elapsed().as_secs_f64());
    let flood = tokio::spawn({
        let engine = engine.clone();
        async move { engine.exec("dd if=/dev/zero bs=1M count=600 status=none").await }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    median("cell during a flood", 30, async || drop(engine.cell(&context, "1+1").await)).await;
    drop(flood.await);
    tokio::time::sleep(Duration::from_millis(600)).await;
    median("create a context, one stands by", 5, async || {
        let id = engine.python().await;
        engine.request(Method::DELETE, &route::context(&id), "").await;
        tokio::time::sleep(Duration::from_millis(800)).await;
    })
    .await;
    let started = Instant::now();
    let Some(mut child) = agent.fork().await else { return };
    let restored = started.elapsed();
    let child_engine = child.hello(Hello { reseed: true, ..Hello::default() }).await;
    child_engine.cell(&context, "1+1").await;
    eprintln!("fork {restored:?}, child's first cell after {:?}", started.elapsed());
}
