//! What happened to a sandbox: `/v1/sandboxes/{id}/events`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Extra;

/// One event. `type` is one of `sandbox.running`, `sandbox.paused`, `sandbox.resumed`, `sandbox.hibernated`, `sandbox.woken`,
/// `sandbox.deleted`, `vm.died`, `fork.completed`, `fork_tree.promoted`, `snapshot.created`, `egress.changed`, `egress.denied`; a server may
/// add others.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "event.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SandboxEvent {
    /// RFC 3339.
    #[serde(default)]
    pub time: String,
    /// The sandbox that it happened to.
    #[serde(default)]
    pub sandbox_id: String,
    /// What happened.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// More about it; depends on the type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(type = "Record<string, unknown>"))]
    pub payload: Option<Value>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    #[cfg_attr(feature = "ts", ts(skip))]
    pub extra: Extra,
}

/// Answer of `GET …/events`.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "event.ts"))]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SandboxEvents {
    /// Oldest first.
    #[serde(default)]
    pub events: Vec<SandboxEvent>,
}
