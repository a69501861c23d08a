//! Lifecycle: `/v1/sandboxes/{id}/lifecycle`, `…/pause`, `…/resume`, `…/hibernate` and `…/wake`.

use serde::{Deserialize, Serialize};

use crate::sandbox::SandboxStatus;

/// Answer of `POST …/hibernate` and `POST …/wake`.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "lifecycle.ts"))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusInfo {
    /// Where the sandbox is now.
    pub status: SandboxStatus,
}

/// How long a sandbox lives.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "lifecycle.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LifecycleInfo {
    /// Idle time after which it is deleted, in seconds.
    #[serde(default)]
    pub ttl_seconds: i64,
    /// True: never deleted for idling.
    #[serde(default)]
    pub persistent: bool,
    /// Time since its last use, in seconds.
    #[serde(default)]
    pub idle_seconds: i64,
}

/// Body of `PATCH …/lifecycle`.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "lifecycle.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateLifecycle {
    /// New idle TTL in seconds, not negative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<i64>,
    /// Persistent or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent: Option<bool>,
}
