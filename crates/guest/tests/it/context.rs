//! Contexts and cells.

use std::time::Duration;

use hyper::Method;
use pandastack_guest_protocol::context::{ContextInfo, CreateContext, EndStatus, RunRequest};
use pandastack_guest_protocol::frame::Kind;
use pandastack_guest_protocol::hello::{Hello, Limits};
use pandastack_guest_protocol::route::{self, CONTEXTS};

use crate::harness::{Agent, env, read_all, until};

fn python() -> CreateContext {
    CreateContext { language: "python".into(), ..CreateContext::default() }
}

fn code(code: &str) -> RunRequest {
    RunRequest { code: code.into(), ..RunRequest::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn state_is_kept_between_cells() {
    let (_agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    assert_eq!(engine.cell(&context, "x = 41").await.end().execution_count, 1);
    let outcome = engine.cell(&context, "x + 1").await;
    assert_eq!((outcome.text(), outcome.end().execution_count, outcome.end().status), ("42", 2, EndStatus::Ok));
    let info: ContextInfo = engine.get(&route::context(&context)).await;
    assert_eq!((info.cells, info.busy, info.language.as_str()), (2, false, "python"));
}

#[tokio::test(flavor = "multi_thread")]
async fn output_comes_before_the_result_and_background_output_never() {
    let (_agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    let outcome = engine
        .cell(&context, "import os; os.write(1, b'a' * 300000); os.system('echo child'); os.write(2, b'err'); 5")
        .await;
    assert_eq!(outcome.stdout.len(), 300_006);
    assert_eq!((outcome.stderr.as_slice(), outcome.text()), (&b"err"[..], "5"));
    assert_eq!(outcome.order[outcome.order.len() - 2..], [Kind::Result, Kind::End]);
    engine.cell(&context, "os.system('(sleep 0.2; echo late) &')").await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(engine.cell(&context, "print('mine')").await.stdout(), "mine\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn exceptions_are_told() {
    let (_agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    let outcome = engine.cell(&context, "print('before'); 1/0").await;
    assert_eq!((outcome.stdout(), outcome.end().status, outcome.end().exit_code), ("before\n", EndStatus::Error, 1));
    assert_eq!(outcome.errors[0].name, "ZeroDivisionError");
}

#[tokio::test(flavor = "multi_thread")]
async fn cells_queue_in_order_and_contexts_run_side_by_side() {
    let (_agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    engine.cell(&context, "seen = []").await;
    let mut waiting = Vec::new();
    for number in 0..30 {
        waiting.push(
            engine
                .start_cell(
                    &context,
                    &code(&format!("import time; time.sleep(0.01); seen.append({number}); print({number}); len(seen)")),
                )
                .await,
        );
    }
    let other = engine.python().await;
    assert_eq!(engine.cell(&other, "1").await.text(), "1");
    assert!(engine.get::<ContextInfo>(&route::context(&context)).await.busy);
    for (number, frames) in waiting.into_iter().enumerate() {
        let outcome = frames.all().await;
        assert_eq!(
            (outcome.stdout(), outcome.text()),
            (format!("{number}\n").as_str(), (number + 1).to_string().as_str())
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_interrupts_and_keeps_the_state() {
    let (_agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    engine.cell(&context, "x = 5").await;
    let request = RunRequest { timeout_ms: Some(300), ..code("print('so far', flush=True)\nwhile True: pass") };
    let outcome = engine.start_cell(&context, &request).await.all().await;
    assert_eq!(
        (outcome.end().status, outcome.end().restarted, outcome.stdout()),
        (EndStatus::TimedOut, false, "so far\n")
    );
    assert_eq!(outcome.errors[0].name, "KeyboardInterrupt");
    assert_eq!(engine.cell(&context, "x").await.text(), "5");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_stop_is_killed_and_told() {
    let (_agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    let stubborn = "x = 1\nimport os, signal\nos.system('setsid -f sleep 300; sleep 299 &')\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass";
    let outcome =
        engine.start_cell(&context, &RunRequest { timeout_ms: Some(100), ..code(stubborn) }).await.all().await;
    assert_eq!((outcome.end().status, outcome.end().restarted), (EndStatus::TimedOut, true));
    assert!(outcome.errors[0].text.contains("variables are lost"), "{outcome:?}");
    let after = engine.cell(&context, "'x' in dir()").await;
    assert_eq!((after.text(), after.end().restarted, after.end().status), ("False", false, EndStatus::Ok));
    // The session of the kernel is gone, what left it lives on.
    until(async || {
        engine.exec("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -o 'sleep [0-9]\\+'").await.stdout()
            == "sleep 300\n"
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_death_of_a_kernel_is_told() {
    let (_agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    let outcome = engine.cell(&context, "import os\nprint('last words', flush=True)\nos._exit(3)").await;
    assert_eq!(
        (outcome.stdout(), outcome.end().status, outcome.end().restarted),
        ("last words\n", EndStatus::KernelDied, true)
    );
    assert_eq!(
        outcome.errors[0].value,
        "the Python process ended with exit code 3: variables are lost, files are kept"
    );
    let outcome = engine.cell(&context, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)").await;
    assert!(outcome.errors[0].value.contains("signal 9"), "{outcome:?}");
    // A death between two cells is told by the next.
    engine.cell(&context, "import os\nos.system(f'(sleep 0.1; kill -9 {os.getpid()}) & ')").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let outcome = engine.cell(&context, "7").await;
    assert_eq!((outcome.text(), outcome.end().restarted), ("7", true));
    assert!(!engine.cell(&context, "8").await.end().restarted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kernel_that_talks_nonsense_is_replaced() {
    let (_agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    let attack = "import os, stat\nfor fd in map(int, os.listdir('/proc/self/fd')):\n  try:\n    if stat.S_ISSOCK(os.fstat(fd).st_mode): os.write(fd, b'\\xff\\xff\\xff\\xff nonsense')\n  except OSError: pass";
    assert_eq!(engine.cell(&context, attack).await.end().status, EndStatus::KernelDied);
    assert_eq!(engine.cell(&context, "1").await.text(), "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_interrupts_the_cell_or_takes_it_out_of_the_queue() {
    let (_agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    engine.cell(&context, "ran = []").await;
    let mut running = engine.start_cell(&context, &code("print('up', flush=True)\nimport time\ntime.sleep(300)")).await;
    running.next().await;
    let waiting = engine.start_cell(&context, &code("ran.append(1)")).await;
    drop(waiting);
    tokio::time::sleep(Duration::from_millis(300)).await;
    drop(running);
    let outcome = engine.cell(&context, "ran").await;
    assert_eq!((outcome.text(), outcome.end().restarted), ("[]", false));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abandoned_cell_that_does_not_stop_is_told_by_the_next() {
    let (_agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    let stubborn =
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('up', flush=True)\nwhile True: pass";
    let mut running = engine.start_cell(&context, &code(stubborn)).await;
    running.next().await;
    drop(running);
    let outcome = engine.cell(&context, "1").await;
    assert_eq!((outcome.text(), outcome.end().restarted), ("1", true));
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupt_restart_and_delete() {
    let (_agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    let post = async |path: String| engine.request(Method::POST, &path, "").await.status().as_u16();
    assert_eq!(post(route::context_interrupt(&context)).await, 204);
    let mut running =
        engine.start_cell(&context, &code("x = 1\nprint('up', flush=True)\nimport time\ntime.sleep(300)")).await;
    running.next().await;
    assert_eq!(post(route::context_interrupt(&context)).await, 204);
    assert_eq!(running.all().await.end().status, EndStatus::Interrupted);
    assert_eq!(engine.cell(&context, "x").await.text(), "1");
    let mut running = engine.start_cell(&context, &code("print('up', flush=True)\nimport time\ntime.sleep(300)")).await;
    running.next().await;
    assert_eq!(post(route::context_restart(&context)).await, 200);
    let outcome = running.all().await;
    assert_eq!((outcome.end().status, outcome.end().restarted), (EndStatus::KernelDied, true));
    assert_eq!(engine.cell(&context, "'x' in dir()").await.text(), "False");
    let mut running = engine.start_cell(&context, &code("print('up', flush=True)\nimport time\ntime.sleep(300)")).await;
    running.next().await;
    let waiting = engine.start_cell(&context, &code("1")).await;
    assert_eq!(engine.request(Method::DELETE, &route::context(&context), "").await.status(), 204);
    for frames in [running, waiting] {
        assert_eq!(frames.all().await.failure.unwrap().error, "the code context was closed");
    }
    assert_eq!(engine.refusal(Method::DELETE, &route::context(&context), "").await.0, 404);
    assert_eq!(engine.refusal(Method::POST, &route::context_run(&context), "{\"code\":\"1\"}").await.0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn environment_and_limits_reach_the_kernel() {
    let mut agent = Agent::start();
    let limits = Limits { open_files: 77, ..Limits::default() };
    let engine = agent.hello(Hello { env: env(&[("A", "1")]), limits, ..Hello::default() }).await;
    let request = CreateContext { env: env(&[("B", "2")]), cwd: Some("/usr".into()), ..python() };
    let context = engine.create_context(&request).await.id;
    let look = "import os, resource\n(os.environ['A'], os.environ['B'], os.environ.get('C'), os.getcwd(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])";
    let outcome = engine.start_cell(&context, &RunRequest { env: env(&[("C", "3")]), ..code(look) }).await.all().await;
    assert_eq!(outcome.text(), "('1', '2', '3', '/usr', 77)");
    assert_eq!(engine.cell(&context, look).await.text(), "('1', '2', None, '/usr', 77)");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kernel_may_have_more_open_files_than_the_host_allows() {
    let mut agent = Agent::start();
    if !agent.is_sandboxed() {
        return;
    }
    let limits = Limits { open_files: 65_536, ..Limits::default() };
    let look = "import resource\nresource.getrlimit(resource.RLIMIT_NOFILE)[1] >= 65536";
    for limits in [Limits::default(), limits] {
        let engine = agent.hello(Hello { limits, ..Hello::default() }).await;
        let context = engine.create_context(&CreateContext { fresh: true, ..python() }).await.id;
        assert_eq!(engine.cell(&context, look).await.text(), "True", "{limits:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inherited_context_is_handed_over_once() {
    let (mut agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    engine.cell(&context, "x = 41").await;
    let engine = agent.hello(Hello { reseed: true, env: env(&[("CHILD", "yes")]), ..Hello::default() }).await;
    let fresh = engine.create_context(&CreateContext { fresh: true, ..python() }).await;
    assert_ne!(fresh.id, context);
    let inherited = engine.create_context(&CreateContext { env: env(&[("MINE", "too")]), ..python() }).await;
    assert_eq!(inherited.id, context);
    let outcome = engine
        .cell(&context, "import os; (x, os.environ['CHILD'], os.environ['MINE'], globals().get('reseeds', 2))")
        .await;
    assert_eq!(outcome.text(), "(41, 'yes', 'too', 2)");
    assert_ne!(engine.python().await, context, "handed over twice");
    let engine = agent.hello(Hello { env: env(&[("CHILD", "yes")]), ..Hello::default() }).await;
    assert_ne!(engine.python().await, context, "after a crash of the engine nothing is inherited");
    assert_eq!(engine.cell(&context, "x").await.text(), "41");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zygote_that_ends_is_replaced_and_contexts_live_on() {
    let (_agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    engine.cell(&context, "x = 1; import os").await;
    assert_eq!(engine.cell(&context, "os.kill(os.getppid(), 9)").await.end().status, EndStatus::Ok);
    let other = engine.python().await;
    assert_eq!(engine.cell(&other, "2").await.text(), "2");
    assert_eq!(engine.cell(&context, "x").await.text(), "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_that_fails_is_told_at_once() {
    let (_agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    engine.cell(&context, "import os, signal; os.kill(os.getppid(), signal.SIGUSR1)").await;
    let body = serde_json::to_vec(&python()).unwrap();
    // One kernel may stand by.
    let mut refusal = None;
    for _ in 0..3 {
        let response = engine.request(Method::POST, CONTEXTS, body.clone()).await;
        if response.status() != 201 {
            refusal = Some(response);
            break;
        }
    }
    let refusal = String::from_utf8_lossy(&read_all(refusal.unwrap()).await).into_owned();
    assert!(refusal.contains("a Python kernel did not start") && refusal.contains("no more processes"), "{refusal}");
    engine.cell(&context, "os.kill(os.getppid(), signal.SIGUSR2)").await;
    let other = engine.python().await;
    assert_eq!(engine.cell(&other, "2").await.text(), "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_is_refused() {
    let (_agent, engine) = Agent::greeted().await;
    let context = engine.create_context(&CreateContext { id: Some("mine".into()), ..python() }).await.id;
    assert_eq!(context, "mine");
    let refused = async |request: CreateContext| {
        engine.refusal(Method::POST, CONTEXTS, serde_json::to_vec(&request).unwrap()).await
    };
    assert_eq!(refused(CreateContext { id: Some("mine".into()), ..python() }).await.0, 409);
    assert_eq!(refused(CreateContext { id: Some("a/b".into()), ..python() }).await.0, 400);
    assert_eq!(
        refused(CreateContext { language: "cobol".into(), ..python() }).await.1,
        "unknown language: `cobol`; `python` is supported"
    );
    assert_eq!(refused(CreateContext { cwd: Some("/no/such".into()), ..python() }).await.0, 400);
    assert_eq!(refused(CreateContext { env: env(&[("", "")]), ..python() }).await.0, 400);
    let run = async |body: &'static str| engine.refusal(Method::POST, &route::context_run("mine"), body).await;
    assert_eq!(run("{\"code\":\"\"}").await, (400, "the code is empty".into()));
    assert_eq!(run("no json").await.0, 400);
    assert_eq!(
        engine.refusal(Method::POST, &route::context_run("other"), "{\"code\":\"1\"}").await,
        (404, "no such code context: `other`".into())
    );
    assert_eq!(engine.get::<Vec<ContextInfo>>(CONTEXTS).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_does_not_hold_up_a_timeout() {
    let (_agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    let request =
        RunRequest { timeout_ms: Some(500), ..code("import sys\nwhile True: sys.stdout.write('x' * 100000)") };
    let mut flood = engine.start_cell(&context, &request).await;
    flood.next().await;
    let other = engine.cell(&context, "1").await;
    assert_eq!(other.text(), "1");
    assert_eq!(flood.all().await.end().status, EndStatus::TimedOut);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_code_and_large_results_pass() {
    let (_agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    let large = format!("x = '{}'; len(x)", "é".repeat(10 << 20));
    assert_eq!(engine.cell(&context, &large).await.text(), (10 << 20).to_string());
    assert_eq!(engine.cell(&context, "'z' * 30_000_000").await.text().len(), 30_000_002);
}

#[tokio::test(flavor = "multi_thread")]
async fn contexts_are_counted() {
    let (_agent, engine) = Agent::greeted().await;
    for number in 0..64 {
        engine.create_context(&CreateContext { id: Some(format!("c{number}")), ..python() }).await;
    }
    let (status, error) = engine.refusal(Method::POST, CONTEXTS, serde_json::to_vec(&python()).unwrap()).await;
    assert_eq!(status, 507, "{error}");
    assert_eq!(engine.request(Method::DELETE, &route::context("c7"), "").await.status(), 204);
    engine.python().await;
}
