//! Commands.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Body of [`crate::route::EXEC`]. Exactly one of `command` and `argv` is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecRequest {
    /// A shell command, run by `bash -c`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// A program and its arguments, run without a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// Added to the sandbox's environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Working directory; default `/root`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// User name or uid in the sandbox; default root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// After this many milliseconds the process group gets SIGTERM, 500 ms later SIGKILL. None: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// Last frame of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// The exit code; 128 + N after signal N.
    pub exit_code: i32,
    /// The signal that ended the process, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// True if the time limit ended the command.
    #[serde(default)]
    pub timed_out: bool,
    /// Wall-clock time from start to exit, in milliseconds.
    pub duration_ms: u64,
}

/// Last frame when no outcome can be had, and body of every refusal of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Stable name of what went wrong.
    pub code: FailureCode,
    /// For people.
    pub error: String,
}

/// Why the agent could not do what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// The request makes no sense: HTTP 400.
    BadRequest,
    /// No such file, context or process: HTTP 404.
    NotFound,
    /// The name is taken, or the path is of the wrong kind (a directory where a file is needed): HTTP 409.
    Conflict,
    /// The sandbox's disk, memory or process limit was reached: HTTP 507.
    Exhausted,
    /// The kernel died under the cell: HTTP 500.
    KernelDied,
    /// Anything else: HTTP 500.
    Internal,
}

impl FailureCode {
    /// The HTTP status the agent answers with.
    pub fn status(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::NotFound => 404,
            Self::Conflict => 409,
            Self::Exhausted => 507,
            Self::KernelDied | Self::Internal => 500,
        }
    }
}
