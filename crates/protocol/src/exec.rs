//! Commands: `POST /v1/sandboxes/{id}/exec` and `/exec/stream`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Body of `exec` and `exec/stream`. `env`, `cwd`, `user` and `argv` are understood by the local engine only.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "exec.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExecRequest {
    /// Shell command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cmd: Option<String>,
    /// Program and arguments, run without a shell. Instead of `cmd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// Time limit in seconds. None: the server's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub timeout_seconds: Option<serde_json::Number>,
    /// Environment for this command only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// User in the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

/// Answer of `exec`. A non-zero exit code is an answer, not an error.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "exec.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecResult {
    /// Standard output as text; invalid UTF-8 becomes U+FFFD.
    #[serde(default)]
    pub stdout: String,
    /// Standard error as text.
    #[serde(default)]
    pub stderr: String,
    /// 128 + N after signal N.
    #[serde(default)]
    pub exit_code: i32,
    /// Wall-clock time in milliseconds, where the server tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// True if the server kept only the head and the tail of the output.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "ts", ts(as = "Option<bool>"))]
    pub truncated: bool,
}

/// Data of the `stdout` and `stderr` events of `exec/stream`.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "exec.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// A piece of output as text, never cut inside a UTF-8 sequence by the local engine.
    pub chunk: String,
    /// The same piece as base64, sent only where the text is lossy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
}

/// Data of the `exit` event of `exec/stream`, the last one.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "exec.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitEvent {
    /// 128 + N after signal N.
    pub exit_code: i32,
    /// Wall-clock time in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// What a client makes of the events of `exec/stream`. [`ExecEvent::Exit`] is the last one.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "exec.ts"))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ExecEvent {
    /// A piece of standard output.
    Stdout {
        /// The piece as text.
        text: String,
        /// The same piece as base64, present only where the text is lossy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base64: Option<String>,
    },
    /// A piece of standard error.
    Stderr {
        /// The piece as text.
        text: String,
        /// The same piece as base64, present only where the text is lossy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base64: Option<String>,
    },
    /// The command ended.
    Exit {
        /// 128 + N after signal N.
        exit_code: i32,
        /// Wall-clock time in milliseconds, where the server tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
}
