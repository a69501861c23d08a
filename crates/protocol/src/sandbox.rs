//! Sandboxes: `/v1/sandboxes`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Extra;
use crate::egress::{Egress, Secret};
use crate::limits::SandboxLimits;

/// The template that is used when none is named.
pub const DEFAULT_TEMPLATE: &str = "code-interpreter";

/// Name under which the 0.9.0 SDK asks for the default template.
pub const DEFAULT_TEMPLATE_ALIAS: &str = "ubuntu-24.04";

/// State of a sandbox. Open: a server may add states, which arrive as [`SandboxStatus::Unknown`].
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "sandbox.ts"))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxStatus {
    /// Being made.
    Creating,
    /// Takes requests.
    Running,
    /// Frozen in memory.
    Paused,
    /// Stored on disk; wakes on use.
    Hibernated,
    /// Being ended.
    Stopping,
    /// Ended by a failure.
    Failed,
    /// Gone.
    Deleted,
    /// A state this version does not know.
    #[default]
    #[serde(other)]
    Unknown,
}

/// A sandbox as a server describes it.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "sandbox.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SandboxInfo {
    /// UUID.
    pub id: String,
    /// Name of the template it was made from.
    #[serde(default)]
    pub template: String,
    /// Virtual CPUs.
    #[serde(default)]
    pub cpu: u32,
    /// Memory limit in MiB.
    #[serde(default)]
    pub memory_mb: u32,
    /// State at the time of the answer.
    #[serde(default)]
    pub status: SandboxStatus,
    /// The caller's labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "ts", ts(as = "Option<BTreeMap<String, String>>"))]
    pub metadata: BTreeMap<String, String>,
    /// Snapshot it was made from, or empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_snapshot: Option<String>,
    /// Time from request to running, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_ms: Option<u64>,
    /// How it came up: `cold`, `snapshot`, `warm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_mode: Option<String>,
    /// RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// True: no idle TTL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent: Option<bool>,
    /// What it may use, where the server tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<SandboxLimits>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    #[cfg_attr(feature = "ts", ts(skip))]
    pub extra: Extra,
}

/// A volume to attach.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "sandbox.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeAttachment {
    /// Name of the volume.
    pub name: String,
    /// Read-only in the sandbox. Left out: the server's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
}

/// Body of `POST /v1/sandboxes`.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "sandbox.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CreateSandbox {
    /// Template name; the server's default if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Snapshot to start from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_snapshot: Option<String>,
    /// Idle time after which the sandbox is deleted, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<i64>,
    /// True: no idle TTL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent: Option<bool>,
    /// Labels; values are strings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
    /// Volumes to attach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volumes: Option<Vec<VolumeAttachment>>,
    /// What it may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<SandboxLimits>,
    /// What it may reach. Default: what its snapshot's sandbox could, else `all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub egress: Option<Egress>,
    /// Secrets by the name of the environment variable that stands for each, at most 64. Default: those of its snapshot's sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets: Option<BTreeMap<String, Secret>>,
}
