//! Rows of sandboxes.

use std::collections::BTreeMap;

use pandastack_protocol::sandbox::{SandboxInfo, SandboxStatus};
use rusqlite::{OptionalExtension, Row, params};

use super::Store;
use crate::clock;
use crate::egress::record::EgressRecord;
use crate::error::EngineError;
use crate::image::ImageRecord;
use crate::limits::Limits;

/// How long the row of an ended sandbox says why it ended, in seconds.
const TOMBSTONE_SECONDS: i64 = 3600;

/// Where a sandbox is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowStatus {
    /// Kept ready, nobody's yet. Not shown.
    Ready,
    /// Being made.
    Creating,
    /// Takes requests.
    Running,
    /// Stands still in memory.
    Paused,
    /// Lies on disk only.
    Hibernated,
    /// Being removed for good, for a caller.
    Ending,
    /// Ended by a failure.
    Failed,
    /// Ended by the engine, for example for idling. Not shown.
    Deleted,
}

impl RowStatus {
    const ALL: [Self; 8] = [
        Self::Ready,
        Self::Creating,
        Self::Running,
        Self::Paused,
        Self::Hibernated,
        Self::Ending,
        Self::Failed,
        Self::Deleted,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Creating => "creating",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Hibernated => "hibernated",
            Self::Ending => "ending",
            Self::Failed => "failed",
            Self::Deleted => "deleted",
        }
    }

    fn shown(self) -> SandboxStatus {
        match self {
            Self::Ready | Self::Creating => SandboxStatus::Creating,
            Self::Running => SandboxStatus::Running,
            Self::Paused => SandboxStatus::Paused,
            Self::Hibernated => SandboxStatus::Hibernated,
            Self::Ending => SandboxStatus::Stopping,
            Self::Failed => SandboxStatus::Failed,
            Self::Deleted => SandboxStatus::Deleted,
        }
    }
}

/// What is remembered of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxRow {
    /// UUID, also the container's id.
    pub id: String,
    /// Whose it is.
    pub workspace: String,
    /// Name of the template.
    pub template: String,
    /// Content hash of the template.
    pub template_id: String,
    /// Where it is in its life.
    pub status: RowStatus,
    /// Why it ended.
    pub reason: Option<String>,
    /// The caller's labels.
    pub metadata: BTreeMap<String, String>,
    /// Idle time after which it is deleted, in seconds.
    pub ttl_seconds: i64,
    /// True: never deleted for idling.
    pub persistent: bool,
    /// What it may use.
    pub limits: Limits,
    /// How it came up.
    pub boot_mode: Option<String>,
    /// Time from request to running, in milliseconds.
    pub boot_ms: Option<u64>,
    /// RFC 3339.
    pub created_at: String,
    /// At least the number of the last `Hello` that it got.
    pub epoch: u64,
    /// The snapshot it was made from.
    pub from_snapshot: Option<String>,
    /// Its image, while it is hibernated.
    pub image: Option<ImageRecord>,
    /// What it may reach, and its secrets.
    pub egress: EgressRecord,
}

impl SandboxRow {
    /// As the API shows it.
    pub fn info(&self) -> SandboxInfo {
        let mut info = SandboxInfo {
            id: self.id.clone(),
            template: self.template.clone(),
            cpu: self.limits.cpus(),
            memory_mb: self.limits.memory_mb,
            limits: Some(self.limits.info()),
            status: self.status.shown(),
            metadata: self.metadata.clone(),
            boot_ms: self.boot_ms,
            boot_mode: self.boot_mode.clone(),
            created_at: Some(self.created_at.clone()),
            persistent: Some(self.persistent),
            from_snapshot: self.from_snapshot.clone(),
            ..SandboxInfo::default()
        };
        if let Some(reason) = &self.reason {
            info.extra.insert("reason".to_owned(), reason.as_str().into());
        }
        info
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let status: String = row.get("status")?;
        let metadata: String = row.get("metadata")?;
        Ok(Self {
            id: row.get("id")?,
            workspace: row.get("workspace")?,
            template: row.get("template")?,
            template_id: row.get("template_id")?,
            status: RowStatus::ALL.into_iter().find(|known| known.name() == status).unwrap_or(RowStatus::Failed),
            reason: row.get("reason")?,
            metadata: serde_json::from_str(&metadata).unwrap_or_default(),
            ttl_seconds: row.get("ttl_seconds")?,
            persistent: row.get("persistent")?,
            limits: limits(row)?,
            boot_mode: row.get("boot_mode")?,
            boot_ms: row.get::<_, Option<i64>>("boot_ms")?.map(|ms| ms.max(0) as u64),
            created_at: row.get("created_at")?,
            epoch: row.get::<_, i64>("epoch")?.max(0) as u64,
            from_snapshot: row.get("from_snapshot")?,
            image: row.get::<_, Option<String>>("image")?.and_then(|image| serde_json::from_str(&image).ok()),
            egress: EgressRecord::from_text(row.get::<_, Option<String>>("egress")?.as_deref()),
        })
    }
}

/// As it stands in the store.
/// Limits of a row; of one that an older engine wrote, the defaults.
fn limits(row: &Row<'_>) -> rusqlite::Result<Limits> {
    let text: Option<String> = row.get("limits")?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

pub(super) fn image_text(image: &ImageRecord) -> Result<String, EngineError> {
    serde_json::to_string(image)
        .map_err(|error| EngineError::Internal(format!("cannot write what an image is: {error}")))
}

/// As it stands in the store.
pub(super) fn egress_text(egress: &EgressRecord) -> Result<Option<String>, EngineError> {
    egress.text().map_err(|error| EngineError::Internal(format!("cannot write what a sandbox may reach: {error}")))
}

impl Store {
    /// Writes a row, replacing the one with the same id.
    pub async fn put_sandbox(&self, row: SandboxRow) -> Result<(), EngineError> {
        let metadata = serde_json::to_string(&row.metadata)
            .map_err(|error| EngineError::Internal(format!("cannot write metadata: {error}")))?;
        let image = row.image.as_ref().map(image_text).transpose()?;
        let limits = serde_json::to_string(&row.limits)
            .map_err(|error| EngineError::Internal(format!("cannot write limits: {error}")))?;
        let egress = egress_text(&row.egress)?;
        self.call(move |connection| {
            connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO sandboxes (id, workspace, template, template_id, status, reason, metadata, ttl_seconds, persistent, cpu,
                     memory_mb, boot_mode, boot_ms, created_at, epoch, from_snapshot, image, limits, egress)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
                )?
                .execute(params![
                    row.id,
                    row.workspace,
                    row.template,
                    row.template_id,
                    row.status.name(),
                    row.reason,
                    metadata,
                    row.ttl_seconds,
                    row.persistent,
                    row.limits.cpus(),
                    row.limits.memory_mb,
                    row.boot_mode,
                    row.boot_ms.map(|ms| ms as i64),
                    row.created_at,
                    row.epoch as i64,
                    row.from_snapshot,
                    image,
                    limits,
                    egress,
                ])
                .map(drop)
        })
        .await
    }

    /// One row.
    pub async fn sandbox(&self, id: &str) -> Result<Option<SandboxRow>, EngineError> {
        let id = id.to_owned();
        self.call(move |connection| {
            connection.query_row("SELECT * FROM sandboxes WHERE id = ?1", [id], SandboxRow::read).optional()
        })
        .await
    }

    /// All rows, newest first.
    pub async fn sandboxes(&self) -> Result<Vec<SandboxRow>, EngineError> {
        self.call(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT * FROM sandboxes ORDER BY created_at DESC, rowid DESC")?;
            statement.query_map([], SandboxRow::read)?.collect()
        })
        .await
    }

    /// Remembers a changed lifecycle.
    pub async fn set_lifecycle(&self, id: &str, ttl_seconds: i64, persistent: bool) -> Result<(), EngineError> {
        let id = id.to_owned();
        self.call(move |connection| {
            connection
                .execute(
                    "UPDATE sandboxes SET ttl_seconds = ?2, persistent = ?3 WHERE id = ?1",
                    params![id, ttl_seconds, persistent],
                )
                .map(drop)
        })
        .await
    }

    /// Remembers what a sandbox may reach.
    pub async fn set_egress(&self, id: &str, egress: EgressRecord) -> Result<(), EngineError> {
        let (id, egress) = (id.to_owned(), egress_text(&egress)?);
        self.call(move |connection| {
            let sql = "UPDATE sandboxes SET egress = ?2 WHERE id = ?1";
            connection.execute(sql, params![id, egress]).map(drop)
        })
        .await
    }

    /// Remembers that a sandbox was paused or resumed.
    pub async fn set_status(&self, id: &str, status: RowStatus) -> Result<(), EngineError> {
        let id = id.to_owned();
        self.call(move |connection| {
            let sql = "UPDATE sandboxes SET status = ?2 WHERE id = ?1";
            connection.execute(sql, params![id, status.name()]).map(drop)
        })
        .await
    }

    /// Remembers that epochs up to `epoch` are used up.
    pub async fn set_epoch(&self, id: &str, epoch: u64) -> Result<(), EngineError> {
        let id = id.to_owned();
        self.call(move |connection| {
            connection.execute("UPDATE sandboxes SET epoch = ?2 WHERE id = ?1", params![id, epoch as i64]).map(drop)
        })
        .await
    }

    /// Changes what is remembered of the image of a hibernated sandbox, if it still is.
    pub async fn set_sandbox_image(&self, id: &str, image: &ImageRecord) -> Result<(), EngineError> {
        let (id, image) = (id.to_owned(), image_text(image)?);
        self.call(move |connection| {
            let sql = "UPDATE sandboxes SET image = ?2 WHERE id = ?1 AND image IS NOT NULL";
            connection.execute(sql, params![id, image]).map(drop)
        })
        .await
    }

    /// Remembers for an hour why a sandbox has ended.
    pub async fn end_sandbox(&self, id: &str, status: RowStatus, reason: &str) -> Result<(), EngineError> {
        let (id, reason) = (id.to_owned(), reason.to_owned());
        self.call(move |connection| {
            let sql = "UPDATE sandboxes SET status = ?2, reason = ?3, ended_at = ?4 WHERE id = ?1";
            connection.execute(sql, params![id, status.name(), reason, clock::unix_seconds()]).map(drop)
        })
        .await
    }

    /// Forgets a sandbox.
    pub async fn remove_sandbox(&self, id: &str) -> Result<(), EngineError> {
        let id = id.to_owned();
        self.call(move |connection| connection.execute("DELETE FROM sandboxes WHERE id = ?1", [id]).map(drop)).await
    }

    /// Forgets sandboxes that ended more than an hour ago.
    pub async fn prune_sandboxes(&self) -> Result<(), EngineError> {
        let before = clock::unix_seconds() - TOMBSTONE_SECONDS;
        self.call(move |connection| connection.execute("DELETE FROM sandboxes WHERE ended_at < ?1", [before]).map(drop))
            .await
    }
}
