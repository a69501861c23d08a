//! Pause, resume, hibernate and wake.

use std::time::{Duration, Instant};

use pandastack_engine::engine::{Engine, EngineConfig};
use pandastack_guest_protocol::exec::ExecRequest;
use pandastack_protocol::lifecycle::UpdateLifecycle;
use pandastack_protocol::sandbox::SandboxStatus;

use crate::home::{cell, create, python, shell, with_home};

async fn status(engine: &Engine, id: &str) -> SandboxStatus {
    engine.sandbox_info(id).await.unwrap().status
}

#[test]
fn a_paused_sandbox_stands_still_and_goes_on() {
    with_home(|home| async {
        let engine = Engine::open(EngineConfig { heartbeat_ms: 200, ..home.config() }).await.unwrap();
        let made = create(&engine).await;
        let guest = engine.guest(&made.id).await.unwrap();
        let (_, before) =
            shell(&guest, "(while :; do echo >> /tmp/ticks; sleep 0.02; done) >/dev/null 2>&1 & echo up").await;
        assert_eq!(before.stdout, "up\n");
        engine.pause_sandbox(&made.id).await.unwrap();
        engine.pause_sandbox(&made.id).await.unwrap();
        assert_eq!(status(&engine, &made.id).await, SandboxStatus::Paused);
        for error in [
            engine.guest(&made.id).await.map(drop).unwrap_err(),
            engine.create_snapshot(&made.id).await.map(drop).unwrap_err(),
            engine.fork_sandbox(&made.id, Default::default(), 1).await.map(drop).unwrap_err(),
        ] {
            assert_eq!(error.to_string(), format!("sandbox is paused: {}; resume it first", made.id));
        }
        // Longer than all heartbeats that may be missed.
        tokio::time::sleep(Duration::from_secs(2)).await;
        engine.resume_sandbox(&made.id).await.unwrap();
        engine.resume_sandbox(&made.id).await.unwrap();
        assert_eq!(status(&engine, &made.id).await, SandboxStatus::Running);
        let ticks = shell(&guest, "wc -l < /tmp/ticks; sleep 0.5; wc -l < /tmp/ticks").await.1.stdout;
        let ticks: Vec<u32> = ticks.split_whitespace().map(|number| number.parse().unwrap()).collect();
        assert!(ticks[1] > ticks[0], "it does not go on: {ticks:?}");
        engine.pause_sandbox(&made.id).await.unwrap();
        engine.delete_sandbox(&made.id).await.unwrap();
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn a_paused_sandbox_is_still_paused_for_the_next_engine() {
    with_home(|home| async {
        let engine = home.open().await;
        let made = create(&engine).await;
        let context = python(&engine, &made.id).await;
        cell(&engine.guest(&made.id).await.unwrap(), &context, "x = 41").await;
        engine.pause_sandbox(&made.id).await.unwrap();
        engine.shutdown(false).await.unwrap();
        drop(engine);
        let engine = home.open().await;
        assert_eq!(status(&engine, &made.id).await, SandboxStatus::Paused);
        engine.wake_sandbox(&made.id).await.unwrap();
        let (_, output) = cell(&engine.guest(&made.id).await.unwrap(), &context, "print(x)").await;
        assert_eq!(output.stdout, "41\n");
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn a_hibernated_sandbox_wakes_with_everything_also_for_the_next_engine() {
    with_home(|home| async {
        let engine = home.open().await;
        let made = create(&engine).await;
        let context = python(&engine, &made.id).await;
        let guest = engine.guest(&made.id).await.unwrap();
        cell(&guest, &context, "x = 40; import random; random.seed(5)").await;
        let request = ExecRequest { command: Some("echo up; sleep 4242".to_owned()), ..ExecRequest::default() };
        let mut stream = guest.exec(&request).await.unwrap();
        stream.next().await.unwrap().unwrap();
        for round in 0..3 {
            let began = Instant::now();
            engine.hibernate_sandbox(&made.id).await.unwrap();
            let hibernated_ms = began.elapsed().as_millis();
            engine.hibernate_sandbox(&made.id).await.unwrap();
            assert_eq!(status(&engine, &made.id).await, SandboxStatus::Hibernated);
            assert_eq!(engine.list_sandboxes().await.unwrap()[0].status, SandboxStatus::Hibernated);
            assert!(
                std::fs::read_dir(home.home().sandboxes())
                    .unwrap()
                    .all(|entry| { entry.unwrap().file_name().to_string_lossy() != made.id })
            );
            let began = Instant::now();
            if round == 1 {
                engine.wake_sandbox(&made.id).await.unwrap();
                engine.wake_sandbox(&made.id).await.unwrap();
            }
            let guest = engine.guest(&made.id).await.unwrap();
            let (_, output) = cell(&guest, &context, "x += 1; print(x)").await;
            assert_eq!(output.stdout, format!("{}\n", 41 + round));
            println!("hibernated in {hibernated_ms} ms, awake and answering in {} ms", began.elapsed().as_millis());
        }
        let error = loop {
            if let Err(error) = stream.next().await.unwrap() {
                break error;
            }
        };
        assert!(error.to_string().contains("hibernated"), "{error}");
        engine.hibernate_sandbox(&made.id).await.unwrap();
        let update = UpdateLifecycle { ttl_seconds: Some(77), persistent: None };
        assert_eq!(engine.update_lifecycle(&made.id, update).await.unwrap().ttl_seconds, 77);
        engine.shutdown(true).await.unwrap();
        drop(engine);
        std::fs::create_dir(home.home().hibernated().join("leftover.new")).unwrap();

        let engine = home.open().await;
        assert_eq!(std::fs::read_dir(home.home().hibernated()).unwrap().count(), 1);
        assert_eq!(status(&engine, &made.id).await, SandboxStatus::Hibernated);
        let guest = engine.guest(&made.id).await.unwrap();
        assert_eq!(cell(&guest, &context, "print(x)").await.1.stdout, "43\n");
        assert_eq!(engine.lifecycle(&made.id).await.unwrap().ttl_seconds, 77);
        assert_eq!(std::fs::read_dir(home.home().hibernated()).unwrap().count(), 0);
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn many_requests_wake_one_sandbox_and_requests_during_hibernation_are_served() {
    with_home(|home| async {
        let engine = home.open().await;
        let made = create(&engine).await;
        for _ in 0..3 {
            let hibernating = engine.hibernate_sandbox(&made.id);
            let uses = (0..8).map(|index| {
                let (engine, id) = (engine.clone(), made.id.clone());
                async move {
                    tokio::time::sleep(Duration::from_millis(50 * index)).await;
                    // One that was let in before is told that the sandbox was hibernated.
                    engine.guest(&id).await.map(drop)
                }
            });
            let (hibernated, uses) = tokio::join!(hibernating, futures::future::join_all(uses));
            hibernated.unwrap();
            uses.into_iter().for_each(|outcome| outcome.unwrap());
            let (exit, _) = shell(&engine.guest(&made.id).await.unwrap(), "true").await;
            assert_eq!(exit.exit_code, 0);
        }
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn a_damaged_image_is_told_and_a_hibernated_sandbox_can_be_deleted() {
    with_home(|home| async {
        let engine = home.open().await;
        let made = create(&engine).await;
        engine.hibernate_sandbox(&made.id).await.unwrap();
        let pages = home.home().hibernated().join(&made.id).join("pages.img");
        let length = std::fs::metadata(&pages).unwrap().len();
        std::fs::File::options().write(true).open(&pages).unwrap().set_len(length - 1).unwrap();
        let error = engine.wake_sandbox(&made.id).await.unwrap_err();
        assert!(error.to_string().contains("is damaged: pages.img is not what it was"), "{error}");
        assert_eq!(status(&engine, &made.id).await, SandboxStatus::Hibernated);
        engine.delete_sandbox(&made.id).await.unwrap();
        assert_eq!(engine.wake_sandbox(&made.id).await.unwrap_err().status(), 404);
        assert_eq!(std::fs::read_dir(home.home().hibernated()).unwrap().count(), 0);
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn a_persistent_sandbox_that_nobody_uses_hibernates_and_wakes_when_it_is_used() {
    with_home(|home| async {
        let config = EngineConfig { pack_after_seconds: 0, ..home.config() };
        let engine = Engine::open(config).await.unwrap();
        let made = create(&engine).await;
        let context = python(&engine, &made.id).await;
        cell(&engine.guest(&made.id).await.unwrap(), &context, "x = 41").await;
        let lifecycle = UpdateLifecycle { ttl_seconds: Some(1), persistent: Some(true) };
        engine.update_lifecycle(&made.id, lifecycle).await.unwrap();
        let packed = home.home().hibernated().join(&made.id).join("pages.img.zst");
        for _ in 0..300 {
            if packed.exists() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert!(packed.exists(), "it does not hibernate, or is not packed");
        assert_eq!(status(&engine, &made.id).await, SandboxStatus::Hibernated);
        let (_, output) = cell(&engine.guest(&made.id).await.unwrap(), &context, "print(x + 1)").await;
        assert_eq!(output.stdout, "42\n");
        engine.delete_sandbox(&made.id).await.unwrap();
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}
