//! Snapshots: taken, listed, deleted, and removed where they are not whole.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use pandastack_protocol::snapshot::SnapshotInfo;
use serde_json::json;
use uuid::Uuid;

use super::Sandbox;
use crate::clock;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::image::{NewImage, remove_image};
use crate::store::SnapshotRow;
use crate::template::Template;

/// A snapshot that can be restored.
pub(super) struct Restorable {
    pub(super) template: Arc<Template>,
    /// Size of its writable layer, in GiB.
    pub(super) disk_gb: u32,
    pub(super) image: NewImage,
}

impl Inner {
    pub(super) fn snapshot_folder(&self, id: &str) -> PathBuf {
        self.config.home.snapshots().join(id)
    }

    /// Takes a snapshot of the sandbox, which goes on.
    pub(crate) async fn create_snapshot(self: &Arc<Self>, sandbox_id: &str) -> Result<SnapshotInfo, EngineError> {
        self.check_open()?;
        let (engine, sandbox_id) = (Arc::clone(self), sandbox_id.to_owned());
        self.carry_out(async move {
            let (sandbox, turn) = engine.take_turn(&sandbox_id).await?;
            sandbox.check_not_paused()?;
            sandbox.activity().touch();
            let row = {
                let sandbox = sandbox.row();
                SnapshotRow {
                    id: Uuid::new_v4().to_string(),
                    workspace: sandbox.workspace.clone(),
                    sandbox_id,
                    template: sandbox.template.clone(),
                    template_id: sandbox.template_id.clone(),
                    disk_gb: sandbox.limits.disk_gb,
                    image: None,
                    egress: sandbox.egress.clone(),
                    created_at: clock::now_rfc3339(),
                }
            };
            engine.store.put_snapshot(row.clone()).await?;
            let taken = async {
                let image = engine.copy(&sandbox, engine.snapshot_folder(&format!("{}.new", row.id))).await?;
                drop(turn);
                let record = engine.keep_image(image, engine.snapshot_folder(&row.id)).await?;
                let row = SnapshotRow { image: Some(record), ..row.clone() };
                engine.store.put_snapshot(row.clone()).await?;
                engine.events.record(&row.sandbox_id, "snapshot.created", json!({"snapshot_id": row.id}));
                Ok(row.info())
            };
            let taken = taken.await;
            if taken.is_err() {
                engine.forget_snapshot(&row.id).await;
            }
            taken
        })
        .await
    }

    /// What a snapshot is restored from, checked that it can be.
    pub(super) async fn find_restorable(self: &Arc<Self>, id: &str) -> Result<Restorable, EngineError> {
        let row = self.snapshot(id).await?;
        let template = self.find_template(&row.template_id).await?;
        let record = row.image.ok_or_else(|| EngineError::NotFound(format!("snapshot not found: {id}")))?;
        let what = format!("snapshot `{id}`");
        let image = self.open_image(record, self.snapshot_folder(id), &template, what).await?;
        Ok(Restorable { template, disk_gb: row.disk_gb, image })
    }

    /// All snapshots, newest first; only those of one sandbox if `sandbox_id` is given.
    pub(crate) async fn snapshots(&self, sandbox_id: Option<&str>) -> Result<Vec<SnapshotInfo>, EngineError> {
        let rows = self.store.snapshots().await?;
        let whole = rows.iter().filter(|row| row.image.is_some());
        let wanted = whole.filter(|row| sandbox_id.is_none_or(|id| row.sandbox_id == id));
        Ok(wanted.map(SnapshotRow::info).collect())
    }

    /// Says which snapshot can be gone back to when the sandbox is lost.
    pub(super) async fn last_snapshot(&self, sandbox: &Sandbox) -> String {
        let id = sandbox.row().id.clone();
        match self.snapshots(Some(&id)).await.unwrap_or_default().first() {
            Some(snapshot) => format!("its last snapshot is {}", snapshot.id),
            None => "it has no snapshot".to_owned(),
        }
    }

    /// The row of a snapshot that is whole.
    pub(crate) async fn snapshot(&self, id: &str) -> Result<SnapshotRow, EngineError> {
        let row = self.store.snapshot(id).await?.filter(|row| row.image.is_some());
        row.ok_or_else(|| EngineError::NotFound(format!("snapshot not found: {id}")))
    }

    /// Deletes a snapshot. Sandboxes that were made from it go on.
    pub(crate) async fn delete_snapshot(&self, id: &str) -> Result<(), EngineError> {
        self.snapshot(id).await?;
        self.store.remove_snapshot(id).await?;
        let folder = self.snapshot_folder(id);
        remove_image(&folder)
            .map_err(|error| EngineError::Internal(format!("cannot remove ({error}): `{}`", folder.display())))
    }

    async fn forget_snapshot(&self, id: &str) {
        if let Err(error) = self.store.remove_snapshot(id).await {
            tracing::error!(snapshot_id = id, %error, "could not remove the row of a snapshot");
        }
        if let Err(error) = remove_image(&self.snapshot_folder(id)) {
            tracing::warn!(snapshot_id = id, %error, "could not remove a snapshot; the next start of the engine tries again");
        }
    }

    /// Removes what is left of snapshots and forks that were not finished.
    pub(super) async fn remove_unfinished_snapshots(&self) -> Result<(), EngineError> {
        let (whole, begun): (Vec<_>, Vec<_>) =
            self.store.snapshots().await?.into_iter().partition(|row| row.image.is_some());
        for row in begun {
            self.store.remove_snapshot(&row.id).await?;
        }
        let whole: HashSet<String> = whole.into_iter().map(|row| row.id).collect();
        self.remove_images_but(&self.config.home.snapshots(), &whole);
        Ok(())
    }
}
