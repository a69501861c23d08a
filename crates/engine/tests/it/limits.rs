//! What a program and its caller see where a limit is reached: one test for each row of `docs/sandbox/limits.md` that `hostile.rs` has not.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use http::{Method, Request, StatusCode};
use pandastack_engine::access::Access;
use pandastack_engine::cgroup::Cgroups;
use pandastack_engine::engine::{Engine, EngineConfig};
use pandastack_engine::error::EngineError;
use pandastack_engine::router::{AppState, router};
use pandastack_protocol::fork::ForkSandbox;
use pandastack_protocol::limits::SandboxLimits;
use pandastack_protocol::sandbox::{CreateSandbox, SandboxInfo};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::home::{cell, create, python, shell, with_home};

async fn limited(engine: &Engine, limits: SandboxLimits) -> SandboxInfo {
    engine.create_sandbox(CreateSandbox { limits: Some(limits), ..CreateSandbox::default() }).await.unwrap()
}

/// A request as a client makes it.
async fn post(engine: &Engine, path: &str, body: Value) -> (StatusCode, http::HeaderMap, Value) {
    let (state, _stop) = AppState::new(engine.clone());
    let request = Request::builder().method(Method::POST).uri(format!("http://localhost/v1/{path}"));
    let request = request.header("content-type", "application/json").body(Body::from(body.to_string())).unwrap();
    let response = router(state, Access::Socket).oneshot(request).await.unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    let body = to_bytes(response.into_body(), 1 << 26).await.unwrap();
    (status, headers, serde_json::from_slice(&body).unwrap_or_default())
}

#[test]
fn programs_see_the_limits_that_were_asked_for_and_children_inherit_them() {
    with_home(|home| async {
        let engine = home.open().await;
        let asked = SandboxLimits {
            processes: Some(100),
            open_files: Some(99),
            memory_mb: Some(512),
            cpu: Some(0.5),
            ..SandboxLimits::default()
        };
        let made = limited(&engine, asked).await;
        let shown = made.limits.clone().unwrap();
        assert_eq!((shown.cpu, shown.memory_mb, shown.disk_gb), (Some(0.5), Some(512), Some(4)));
        assert_eq!((made.cpu, made.memory_mb), (1, 512));
        let forked = engine.fork_sandbox(&made.id, ForkSandbox::default(), 1).await.unwrap();
        assert_eq!(forked.children[0].limits, made.limits);
        for id in [&made.id, &forked.children[0].id] {
            let guest = engine.guest(id).await.unwrap();
            assert_eq!(shell(&guest, "ulimit -u; ulimit -n").await.1.stdout, "100\n99\n");
            let context = python(&engine, id).await;
            let (_, output) = cell(&guest, &context, "import resource; resource.getrlimit(resource.RLIMIT_AS)").await;
            let expected = format!("({}, {})", (512 << 20) + (1 << 30), 12_u64 << 30);
            assert_eq!(output.results[0]["data"]["text/plain"], expected);
        }
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn a_disk_of_another_size_is_kept_by_snapshots_and_over_hibernation() {
    with_home(|home| async {
        let engine = home.open().await;
        let made = limited(&engine, SandboxLimits { disk_gb: Some(1), ..SandboxLimits::default() }).await;
        assert_eq!(made.boot_mode.as_deref(), Some("cold"));
        let free = "df --output=size -BM / | tail -1";
        assert_eq!(shell(&engine.guest(&made.id).await.unwrap(), free).await.1.stdout.trim(), "1024M");
        let snapshot = engine.create_snapshot(&made.id).await.unwrap();
        engine.hibernate_sandbox(&made.id).await.unwrap();
        assert_eq!(shell(&engine.guest(&made.id).await.unwrap(), free).await.1.stdout.trim(), "1024M");
        let request = CreateSandbox { from_snapshot: Some(snapshot.id.clone()), ..CreateSandbox::default() };
        let copy = engine.create_sandbox(request.clone()).await.unwrap();
        assert_eq!(shell(&engine.guest(&copy.id).await.unwrap(), free).await.1.stdout.trim(), "1024M");
        let limits = Some(SandboxLimits { disk_gb: Some(2), ..SandboxLimits::default() });
        let error = engine.create_sandbox(CreateSandbox { limits, ..request }).await.unwrap_err();
        assert_eq!(error.to_string(), "limits.disk_gb of a sandbox from a snapshot is that of the snapshot, 1: `2`");
        engine.delete_snapshot(&snapshot.id).await.unwrap();
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn cells_and_output_have_the_limits_of_their_sandbox() {
    with_home(|home| async {
        let engine = home.open().await;
        let asked = SandboxLimits { cell_seconds: Some(1), output_bytes: Some(1024), ..SandboxLimits::default() };
        let id = limited(&engine, asked).await.id;
        let context = python(&engine, &id).await;
        let path = format!("sandboxes/{id}/repl/sessions/{context}/run");
        let (status, _, body) =
            post(&engine, &path, json!({"code": "print('before'); import time; time.sleep(60)", "timeout_ms": 60_000}))
                .await;
        assert_eq!(
            (status, &body["error"], &body["stdout"]),
            (StatusCode::GATEWAY_TIMEOUT, &json!("cell timeout after 1s"), &json!("before\n"))
        );
        let (status, _, body) = post(&engine, &path, json!({"code": "print('x' * 5000)"})).await;
        let stdout = body["stdout"].as_str().unwrap();
        assert_eq!(status, StatusCode::OK);
        assert!(
            stdout.len() < 1200 && stdout.ends_with("[output limit of 1024 bytes reached: the rest is left out]\n"),
            "{stdout}"
        );
        let (_, _, body) =
            post(&engine, &format!("sandboxes/{id}/exec"), json!({"cmd": "yes | head -c 5000; exit 3"})).await;
        assert_eq!((&body["exit_code"], body["stdout"].as_str().unwrap().len() < 1200), (&json!(3), true));
        engine.shutdown(true).await.unwrap();
    });
}

#[test]
fn a_sandbox_gets_no_more_cpu_than_its_share() {
    with_home(|home| async {
        let engine = home.open().await;
        if !Cgroups::find(&home.home(), 0).missing().is_empty() {
            return println!("skipped: no control groups");
        }
        let id = limited(&engine, SandboxLimits { cpu: Some(0.2), ..SandboxLimits::default() }).await.id;
        let context = python(&engine, &id).await;
        let guest = engine.guest(&id).await.unwrap();
        let code =
            "import time\nbegan = time.monotonic()\nwhile time.monotonic() - began < 3: pass\ntime.process_time()";
        let (_, output) = cell(&guest, &context, code).await;
        println!("CPU seconds in 3 s, as the program sees them: {}", output.results[0]["data"]["text/plain"]);
        let used = cpu_seconds(&id);
        assert!(used < 3.0, "{used} s of CPU time were used in some 4 s with 0.2 processors");
        engine.shutdown(true).await.unwrap();
    });
}

/// CPU time of all processes of a sandbox so far.
fn cpu_seconds(id: &str) -> f64 {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let of_sandbox = processes.filter(|process| {
        let groups = std::fs::read_to_string(process.path().join("cgroup")).unwrap_or_default();
        groups.contains(id)
    });
    let ticks = of_sandbox.map(|process| {
        let stat = std::fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        [11, 12]
            .iter()
            .map(|at| fields.get(*at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0))
            .sum::<f64>()
    });
    ticks.sum::<f64>() / 100.0
}

#[test]
fn a_sandbox_that_is_killed_for_memory_says_so_and_names_its_last_snapshot() {
    with_home(|home| async {
        let engine =
            Engine::open(EngineConfig { ready_sandboxes: 0, blank_sandboxes: 0, ..home.config() }).await.unwrap();
        if !Cgroups::find(&home.home(), 0).missing().is_empty() {
            return println!("skipped: no control groups");
        }
        let id = create(&engine).await.id;
        let snapshot = engine.create_snapshot(&id).await.unwrap();
        let group = Cgroups::find(&home.home(), 0).group(&id);
        let cgroup = group
            .folders()
            .into_iter()
            .find(|folder| folder.join("memory.limit_in_bytes").exists() || folder.join("memory.max").exists())
            .unwrap();
        // As if everything in it had grown together: what runs now does not fit any more.
        for pid in group.pids() {
            std::fs::write(format!("/proc/{pid}/oom_score_adj"), "0").unwrap();
        }
        let file = ["memory.limit_in_bytes", "memory.max"].into_iter().find(|file| cgroup.join(file).exists()).unwrap();
        let guest = engine.guest(&id).await.unwrap();
        let filling = tokio::spawn(async move {
            let bomb = "for i in $(seq 20); do head -c 200M /dev/zero > /tmp/$i; done";
            let request =
                pandastack_guest_protocol::exec::ExecRequest { command: Some(bomb.to_owned()), ..Default::default() };
            let frames = guest.exec(&request).await?;
            crate::home::collect(frames).await.map(drop)
        });
        std::fs::write(cgroup.join(file), (300_u64 << 20).to_string()).unwrap();
        let error = tokio::time::timeout(Duration::from_secs(60), async {
            loop {
                match engine.guest(&id).await {
                    Ok(guest) => drop(guest.health(Duration::from_secs(1)).await),
                    Err(error) => break error,
                }
            }
        });
        let error = error.await.unwrap();
        let _ = filling.await;
        let EngineError::SandboxGone { reason, .. } = &error else { panic!("{error}") };
        assert!(reason.contains("it was killed because it reached its memory limit"), "{reason}");
        assert!(reason.ends_with(&format!("its last snapshot is {}", snapshot.id)), "{reason}");
        engine.delete_snapshot(&snapshot.id).await.unwrap();
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn a_full_engine_refuses_before_anything_is_made() {
    with_home(|home| async {
        let config = EngineConfig { most_sandboxes: 2, ready_sandboxes: 0, blank_sandboxes: 0, ..home.config() };
        let engine = Engine::open(config).await.unwrap();
        let made = create(&engine).await;
        let error = engine.fork_sandbox(&made.id, ForkSandbox::default(), 2).await.unwrap_err();
        assert_eq!((error.status(), error.retry_after()), (503, Some(5)));
        create(&engine).await;
        let (status, headers, body) = post(&engine, "sandboxes", json!({})).await;
        assert_eq!(
            (status, &headers["retry-after"], &body["code"]),
            (StatusCode::SERVICE_UNAVAILABLE, &"5".parse().unwrap(), &json!("capacity"))
        );
        assert_eq!(
            body["error"],
            "no room for 1 more: the engine has 2 of at most 2 sandboxes (`serve --most-sandboxes`)"
        );
        assert_eq!(engine.list_sandboxes().await.unwrap().len(), 2);
        engine.delete_sandbox(&made.id).await.unwrap();
        create(&engine).await;
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn an_engine_without_memory_left_refuses() {
    with_home(|home| async {
        if !Cgroups::find(&home.home(), 0).missing().is_empty() {
            return println!("skipped: no control groups");
        }
        let config = EngineConfig { most_memory_mb: 400, ready_sandboxes: 0, blank_sandboxes: 0, ..home.config() };
        let engine = Engine::open(config).await.unwrap();
        let mut made = 0;
        let error = loop {
            match engine.create_sandbox(CreateSandbox::default()).await {
                Ok(_) => made += 1,
                Err(error) => break error,
            }
            assert!(made < 10);
        };
        assert_eq!(error.status(), 503);
        assert!(made > 0 && error.to_string().contains("of at most 400 MiB"), "{made}: {error}");
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn limits_that_cannot_be_are_refused_at_the_edge() {
    with_home(|home| async {
        let engine =
            Engine::open(EngineConfig { ready_sandboxes: 0, blank_sandboxes: 0, ..home.config() }).await.unwrap();
        for (limits, expected) in [
            (json!({"processes": 1}), "limits.processes must be between 16 and 4096: `1`"),
            (json!({"cpu": 0}), "limits.cpu must be between 0.1 and "),
            (json!({"memory": 1}), "unknown limit: `memory`"),
            (json!({"disk_gb": -1}), "disk_gb"),
        ] {
            let (status, _, body) = post(&engine, "sandboxes", json!({"limits": limits})).await;
            assert_eq!(status, StatusCode::BAD_REQUEST);
            assert!(body["error"].as_str().unwrap().contains(expected), "{body}");
        }
        assert!(engine.list_sandboxes().await.unwrap().is_empty());
        engine.shutdown(true).await.unwrap();
    });
}
