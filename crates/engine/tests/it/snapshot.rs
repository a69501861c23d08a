//! Snapshots, and sandboxes that are made from them.

use std::fs;
use std::time::Duration;

use pandastack_engine::engine::{Engine, EngineConfig};
use pandastack_guest_protocol::context::CreateContext;
use pandastack_guest_protocol::exec::ExecRequest;
use pandastack_protocol::sandbox::{CreateSandbox, SandboxInfo};

use crate::home::{cell, collect, create, python, shell, with_home};

async fn create_from(engine: &Engine, snapshot_id: &str) -> SandboxInfo {
    engine.create_sandbox(from(snapshot_id)).await.unwrap()
}

fn from(snapshot_id: &str) -> CreateSandbox {
    CreateSandbox {
        from_snapshot: Some(snapshot_id.to_owned()),
        template: Some("ubuntu-24.04".to_owned()),
        ..CreateSandbox::default()
    }
}

#[test]
fn three_generations_keep_every_file_and_variable() {
    with_home(|home| async {
        let engine = home.open().await;
        let mut sandbox = create(&engine).await;
        let context = python(&engine, &sandbox.id).await;
        for generation in 1..=3 {
            let guest = engine.guest(&sandbox.id).await.unwrap();
            let code = format!("v{generation} = {generation}\nopen('/root/f{generation}', 'w').write('{generation}')");
            cell(&guest, &context, &code).await;
            let snapshot = engine.create_snapshot(&sandbox.id).await.unwrap();
            assert_eq!(snapshot.sandbox_id.as_deref(), Some(sandbox.id.as_str()));
            assert!(snapshot.size_bytes.unwrap() > 1 << 20);
            // What comes later is not in it.
            cell(&guest, &context, &format!("v{generation} = 'changed'")).await;
            shell(&guest, "rm /root/f*").await;

            let made = create_from(&engine, &snapshot.id).await;
            assert_eq!(made.from_snapshot.as_deref(), Some(snapshot.id.as_str()));
            let guest = engine.guest(&made.id).await.unwrap();
            let check = format!("print([globals()[f'v{{n}}'] for n in range(1, {})])", generation + 1);
            let (_, output) = cell(&guest, &context, &check).await;
            let expected: Vec<_> = (1..=generation).collect();
            assert_eq!(output.stdout, format!("{expected:?}\n"));
            let (_, output) = shell(&guest, "cat /root/f*; hostname").await;
            let files: String = (1..=generation).map(|number| number.to_string()).collect();
            assert_eq!(output.stdout, format!("{files}{}\n", made.id));
            engine.delete_sandbox(&sandbox.id).await.unwrap();
            sandbox = made;
        }
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn the_parent_and_its_command_go_on_and_the_first_context_is_the_inherited_one() {
    with_home(|home| async {
        let engine = home.open().await;
        let parent = create(&engine).await;
        let context = python(&engine, &parent.id).await;
        let guest = engine.guest(&parent.id).await.unwrap();
        cell(&guest, &context, "import pandas as pd; frame = pd.DataFrame({'a': [1, 2]})").await;
        let command = "for i in $(seq 40); do echo $i; sleep 0.05; done".to_owned();
        let stream = guest.exec(&ExecRequest { command: Some(command), ..ExecRequest::default() }).await.unwrap();
        let counting = tokio::spawn(collect(stream));
        let snapshot = engine.create_snapshot(&parent.id).await.unwrap();
        let made = create_from(&engine, &snapshot.id).await;
        let counted = counting.await.unwrap().unwrap().stdout;
        assert_eq!(counted, (1..=40).map(|number| format!("{number}\n")).collect::<String>());

        assert_eq!(python(&engine, &made.id).await, context, "the inherited kernel is handed over");
        let guest = engine.guest(&made.id).await.unwrap();
        let (_, output) = cell(&guest, &context, "print(pd.__name__, int(frame.a.sum()))").await;
        assert_eq!(output.stdout, "pandas 3\n");
        assert_ne!(python(&engine, &made.id).await, context, "only once");
        let again = create_from(&engine, &snapshot.id).await;
        let fresh = CreateContext { language: "python".into(), fresh: true, ..CreateContext::default() };
        let fresh = engine.guest(&again.id).await.unwrap().create_context(&fresh).await.unwrap().id;
        assert_ne!(fresh, context);
        engine.shutdown(true).await.unwrap();
    });
}

#[test]
fn listed_and_deleted_and_kept_across_a_restart() {
    with_home(|home| async {
        let engine = home.open().await;
        let (one, other) = (create(&engine).await, create(&engine).await);
        let first = engine.create_snapshot(&one.id).await.unwrap();
        let second = engine.create_snapshot(&other.id).await.unwrap();
        engine.shutdown(true).await.unwrap();
        drop(engine);
        // What a killed engine may leave behind.
        fs::create_dir(home.home().snapshots().join("9b2f4a4e-1111-4111-8111-111111111111.new")).unwrap();

        let engine = home.open().await;
        assert_eq!(engine.snapshots(None).await.unwrap(), [second.clone(), first.clone()]);
        assert_eq!(engine.snapshots(Some(&one.id)).await.unwrap(), std::slice::from_ref(&first));
        assert_eq!(fs::read_dir(home.home().snapshots()).unwrap().count(), 2);
        assert_eq!(engine.snapshot(&first.id).await.unwrap(), first);
        engine.delete_snapshot(&first.id).await.unwrap();
        assert_eq!(engine.delete_snapshot(&first.id).await.unwrap_err().status(), 404);
        assert_eq!(engine.create_sandbox(from(&first.id)).await.unwrap_err().status(), 404);
        let made = create_from(&engine, &second.id).await;
        engine.guest(&made.id).await.unwrap().health(Duration::from_secs(10)).await.unwrap();
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn a_damaged_one_gives_one_clear_error_and_no_sandbox() {
    with_home(|home| async {
        let engine = home.open().await;
        let parent = create(&engine).await;
        let folder = |id: &str| home.home().snapshots().join(id);
        let truncate = |path: &std::path::Path| {
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_len(file.metadata().unwrap().len() / 2).unwrap();
        };
        let flip = |path: &std::path::Path| {
            let mut bytes = fs::read(path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(path, bytes).unwrap();
        };
        let remove = |path: &std::path::Path| fs::remove_file(path).unwrap();
        type Damage<'a> = &'a dyn Fn(&std::path::Path);
        let damages: [(&str, Damage, &str); 4] = [
            ("pages.img", &flip, "pages.img is not what it was"),
            ("checkpoint.img", &truncate, "checkpoint.img is not what it was"),
            ("pages_meta.img", &flip, "pages_meta.img is not what it was"),
            ("pages.img", &remove, "pages.img is missing"),
        ];
        for (file, damage, expected) in damages {
            let snapshot = engine.create_snapshot(&parent.id).await.unwrap();
            damage(&folder(&snapshot.id).join(file));
            let error = engine.create_sandbox(from(&snapshot.id)).await.unwrap_err();
            assert_eq!(error.status(), 409);
            assert_eq!(error.to_string(), format!("snapshot `{}` is damaged: {expected}; delete it", snapshot.id));
        }
        assert_eq!(engine.list_sandboxes().await.unwrap().len(), 1);
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn a_sandbox_that_dies_meanwhile_leaves_no_snapshot() {
    with_home(|home| async {
        let engine = home.open().await;
        for delay_ms in [0, 10, 30, 60] {
            let parent = create(&engine).await;
            let (snapshot, deleted) = tokio::join!(engine.create_snapshot(&parent.id), async {
                tokio::time::sleep(Duration::from_millis(delay_ms)).await;
                engine.delete_sandbox(&parent.id).await
            });
            deleted.unwrap();
            let expected = usize::from(snapshot.is_ok());
            let snapshots = engine.snapshots(None).await.unwrap();
            assert_eq!(snapshots.len(), expected, "{snapshot:?}");
            assert_eq!(fs::read_dir(home.home().snapshots()).unwrap().count(), expected);
            for snapshot in snapshots {
                engine.delete_snapshot(&snapshot.id).await.unwrap();
            }
        }
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn one_that_is_no_longer_fresh_is_packed_and_restores_the_same() {
    with_home(|home| async {
        let config = EngineConfig { pack_after_seconds: 0, ..home.config() };
        let engine = Engine::open(config).await.unwrap();
        let parent = create(&engine).await;
        let context = python(&engine, &parent.id).await;
        cell(&engine.guest(&parent.id).await.unwrap(), &context, "import numpy as np; x = np.arange(5)").await;
        let snapshot = engine.create_snapshot(&parent.id).await.unwrap();
        let folder = home.home().snapshots().join(&snapshot.id);
        for _ in 0..300 {
            if !folder.join("pages.img").exists() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let size = |infos: Vec<pandastack_protocol::snapshot::SnapshotInfo>| infos[0].size_bytes.unwrap();
        let packed = size(engine.snapshots(None).await.unwrap());
        assert!(packed < snapshot.size_bytes.unwrap() / 4, "{packed} of {:?}", snapshot.size_bytes);
        assert_eq!(packed, fs::metadata(folder.join("pages.img.zst")).unwrap().len());

        let made = create_from(&engine, &snapshot.id).await;
        let (_, output) = cell(&engine.guest(&made.id).await.unwrap(), &context, "print(int(x.sum()))").await;
        assert_eq!(output.stdout, "10\n");
        let mut bytes = fs::read(folder.join("pages.img.zst")).unwrap();
        bytes.truncate(packed as usize / 2);
        fs::write(folder.join("pages.img.zst"), bytes).unwrap();
        let error = engine.create_sandbox(from(&snapshot.id)).await.unwrap_err();
        assert!(error.to_string().starts_with(&format!("snapshot `{}` is damaged: ", snapshot.id)), "{error}");
        assert_eq!(fs::read_dir(home.home().snapshots()).unwrap().count(), 1, "nothing half unpacked is left");
        engine.shutdown(true).await.unwrap();
    });
}
