//! Rows of snapshots.

use pandastack_protocol::snapshot::SnapshotInfo;
use rusqlite::{OptionalExtension, Row, params};

use super::Store;
use super::sandbox::{egress_text, image_text};
use crate::egress::record::EgressRecord;
use crate::error::EngineError;
use crate::image::ImageRecord;

/// What is remembered of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotRow {
    /// UUID.
    pub id: String,
    /// Whose it is.
    pub workspace: String,
    /// The sandbox it was taken of.
    pub sandbox_id: String,
    /// Name of the template.
    pub template: String,
    /// Content hash of the template.
    pub template_id: String,
    /// Size of its writable layer, in GiB.
    pub disk_gb: u32,
    /// Its files; `None` while it is taken.
    pub image: Option<ImageRecord>,
    /// What the sandbox could reach, and its secrets.
    pub egress: EgressRecord,
    /// RFC 3339.
    pub created_at: String,
}

impl SnapshotRow {
    /// As the API shows it.
    pub fn info(&self) -> SnapshotInfo {
        SnapshotInfo {
            id: self.id.clone(),
            sandbox_id: Some(self.sandbox_id.clone()),
            workspace: Some(self.workspace.clone()),
            template: Some(self.template.clone()),
            size_bytes: self.image.as_ref().map(ImageRecord::stored_bytes),
            created_at: Some(self.created_at.clone()),
            ..SnapshotInfo::default()
        }
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get("id")?,
            workspace: row.get("workspace")?,
            sandbox_id: row.get("sandbox_id")?,
            template: row.get("template")?,
            template_id: row.get("template_id")?,
            disk_gb: row.get("disk_gb")?,
            image: row.get::<_, Option<String>>("image")?.and_then(|image| serde_json::from_str(&image).ok()),
            egress: EgressRecord::from_text(row.get::<_, Option<String>>("egress")?.as_deref()),
            created_at: row.get("created_at")?,
        })
    }
}

impl Store {
    /// Writes a row, replacing the one with the same id.
    pub async fn put_snapshot(&self, row: SnapshotRow) -> Result<(), EngineError> {
        let image = row.image.as_ref().map(image_text).transpose()?;
        let egress = egress_text(&row.egress)?;
        self.call(move |connection| {
            let sql =
                "INSERT OR REPLACE INTO snapshots (id, workspace, sandbox_id, template, template_id, image, created_at, disk_gb, egress)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
            connection
                .execute(
                    sql,
                    params![
                        row.id,
                        row.workspace,
                        row.sandbox_id,
                        row.template,
                        row.template_id,
                        image,
                        row.created_at,
                        row.disk_gb,
                        egress,
                    ],
                )
                .map(drop)
        })
        .await
    }

    /// Changes what is remembered of the image of a snapshot, if it is still there.
    pub async fn set_snapshot_image(&self, id: &str, image: &ImageRecord) -> Result<(), EngineError> {
        let (id, image) = (id.to_owned(), image_text(image)?);
        self.call(move |connection| {
            connection.execute("UPDATE snapshots SET image = ?2 WHERE id = ?1", params![id, image]).map(drop)
        })
        .await
    }

    /// One row.
    pub async fn snapshot(&self, id: &str) -> Result<Option<SnapshotRow>, EngineError> {
        let id = id.to_owned();
        self.call(move |connection| {
            connection.query_row("SELECT * FROM snapshots WHERE id = ?1", [id], SnapshotRow::read).optional()
        })
        .await
    }

    /// All rows, newest first; also of those being taken.
    pub async fn snapshots(&self) -> Result<Vec<SnapshotRow>, EngineError> {
        self.call(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT * FROM snapshots ORDER BY created_at DESC, rowid DESC")?;
            statement.query_map([], SnapshotRow::read)?.collect()
        })
        .await
    }

    /// Forgets a snapshot.
    pub async fn remove_snapshot(&self, id: &str) -> Result<(), EngineError> {
        let id = id.to_owned();
        self.call(move |connection| connection.execute("DELETE FROM snapshots WHERE id = ?1", [id]).map(drop)).await
    }
}
