//! The templates that must not be deleted.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::error::EngineError;
use crate::home::Home;
use crate::store::{RowStatus, Store};

/// Ids of the templates that sandboxes and snapshots of this home need, and of those that running sandboxes of any home have open: homes may
/// share their templates.
///
/// # Errors
/// If the store cannot be read; then nothing is known.
pub async fn templates_in_use(home: &Home) -> Result<BTreeSet<String>, EngineError> {
    let mut used = open_images(&home.templates());
    let database = home.root().join("engine.db");
    if database.exists() {
        let store = Store::open(&database)?;
        let ended = |status| matches!(status, RowStatus::Failed | RowStatus::Deleted);
        used.extend(store.sandboxes().await?.into_iter().filter(|row| !ended(row.status)).map(|row| row.template_id));
        used.extend(store.snapshots().await?.into_iter().map(|row| row.template_id));
    }
    Ok(used)
}

/// Folders right below `templates` in which some process has a file open.
fn open_images(templates: &Path) -> BTreeSet<String> {
    let templates = fs::canonicalize(templates).unwrap_or_else(|_| templates.to_owned());
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let descriptors = processes.filter_map(|process| fs::read_dir(process.path().join("fd")).ok()).flatten().flatten();
    let files = descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
    let below = files.filter_map(|file| file.strip_prefix(&templates).ok().map(Path::to_owned));
    below.filter_map(|path| Some(path.iter().next()?.to_string_lossy().into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::SnapshotRow;

    #[tokio::test]
    async fn what_is_open_or_in_the_store_is_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path()).unwrap();
        home.create().unwrap();
        assert!(templates_in_use(&home).await.unwrap().is_empty());
        fs::create_dir(home.templates().join("opened")).unwrap();
        let _open = fs::File::create(home.templates().join("opened/rootfs.erofs")).unwrap();
        let store = Store::open(&folder.path().join("engine.db")).unwrap();
        let sandbox = |id: &str, template: &str, status| crate::store::SandboxRow {
            template_id: template.to_owned(),
            status,
            ..crate::store::tests::row(id)
        };
        store.put_sandbox(sandbox("a", "slept", RowStatus::Hibernated)).await.unwrap();
        store.put_sandbox(sandbox("b", "ended", RowStatus::Deleted)).await.unwrap();
        let snapshot = SnapshotRow {
            id: "s".to_owned(),
            workspace: "local".to_owned(),
            sandbox_id: "a".to_owned(),
            template: "code-interpreter".to_owned(),
            template_id: "kept".to_owned(),
            disk_gb: 4,
            egress: Default::default(),
            image: None,
            created_at: "2026-01-01T00:00:00.000Z".to_owned(),
        };
        store.put_snapshot(snapshot).await.unwrap();
        let used = templates_in_use(&home).await.unwrap();
        assert_eq!(used, ["kept", "opened", "slept"].map(str::to_owned).into());
    }
}
