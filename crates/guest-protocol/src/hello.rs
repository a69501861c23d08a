//! How an identity is given to a sandbox: at its first start, after a restore, after a fork, and after a crash of the engine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Begins an epoch. The agent drops the HTTP/2 connection of the epoch before with all its streams (commands of those streams are
/// ended, cells interrupted), takes the identity and answers [`HelloAck`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Grows with every `Hello` of one sandbox.
    pub epoch: u64,
    /// The sandbox's id, a UUID.
    pub sandbox_id: String,
    /// Added to the environment of every command and kernel.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// True when the sandbox is a copy (restored from a snapshot or a template, or forked): kernels reseed their random generators.
    #[serde(default)]
    pub reseed: bool,
    /// Resource limits of what runs for the user.
    #[serde(default)]
    pub limits: Limits,
}

/// Limits that the agent sets on commands and kernels with `setrlimit`. 0 means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Address space of one process, in bytes (`RLIMIT_AS`).
    #[serde(default)]
    pub memory_bytes: u64,
    /// Address space of kernels, in bytes: they see it as `MemoryError`, and may raise it to `memory_bytes` for a program that they start.
    /// 0: as `memory_bytes`.
    #[serde(default)]
    pub kernel_memory_bytes: u64,
    /// Processes and threads of the user (`RLIMIT_NPROC`).
    #[serde(default)]
    pub processes: u64,
    /// Open files of one process (`RLIMIT_NOFILE`).
    #[serde(default)]
    pub open_files: u64,
}

/// The agent's answer to [`Hello`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelloAck {
    /// The epoch of the `Hello` that is answered.
    pub epoch: u64,
    /// Version of the agent.
    pub version: String,
    /// True once a warm kernel stands by.
    pub kernel_ready: bool,
}
