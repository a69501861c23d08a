//! Limits of a sandbox: part of `POST /v1/sandboxes` and of its answer. Understood by the local engine only.

use serde::{Deserialize, Serialize};

use crate::Extra;

/// What a sandbox may use. In a request: what differs from the server's defaults. In an answer: what holds.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "limits.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SandboxLimits {
    /// CPU time in processors: 0.5 is half of one. 0.1 to what the host has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
    /// Memory of its programs in MiB. 256 to what the host has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u32>,
    /// Processes and threads at a time. 16 to 4096.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// What its programs may write outside of `/tmp` and `/dev/shm`, in GiB. 1 to 64; another than the server's default makes creation slower
    /// (some 1.5 s), and a sandbox from a snapshot has that of the snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_gb: Option<u32>,
    /// Open files of one process. 64 to 1048576.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u32>,
    /// Longest time of a cell in seconds; a cell that asks for less gets less. None: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell_seconds: Option<u32>,
    /// Most bytes of each output stream of a cell or command; what is beyond is dropped while the program goes on. None: no limit for streams,
    /// and 16 MiB for what is answered in one piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// Limits that this version does not know.
    #[serde(flatten)]
    #[cfg_attr(feature = "ts", ts(skip))]
    pub extra: Extra,
}
