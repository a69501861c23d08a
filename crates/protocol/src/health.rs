//! Health, version and identity: `/healthz`, `/version`, `/v1/me`.

use serde::{Deserialize, Serialize};

use crate::Extra;

/// Answer of `GET /healthz`.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "health.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// `ok` or `unhealthy`.
    pub status: String,
    /// Fields that this version does not know.
    #[serde(flatten)]
    #[cfg_attr(feature = "ts", ts(skip))]
    pub extra: Extra,
}

/// Answer of `GET /version`.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "health.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionInfo {
    /// Name of the server.
    #[serde(default)]
    pub service: String,
    /// Its version.
    #[serde(default)]
    pub semver: String,
    /// Operating system.
    #[serde(default)]
    pub os: String,
    /// Processor architecture.
    #[serde(default)]
    pub arch: String,
}

/// Answer of `GET /v1/me`.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "health.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MeInfo {
    /// Id of the user.
    #[serde(default)]
    pub user_id: String,
    /// Mail address, may be empty.
    #[serde(default)]
    pub email: String,
    /// Fields that this version does not know.
    #[serde(flatten)]
    #[cfg_attr(feature = "ts", ts(skip))]
    pub extra: Extra,
}
