//! Commands.

use std::time::{Duration, Instant};

use hyper::Method;
use pandastack_guest_protocol::exec::ExecRequest;
use pandastack_guest_protocol::frame::Kind;
use pandastack_guest_protocol::hello::{Hello, Limits};
use pandastack_guest_protocol::route;

use crate::harness::{Agent, Engine, env, until};

fn command(command: &str) -> ExecRequest {
    ExecRequest { command: Some(command.into()), ..ExecRequest::default() }
}

fn argv(argv: &[&str]) -> ExecRequest {
    ExecRequest { argv: Some(argv.iter().map(|part| part.to_string()).collect()), ..ExecRequest::default() }
}

async fn refusal(engine: &Engine, request: &ExecRequest) -> (u16, String) {
    engine.refusal(Method::POST, route::EXEC, serde_json::to_vec(request).unwrap()).await
}

/// How many processes of that name there are.
async fn count(engine: &Engine, name: &str) -> usize {
    let outcome = engine.exec(&format!("cat /proc/[0-9]*/comm 2>/dev/null | grep -c '^{name}$'")).await;
    outcome.stdout().trim().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn output_and_exit_code_come_back() {
    let (_agent, engine) = Agent::greeted().await;
    let outcome = engine.exec("echo out; echo err >&2; exit 7").await;
    assert_eq!((outcome.stdout(), outcome.stderr.as_slice(), outcome.exit().exit_code), ("out\n", &b"err\n"[..], 7));
    assert_eq!((outcome.exit().signal, outcome.exit().timed_out), (None, false));
    let outcome = engine.exec("kill -SEGV $$").await;
    assert_eq!((outcome.exit().exit_code, outcome.exit().signal), (139, Some(11)));
    let outcome = engine.start(&argv(&["printf", "%s|", "a b", "$HOME", "é'\""])).await.all().await;
    assert_eq!(outcome.stdout(), "a b|$HOME|é'\"|");
}

#[tokio::test(flavor = "multi_thread")]
async fn standard_input_is_empty_and_no_other_descriptor_is_open() {
    let (_agent, engine) = Agent::greeted().await;
    assert_eq!(engine.exec("cat; read line; echo $?").await.stdout(), "1\n");
    assert_eq!(engine.start(&argv(&["ls", "/proc/self/fd"])).await.all().await.stdout(), "0\n1\n2\n3\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn output_comes_while_the_command_runs() {
    let (agent, engine) = Agent::greeted().await;
    let gate = agent.folder().join("gate");
    let mut frames = engine
        .start(&command(&format!("echo first; until test -e {}; do sleep 0.02; done; echo second", gate.display())))
        .await;
    assert_eq!(frames.next().await.unwrap(), (Kind::Stdout, "first\n".into()));
    std::fs::write(gate, "").unwrap();
    assert_eq!(frames.next().await.unwrap(), (Kind::Stdout, "second\n".into()));
    assert_eq!(frames.next().await.unwrap().0, Kind::Exit);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_byte_of_a_flood_arrives() {
    let (_agent, engine) = Agent::greeted().await;
    let outcome = engine.exec("head -c 50000000 /dev/zero | tr '\\0' '\\377'; head -c 5000000 /dev/zero >&2").await;
    assert!(outcome.stdout.iter().all(|byte| *byte == 0xff));
    assert_eq!((outcome.stdout.len(), outcome.stderr.len(), outcome.exit().exit_code), (50_000_000, 5_000_000, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_stops_the_writer_and_nobody_else() {
    let (agent, engine) = Agent::greeted().await;
    let mark = agent.folder().join("mark");
    let mut slow = engine.start(&command(&format!("head -c 60000000 /dev/zero; touch {}", mark.display()))).await;
    slow.next().await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!mark.exists(), "60 MB were taken although nobody read them");
    assert_eq!(engine.exec("echo quick").await.stdout(), "quick\n");
    assert_eq!(slow.all().await.exit().exit_code, 0);
    assert!(mark.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_ends_the_whole_group_and_keeps_the_output() {
    let (_agent, engine) = Agent::greeted().await;
    let request = ExecRequest { timeout_ms: Some(1000), ..command("echo partial; sh -c 'sleep 300 & sleep 300'") };
    let started = Instant::now();
    let outcome = engine.start(&request).await.all().await;
    assert!(outcome.exit().timed_out);
    assert_eq!(outcome.stdout(), "partial\n");
    assert!(started.elapsed() < Duration::from_secs(10));
    until(async || count(&engine, "sleep").await == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_ignores_sigterm_is_killed() {
    let (_agent, engine) = Agent::greeted().await;
    let stubborn = "trap '' TERM; (trap '' TERM; while :; do sleep 0.1; done) & echo up; while :; do sleep 0.1; done";
    let outcome = engine.start(&ExecRequest { timeout_ms: Some(300), ..command(stubborn) }).await.all().await;
    assert_eq!((outcome.exit().signal, outcome.exit().timed_out, outcome.stdout()), (Some(9), true, "up\n"));
    let outcome = engine
        .start(&ExecRequest {
            timeout_ms: Some(300),
            ..command("(trap '' TERM; while :; do sleep 0.1; done) & exec sleep 300")
        })
        .await
        .all()
        .await;
    assert_eq!((outcome.exit().signal, outcome.exit().timed_out), (Some(15), true));
    until(async || count(&engine, "sleep").await == 0 && count(&engine, "bash").await <= 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_ends_the_group() {
    let (_agent, engine) = Agent::greeted().await;
    let mut frames = engine.start(&command("echo up; sleep 300 & sleep 300")).await;
    frames.next().await;
    until(async || count(&engine, "sleep").await == 2).await;
    drop(frames);
    until(async || count(&engine, "sleep").await == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_in_the_background_does_not_hold_up_the_answer() {
    let (_agent, engine) = Agent::greeted().await;
    let started = Instant::now();
    let outcome = engine.exec("setsid sleep 60 & echo done").await;
    assert_eq!((outcome.stdout(), outcome.exit().exit_code), ("done\n", 0));
    assert!(started.elapsed() < Duration::from_secs(30));
    assert_eq!(count(&engine, "sleep").await, 1, "what left the group lives on");
}

#[tokio::test(flavor = "multi_thread")]
async fn environment_folder_and_user_are_as_asked() {
    let mut agent = Agent::start();
    let engine = agent.hello(Hello { env: env(&[("A", "hello"), ("B", "hello")]), ..Hello::default() }).await;
    let request =
        ExecRequest { env: env(&[("B", "call")]), cwd: Some("/usr".into()), ..command("echo $A $B $HOME $LANG; pwd") };
    assert_eq!(engine.start(&request).await.all().await.stdout(), "hello call /root C.UTF-8\n/usr\n");
    assert_eq!(engine.exec("pwd; id -un").await.stdout(), "/root\nroot\n");
    let request = ExecRequest {
        user: Some("daemon".into()),
        cwd: Some("/".into()),
        ..command("id -un; id -Gn; echo $USER; cat /etc/shadow 2>&1 | grep -c denied")
    };
    assert_eq!(engine.start(&request).await.all().await.stdout(), "daemon\ndaemon\ndaemon\n1\n");
    let request = ExecRequest { user: Some("4321".into()), cwd: Some("/".into()), ..command("id -u; id -g") };
    assert_eq!(engine.start(&request).await.all().await.stdout(), "4321\n4321\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_is_refused() {
    let (_agent, engine) = Agent::greeted().await;
    let both = ExecRequest { argv: Some(vec!["ls".into()]), ..command("ls") };
    let cases = [
        (ExecRequest::default(), "exactly one of `command` and `argv` must be given"),
        (both, "exactly one of `command` and `argv` must be given"),
        (command("  "), "the command is empty"),
        (command("echo a\0b"), "the command contains NUL: `echo a\\0b`"),
        (argv(&[]), "no program given"),
        (argv(&["no-such-program"]), "cannot execute: `no-such-program`: No such file or directory"),
        (argv(&["/etc/passwd"]), "cannot execute: `/etc/passwd`: Permission denied"),
        (
            ExecRequest { cwd: Some("/no/such".into()), ..command("ls") },
            "working directory cannot be used: `/no/such`: No such file or directory",
        ),
        (ExecRequest { cwd: Some("usr".into()), ..command("ls") }, "the working directory must be absolute: `usr`"),
        (
            ExecRequest { user: Some("nobody-such".into()), ..command("ls") },
            "no such user in the sandbox: `nobody-such`",
        ),
        (ExecRequest { env: env(&[("A=", "b")]), ..command("ls") }, "not a name of an environment variable: `A=`"),
    ];
    for (request, text) in cases {
        assert_eq!(refusal(&engine, &request).await, (400, text.to_string()));
    }
    let (status, error) = engine.refusal(Method::POST, route::EXEC, "{").await;
    assert_eq!(status, 400);
    assert!(error.starts_with("the body makes no sense: "), "{error}");
    let (status, error) = refusal(&engine, &command(&format!("true {}", "x".repeat(5 << 20)))).await;
    assert_eq!(status, 400, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_hold() {
    let mut agent = Agent::start();
    let limits = Limits { memory_bytes: 512 << 20, processes: 4000, open_files: 99, ..Limits::default() };
    let engine = agent.hello(Hello { limits, ..Hello::default() }).await;
    assert_eq!(engine.exec("ulimit -v; ulimit -u; ulimit -n; ulimit -Hn").await.stdout(), "524288\n4000\n99\n99\n");
    let outcome = engine.exec("python3 -c 'bytearray(1 << 30)'").await;
    assert!(String::from_utf8_lossy(&outcome.stderr).contains("MemoryError"));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_commands_at_once() {
    let (_agent, engine) = Agent::greeted().await;
    let all = (0..100).map(|number| {
        let engine = engine.clone();
        tokio::spawn(
            async move { engine.exec(&format!("echo {number}")).await.stdout().trim().parse::<u32>().unwrap() },
        )
    });
    for (number, task) in all.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(task.await.unwrap(), number as u32);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_streams_that_were_given_up_harm_nobody() {
    let (_agent, engine) = Agent::greeted().await;
    let lasting = tokio::spawn({
        let engine = engine.clone();
        async move { engine.exec("sleep 2; echo whole").await }
    });
    for _ in 0..20 {
        let started: Vec<_> = (0..50)
            .map(|_| {
                let engine = engine.clone();
                tokio::spawn(async move { drop(engine.start(&command("sleep 300")).await) })
            })
            .collect();
        tokio::task::yield_now().await;
        for task in started {
            task.abort();
        }
    }
    assert_eq!(lasting.await.unwrap().stdout(), "whole\n");
    until(async || count(&engine, "sleep").await == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_ends_with_its_command() {
    let mut agent = Agent::start();
    if !agent.is_sandboxed() {
        return;
    }
    let limits = Limits { processes: 200, ..Limits::default() };
    let engine = agent.hello(Hello { limits, ..Hello::default() }).await;
    let context = engine.python().await;
    let bomb = ExecRequest { timeout_ms: Some(3000), ..command("bomb() { bomb | bomb & }; bomb; sleep 300") };
    let running = tokio::spawn({
        let engine = engine.clone();
        async move { engine.start(&bomb).await.all().await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(engine.get::<serde_json::Value>(route::HEALTH).await["version"], env!("CARGO_PKG_VERSION"));
    assert!(running.await.unwrap().exit().timed_out);
    until(async || count(&engine, "bash").await <= 1).await;
    assert_eq!(engine.cell(&context, "1").await.text(), "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_without_a_home_begins_at_the_root() {
    let (_agent, engine) = Agent::greeted().await;
    let request = ExecRequest { user: Some("nobody".into()), ..command("pwd") };
    assert_eq!(engine.start(&request).await.all().await.stdout(), "/\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_signal_is_held_back_from_a_program() {
    let (_agent, engine) = Agent::greeted().await;
    let masks = "python3 -c 'import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL)'";
    assert_eq!(engine.exec(masks).await.stdout(), "set() True\n");
}
