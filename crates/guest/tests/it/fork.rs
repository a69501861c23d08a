//! Copies of a running sandbox.

use hyper::Method;
use pandastack_guest_protocol::context::{EndStatus, RunRequest};
use pandastack_guest_protocol::hello::Hello;
use pandastack_guest_protocol::route::{EGRESS_ACCEPT, QUIESCE};

use crate::harness::{Agent, Engine, env, until};

fn copy() -> Hello {
    Hello { reseed: true, env: env(&[("WHO", "child")]), ..Hello::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn parent_and_child_go_on_with_the_same_state() {
    let (mut agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    engine.cell(&context, "import os; x = 41; open('/root/file', 'w').write('kept')").await;
    let stream = tokio::spawn({
        let engine = engine.clone();
        async move { engine.exec("for i in $(seq 30); do echo $i; sleep 0.05; done").await }
    });
    let Some(mut child) = agent.fork().await else { return };
    let child_engine = child.hello(copy()).await;
    assert_eq!(child_engine.cell(&context, "x += 1; (x, os.environ['WHO'])").await.text(), "(42, 'child')");
    assert_eq!(child_engine.exec("cat /root/file; echo $WHO").await.stdout(), "keptchild\n");
    assert_eq!(child_engine.python().await, context, "the inherited context is handed over");
    assert_eq!(engine.cell(&context, "(x, os.environ.get('WHO'))").await.text(), "(41, None)");
    assert_eq!(stream.await.unwrap().stdout().lines().count(), 30, "a stream of the parent was torn");
    for engine in [&engine, &child_engine] {
        let outcome = engine
            .start_cell(
                &context,
                &RunRequest { code: "while True: pass".into(), timeout_ms: Some(200), ..RunRequest::default() },
            )
            .await;
        assert_eq!(outcome.all().await.end().status, EndStatus::TimedOut);
        assert_eq!(engine.cell(&engine.python().await, "1").await.text(), "1");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ran_for_the_parent_ends_in_the_child() {
    let (mut agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    let mark = agent.folder().join("mark");
    engine
        .exec(&format!("setsid -f bash -c 'exec 5<>/dev/tcp/127.0.0.1/3128; cat <&5; echo $$ >> {}'", mark.display()))
        .await;
    let proxied = engine.request(Method::POST, EGRESS_ACCEPT, "").await;
    let sleeping = tokio::spawn({
        let engine = engine.clone();
        async move { engine.exec("sleep 300").await }
    });
    let code =
        "print('up', flush=True)\nimport time\nt = time.time()\nwhile time.time() < t + 3: time.sleep(0.05)\n'whole'";
    let mut cell = engine.start_cell(&context, &RunRequest { code: code.into(), ..RunRequest::default() }).await;
    cell.next().await;
    let Some(mut child) = agent.fork().await else { return };
    let child_engine = child.hello(copy()).await;
    until(async || child_engine.exec("cat /proc/[0-9]*/comm | grep -c '^sleep$'").await.stdout() == "0\n").await;
    assert_eq!(child_engine.cell(&context, "'free'").await.text(), "'free'");
    until(async || std::fs::read_to_string(&mark).is_ok_and(|text| text.lines().count() == 1)).await;
    assert_eq!(cell.all().await.text(), "'whole'", "the cell of the parent was interrupted");
    drop(proxied);
    sleeping.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_of_a_child_in_a_row() {
    let (mut agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    engine.cell(&context, "generation = 0").await;
    for generation in 1..=3 {
        let Some(mut child) = agent.fork().await else { return };
        let engine = child.hello(copy()).await;
        assert_eq!(engine.cell(&context, "generation += 1; generation").await.text(), generation.to_string());
        agent = child;
    }
}

/// How many kernels, used ones and one that stands by, the zygote has.
async fn kernels(engine: &Engine) -> usize {
    let command = "zygote=$(grep -l zygote /proc/[0-9]*/cmdline | grep -o '[0-9]*' | sort -n | head -1); \
                   grep -l \"^PPid:[[:space:]]$zygote$\" /proc/[0-9]*/status | wc -l";
    engine.exec(command).await.stdout().trim().parse().unwrap()
}

async fn quiesce(engine: &Engine) {
    assert_eq!(engine.request(Method::POST, QUIESCE, "").await.status(), 204);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_holds_no_kernel_that_nobody_uses() {
    let (_agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    until(async || kernels(&engine).await == 2).await;
    quiesce(&engine).await;
    assert_eq!(kernels(&engine).await, 1);
    assert_eq!(engine.cell(&context, "quiesced").await.text(), "1", "its helper processes were to end");
    until(async || kernels(&engine).await == 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_without_contexts_holds_the_kernel_that_will_be_its_first() {
    let (_agent, engine) = Agent::greeted().await;
    until(async || kernels(&engine).await == 1).await;
    quiesce(&engine).await;
    assert_eq!(kernels(&engine).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_can_be_made_while_no_kernel_stands_by_and_a_running_cell_is_left_alone() {
    let (_agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    let code = "print('up', flush=True)\nimport time; time.sleep(2); 'whole'";
    let mut cell = engine.start_cell(&context, &RunRequest { code: code.into(), ..RunRequest::default() }).await;
    cell.next().await;
    quiesce(&engine).await;
    let other = engine.python().await;
    assert_eq!(engine.cell(&other, "2").await.text(), "2");
    assert_eq!(cell.all().await.text(), "'whole'");
}
