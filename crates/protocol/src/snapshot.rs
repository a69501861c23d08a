//! Snapshots: `/v1/snapshots` and `/v1/sandboxes/{id}/snapshots`.

use serde::{Deserialize, Serialize};

use crate::Extra;

/// The whole state of a sandbox (memory, processes, files) at one moment, from which others can be made.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "snapshot.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SnapshotInfo {
    /// Its id, for `from_snapshot`.
    pub id: String,
    /// The sandbox it was taken of, which may be gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_id: Option<String>,
    /// Whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Name of the template of that sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Size on disk, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    #[cfg_attr(feature = "ts", ts(skip))]
    pub extra: Extra,
}

/// Answer of `GET /v1/snapshots`, newest first.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "snapshot.ts"))]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SnapshotList {
    /// The snapshots.
    pub snapshots: Vec<SnapshotInfo>,
}
