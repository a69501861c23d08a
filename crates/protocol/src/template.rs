//! Templates: `/v1/templates`.

use serde::{Deserialize, Serialize};

use crate::Extra;

/// A template.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "template.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TemplateInfo {
    /// Name by which sandboxes are made from it.
    pub name: String,
    /// Root filesystem image on the server.
    #[serde(default)]
    pub rootfs_path: String,
    /// Size of the image in bytes.
    #[serde(default)]
    pub size_bytes: u64,
    /// Virtual CPUs of its sandboxes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Memory of its sandboxes in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u32>,
    /// True for templates that come with the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_global: Option<bool>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    #[cfg_attr(feature = "ts", ts(skip))]
    pub extra: Extra,
}
