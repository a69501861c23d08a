//! What `engine status` shows.

use std::sync::atomic::Ordering;

use pandastack_protocol::limits::SandboxLimits;
use serde::{Deserialize, Serialize};

use super::Engine;
use crate::error::EngineError;

/// What `engine status` shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EngineStatus {
    /// Version of the engine.
    pub version: String,
    /// Process id of the daemon.
    pub pid: u32,
    /// `$PANDASTACK_HOME`.
    pub home: String,
    /// The `runsc` binary.
    pub runsc: String,
    /// Since the engine opened, in seconds.
    pub uptime_seconds: u64,
    /// Sandboxes that take requests.
    pub running: usize,
    /// Sandboxes being made.
    pub creating: usize,
    /// Sandboxes kept ready.
    pub ready: usize,
    /// Sandboxes kept without content.
    #[serde(default)]
    pub blank: usize,
    /// Most sandboxes.
    #[serde(default)]
    pub most_sandboxes: usize,
    /// Memory that all sandboxes use, in MiB. None if the host does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u64>,
    /// Most memory of all sandboxes, in MiB.
    #[serde(default)]
    pub most_memory_mb: u32,
    /// What a sandbox may use if its maker does not say.
    #[serde(default)]
    pub limits: SandboxLimits,
    /// Controllers of control groups that this engine cannot use: what they bound is bounded less well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_controllers: Vec<String>,
    /// The sandboxes that take requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sandboxes: Vec<SandboxUse>,
}

/// What one sandbox uses, beside what it may.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SandboxUse {
    /// The sandbox.
    pub id: String,
    /// Memory that it uses, with what it has written, in MiB. None if the host does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u64>,
    /// Processes of the host that it consists of.
    pub host_processes: usize,
    /// What it may use.
    pub limits: SandboxLimits,
}

impl Engine {
    /// What `engine status` shows.
    pub async fn status(&self) -> Result<EngineStatus, EngineError> {
        let inner = &self.inner;
        let config = &inner.config;
        let held: Vec<_> = inner.sandboxes().values().cloned().collect();
        let sandboxes = held.iter().map(|sandbox| {
            let info = sandbox.info();
            SandboxUse {
                id: info.id,
                memory_mb: sandbox.group().memory_bytes().map(|bytes| bytes >> 20),
                host_processes: sandbox.group().pids().len(),
                limits: info.limits.unwrap_or_default(),
            }
        });
        Ok(EngineStatus {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            home: config.home.root().display().to_string(),
            runsc: format!("{} ({})", config.runsc.path.display(), config.runsc.version.as_str()),
            uptime_seconds: inner.opened.elapsed().as_secs(),
            running: held.len(),
            creating: inner.creating.load(Ordering::Relaxed),
            ready: inner.ready_pool.len(),
            blank: inner.blank_pool.len(),
            most_sandboxes: config.most_sandboxes,
            memory_mb: inner.cgroups.all().memory_bytes().map(|bytes| bytes >> 20),
            most_memory_mb: config.most_memory_mb,
            limits: config.limits.info(),
            missing_controllers: inner.cgroups.missing().into_iter().map(str::to_owned).collect(),
            sandboxes: sandboxes.collect(),
        })
    }
}
