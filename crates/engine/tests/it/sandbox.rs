//! The life of a sandbox.

use std::collections::HashSet;
use std::time::Duration;

use pandastack_engine::engine::{Engine, EngineConfig};
use pandastack_engine::error::EngineError;
use pandastack_guest_protocol::context::CreateContext;
use pandastack_guest_protocol::exec::ExecRequest;
use pandastack_protocol::lifecycle::UpdateLifecycle;
use pandastack_protocol::sandbox::{CreateSandbox, SandboxStatus};

use crate::home::{cell, create, shell, with_home};

#[test]
fn created_listed_deleted_and_nothing_left() {
    with_home(|home| async {
        let engine = home.open().await;
        let request =
            CreateSandbox { metadata: Some([("user".to_owned(), "1".to_owned())].into()), ..CreateSandbox::default() };
        let made = engine.create_sandbox(request).await.unwrap();
        assert_eq!(
            (made.status, made.template.as_str(), made.metadata["user"].as_str()),
            (SandboxStatus::Running, "code-interpreter", "1")
        );
        assert_eq!(engine.sandbox_info(&made.id).await.unwrap(), made);
        assert_eq!(engine.list_sandboxes().await.unwrap(), std::slice::from_ref(&made));
        let guest = engine.guest(&made.id).await.unwrap();
        guest.health(Duration::from_secs(10)).await.unwrap();

        engine.delete_sandbox(&made.id).await.unwrap();
        assert_eq!(
            engine.sandbox_info(&made.id).await.unwrap_err().to_string(),
            format!("sandbox not found: {}", made.id)
        );
        assert_eq!(engine.delete_sandbox(&made.id).await.unwrap_err().status(), 404);
        assert!(matches!(guest.health(Duration::from_secs(10)).await, Err(EngineError::SandboxGone { .. })));
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn impossible_requests_are_refused_before_anything_exists() {
    with_home(|home| async {
        let engine = home.open().await;
        let with = |change: fn(&mut CreateSandbox)| {
            let mut request = CreateSandbox::default();
            change(&mut request);
            engine.create_sandbox(request)
        };
        assert_eq!(with(|request| request.ttl_seconds = Some(-1)).await.unwrap_err().status(), 400);
        assert_eq!(with(|request| request.template = Some("nothing".into())).await.unwrap_err().status(), 404);
        assert_eq!(with(|request| request.template = Some("../x".into())).await.unwrap_err().status(), 400);
        assert_eq!(with(|request| request.from_snapshot = Some("x".into())).await.unwrap_err().status(), 404);
        assert_eq!(engine.list_sandboxes().await.unwrap(), []);
        engine.shutdown(true).await.unwrap();
    });
}

#[test]
fn an_aborted_creation_leaves_nothing() {
    with_home(|home| async {
        let engine = home.open().await;
        for wait_ms in [0, 1, 20, 60, 100, 150] {
            let created = tokio::time::timeout(Duration::from_millis(wait_ms), create(&engine)).await;
            if let Ok(made) = created {
                engine.delete_sandbox(&made.id).await.unwrap();
            }
        }
        for _ in 0..100 {
            if engine.status().await.unwrap().creating == 0 && engine.list_sandboxes().await.unwrap().is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(engine.list_sandboxes().await.unwrap(), []);
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn creations_that_were_aborted_before_their_turn_cost_nothing() {
    with_home(|home| async {
        let engine =
            Engine::open(EngineConfig { ready_sandboxes: 0, blank_sandboxes: 0, ..home.config() }).await.unwrap();
        let creations: Vec<_> = (0..30)
            .map(|_| {
                let engine = engine.clone();
                tokio::spawn(async move { create(&engine).await })
            })
            .collect();
        while engine.status().await.unwrap().creating < 30 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        creations.iter().for_each(tokio::task::JoinHandle::abort);
        let mut begun = HashSet::new();
        while engine.status().await.unwrap().creating > 0 {
            begun.extend(std::fs::read_dir(home.home().sandboxes()).unwrap().map(|entry| entry.unwrap().file_name()));
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        assert!(begun.len() < 15, "{} sandboxes were made for nobody", begun.len());
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn a_new_engine_goes_on_with_the_kernels_of_the_old_one() {
    with_home(|home| async {
        let engine = home.open().await;
        let made = create(&engine).await;
        let guest = engine.guest(&made.id).await.unwrap();
        let context = guest
            .create_context(&CreateContext { language: "python".into(), ..CreateContext::default() })
            .await
            .unwrap();
        cell(&guest, &context.id, "x = 41").await;
        assert!(matches!(Engine::open(home.config()).await, Err(EngineError::AlreadyRunning(_))));
        engine.shutdown(false).await.unwrap();
        assert!(matches!(guest.health(Duration::from_secs(1)).await, Err(EngineError::SandboxGone { .. })));
        drop((guest, engine));

        let engine = home.open().await;
        assert_eq!(engine.list_sandboxes().await.unwrap().len(), 1);
        let guest = engine.guest(&made.id).await.unwrap();
        let (_, output) = cell(&guest, &context.id, "x + 1").await;
        assert_eq!(output.results[0]["data"]["text/plain"], "42");
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn the_end_of_a_sandbox_is_told() {
    with_home(|home| async {
        let engine = home.open().await;
        let made = create(&engine).await;
        let guest = engine.guest(&made.id).await.unwrap();
        let request = ExecRequest { command: Some("echo started; sleep 4242".to_owned()), ..ExecRequest::default() };
        let mut stream = guest.exec(&request).await.unwrap();
        stream.next().await.unwrap().unwrap();

        kill_from_outside(&made.id);
        let error = tokio::time::timeout(Duration::from_secs(20), stream.next()).await.unwrap().unwrap().unwrap_err();
        assert!(
            matches!(&error, EngineError::SandboxGone { reason, .. } if reason.contains("process ended")),
            "{error}"
        );
        assert!(stream.next().await.is_none());
        let later = loop {
            match engine.guest(&made.id).await {
                Ok(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                Err(error) => break error,
            }
        };
        assert_eq!(later.status(), 410, "{later}");
        let shown = loop {
            match engine.sandbox_info(&made.id).await.unwrap().status {
                SandboxStatus::Stopping => tokio::time::sleep(Duration::from_millis(20)).await,
                status => break status,
            }
        };
        assert_eq!(shown, SandboxStatus::Failed);
        engine.delete_sandbox(&made.id).await.unwrap();
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn idle_sandboxes_are_deleted_and_used_or_persistent_ones_are_not() {
    with_home(|home| async {
        let engine = Engine::open(EngineConfig { default_ttl_seconds: 2, ..home.config() }).await.unwrap();
        let [idle, used, persistent] = [create(&engine).await, create(&engine).await, create(&engine).await];
        engine
            .update_lifecycle(&persistent.id, UpdateLifecycle { persistent: Some(true), ttl_seconds: None })
            .await
            .unwrap();
        let request = ExecRequest { command: Some("sleep 4242".to_owned()), ..ExecRequest::default() };
        let _stream = engine.guest(&used.id).await.unwrap().exec(&request).await.unwrap();
        let gone = tokio::time::timeout(Duration::from_secs(60), async {
            loop {
                match engine.lifecycle(&idle.id).await {
                    Err(error) if error.status() == 404 => return error,
                    // On its way out.
                    Err(error) => assert_eq!(error.status(), 410),
                    Ok(_) => {}
                }
                tokio::time::sleep(Duration::from_secs(4)).await;
            }
        });
        let gone = gone.await.unwrap();
        assert!(gone.to_string().contains("deleted after 2 s without use"), "{gone}");
        let left = engine.list_sandboxes().await.unwrap().into_iter().map(|info| info.id).collect::<Vec<_>>();
        assert_eq!(left, [persistent.id, used.id]);
        engine.shutdown(true).await.unwrap();
    });
}

#[test]
fn eight_at_once() {
    with_home(|home| async {
        let engine = home.open().await;
        let made = futures::future::join_all((0..8).map(|_| create(&engine))).await;
        for info in &made {
            let (exit, output) = shell(&engine.guest(&info.id).await.unwrap(), "hostname").await;
            assert_eq!((exit.exit_code, output.stdout.trim()), (0, info.id.as_str()));
        }
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

/// Kills the sandbox's process as the host would, for example for want of memory.
fn kill_from_outside(id: &str) {
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        if command.starts_with(b"runsc-sandbox") && command.windows(id.len()).any(|window| window == id.as_bytes()) {
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).unwrap();
            return;
        }
    }
    panic!("no process of sandbox {id}");
}
