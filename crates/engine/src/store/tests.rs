use std::collections::BTreeMap;

use super::*;
use crate::egress::record::EgressRecord;
use crate::limits::Limits;

/// A row of a sandbox that is being made.
pub(crate) fn row(id: &str) -> SandboxRow {
    SandboxRow {
        id: id.to_owned(),
        workspace: LOCAL_WORKSPACE.to_owned(),
        template: "code-interpreter".to_owned(),
        template_id: "abc".to_owned(),
        status: RowStatus::Creating,
        reason: None,
        metadata: BTreeMap::from([("user".to_owned(), "é\"'".to_owned())]),
        ttl_seconds: 60,
        persistent: false,
        limits: Limits { processes: 99, ..Limits::default() },
        boot_mode: None,
        boot_ms: None,
        created_at: "2026-01-01T00:00:00.000Z".to_owned(),
        epoch: 1,
        from_snapshot: None,
        image: None,
        egress: EgressRecord::default(),
    }
}

#[tokio::test]
async fn rows_survive_a_new_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine.db");
    let store = Store::open(&path).unwrap();
    store.put_sandbox(row("a")).await.unwrap();
    let running =
        SandboxRow { status: RowStatus::Running, boot_ms: Some(90), boot_mode: Some("snapshot".into()), ..row("a") };
    store.put_sandbox(running.clone()).await.unwrap();
    store.set_epoch("a", 1000).await.unwrap();
    store.set_lifecycle("a", 0, true).await.unwrap();
    drop(store);
    let store = Store::open(&path).unwrap();
    let expected = SandboxRow { epoch: 1000, ttl_seconds: 0, persistent: true, ..running };
    assert_eq!(store.sandbox("a").await.unwrap(), Some(expected.clone()));
    assert_eq!(store.sandboxes().await.unwrap(), [expected]);
    assert_eq!(store.sandbox("b").await.unwrap(), None);
}

#[tokio::test]
async fn changes_need_no_more_disk_than_is_held_from_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("engine.db")).unwrap();
    let sizes =
        || ["engine.db", "engine.db-wal"].map(|name| std::fs::metadata(folder.path().join(name)).unwrap().len());
    let held = sizes();
    for round in 0..200 {
        store.put_sandbox(SandboxRow { epoch: round, ..row(&format!("{}", round % 20)) }).await.unwrap();
    }
    assert_eq!(sizes(), held);
    assert!(held[0] > 1 << 20 && held[1] > 1 << 20, "{held:?}");
}

#[tokio::test]
async fn newest_come_first_and_a_removed_row_is_gone() {
    let store = Store::open(Path::new(":memory:")).unwrap();
    store.put_sandbox(row("old")).await.unwrap();
    store.put_sandbox(SandboxRow { created_at: "2026-01-01T00:00:00.001Z".into(), ..row("new") }).await.unwrap();
    let ids = |rows: Vec<SandboxRow>| rows.into_iter().map(|row| row.id).collect::<Vec<_>>();
    assert_eq!(ids(store.sandboxes().await.unwrap()), ["new", "old"]);
    store.remove_sandbox("new").await.unwrap();
    assert_eq!(ids(store.sandboxes().await.unwrap()), ["old"]);
}

#[tokio::test]
async fn the_reason_of_an_end_is_kept_for_a_while() {
    let store = Store::open(Path::new(":memory:")).unwrap();
    store.put_sandbox(row("a")).await.unwrap();
    store.end_sandbox("a", RowStatus::Failed, "out of memory").await.unwrap();
    store.prune_sandboxes().await.unwrap();
    let ended = store.sandbox("a").await.unwrap().unwrap();
    assert_eq!((ended.status, ended.reason.as_deref()), (RowStatus::Failed, Some("out of memory")));
    assert_eq!(ended.info().extra["reason"], "out of memory");
    store.call(|connection| connection.execute("UPDATE sandboxes SET ended_at = ended_at - 3601", [])).await.unwrap();
    store.prune_sandboxes().await.unwrap();
    assert_eq!(store.sandbox("a").await.unwrap(), None);
}

#[tokio::test]
async fn tokens_are_kept_as_hashes_and_can_be_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine.db");
    let store = Store::open(&path).unwrap();
    let created = store.create_token(Some("laptop".into())).await.unwrap();
    assert_eq!(created.token.len(), 36);
    assert_eq!(created.info.prefix, created.token[..12]);
    assert!(store.verify_token(&created.token).await.unwrap());
    for wrong in ["", "pds_", &created.info.prefix, &created.token[..35], &created.token.to_uppercase()] {
        assert!(!store.verify_token(wrong).await.unwrap(), "{wrong}");
    }
    assert_eq!(store.list_tokens().await.unwrap(), std::slice::from_ref(&created.info));
    store.revoke_token(&created.info.prefix).await.unwrap();
    assert!(!store.verify_token(&created.token).await.unwrap());
    assert!(matches!(store.revoke_token(&created.info.prefix).await, Err(EngineError::NotFound(_))));
    drop(store);
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let secret = &created.token.as_bytes()[12..];
        assert!(!bytes.windows(secret.len()).any(|window| window == secret), "a secret lies on disk");
    }
}

#[test]
fn a_database_of_a_newer_engine_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine.db");
    drop(Store::open(&path).unwrap());
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = Store::open(&path).err().unwrap();
    assert!(error.to_string().contains("newer engine"), "{error}");
}
