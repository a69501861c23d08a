//! Code contexts: `/v1/sandboxes/{id}/repl/sessions`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Media type by which a client asks for the stream of [`ExecutionEvent`]s instead of one [`ExecutionAnswer`].
pub const NDJSON: &str = "application/x-ndjson";

/// Body of `POST …/repl/sessions`. `cwd`, `env` and `fresh` are understood by the local engine only.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "code_context.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateCodeContext {
    /// `python`; default `python`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Environment of the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// True: a new kernel even where one was inherited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fresh: Option<bool>,
}

/// A code context. Servers name its id `id`, `session_id` or both.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "code_context.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeContextInfo {
    /// Id of the context.
    #[serde(default)]
    pub id: String,
    /// The same id under its documented name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Sandbox it lives in.
    #[serde(default)]
    pub sandbox_id: String,
    /// `python`.
    #[serde(default)]
    pub language: String,
    /// RFC 3339.
    #[serde(default)]
    pub created_at: String,
    /// Cells that have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<u64>,
}

/// Body of `POST …/repl/sessions/{id}/run`. `env` and `max_output_bytes` are understood by the local engine only.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "code_context.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunCode {
    /// Source code; must not be empty.
    pub code: String,
    /// Time limit in milliseconds. None: the server's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Environment for this cell only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Most bytes of stdout and of stderr to keep, head and tail; the middle is dropped and `truncated` set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_bytes: Option<u64>,
}

/// One displayed object: MIME type → content. Values are strings; images but SVG are base64, `application/json` is JSON text.
pub type MimeBundle = BTreeMap<String, String>;

/// What a cell raised.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "code_context.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionError {
    /// Class of the exception.
    pub name: String,
    /// Its message.
    #[serde(default)]
    pub value: String,
    /// Formatted traceback, piece by piece, without escape codes.
    #[serde(default)]
    pub traceback: Vec<String>,
    /// Line of the cell, from 1, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// How a cell ended.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "code_context.ts"))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionStatus {
    /// It ran to its end.
    #[default]
    Ok,
    /// It raised.
    Error,
    /// It was interrupted on request.
    Interrupted,
    /// Its time limit was reached.
    TimedOut,
    /// Its kernel process ended while it ran.
    KernelDied,
}

/// Answer of `run` in one piece. The official SDKs read `stdout stderr exit exit_code error duration_ms results`; the rest is for ours.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "code_context.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExecutionAnswer {
    /// Standard output.
    #[serde(default)]
    pub stdout: String,
    /// Standard error.
    #[serde(default)]
    pub stderr: String,
    /// 0, 1 after an exception, or the argument of `sys.exit`.
    #[serde(default)]
    pub exit: i32,
    /// The same number.
    #[serde(default)]
    pub exit_code: i32,
    /// Formatted traceback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Parts of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_info: Option<ExecutionError>,
    /// Wall-clock time in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
    /// Displayed objects in order.
    #[serde(default)]
    pub results: Vec<MimeBundle>,
    /// Index in `results` of the value of the cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub main_result: Option<usize>,
    /// Number of the cell in its context, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_count: Option<u64>,
    /// How the cell ended.
    #[serde(default)]
    pub status: ExecutionStatus,
    /// True if the kernel had to be replaced: variables are lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "ts", ts(as = "Option<bool>"))]
    pub restarted: bool,
    /// True if only head and tail of the output were kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "ts", ts(as = "Option<bool>"))]
    pub truncated: bool,
}

/// One line of the NDJSON stream of `run`. Exactly one `end` or `failure` is last; a stream without one was cut.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "code_context.ts"))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ExecutionEvent {
    /// A piece of standard output, never cut inside a UTF-8 sequence.
    Stdout {
        /// The piece.
        text: String,
    },
    /// A piece of standard error.
    Stderr {
        /// The piece.
        text: String,
    },
    /// A displayed object.
    Result {
        /// Its MIME types.
        data: MimeBundle,
        /// True for the value of the cell.
        #[serde(default)]
        is_main: bool,
        /// Name under which it can be replaced.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_id: Option<String>,
        /// True: replaces the result with the same `display_id`.
        #[serde(default)]
        update: bool,
    },
    /// Results so far are to be forgotten; with `wait` only once the next one arrives.
    Clear {
        /// Wait for the next result.
        #[serde(default)]
        wait: bool,
    },
    /// The cell raised.
    Error {
        /// Formatted traceback.
        text: String,
        /// Its parts.
        #[serde(flatten)]
        error: ExecutionError,
    },
    /// Keeps idle connections open; carries nothing.
    Keepalive,
    /// The cell ended.
    End {
        /// How.
        status: ExecutionStatus,
        /// Number of the cell in its context.
        execution_count: u64,
        /// 0, 1, or the argument of `sys.exit`.
        exit_code: i32,
        /// Wall-clock time in milliseconds.
        duration_ms: u64,
        /// True if the kernel had to be replaced.
        #[serde(default)]
        restarted: bool,
        /// True if only head and tail of the output were sent.
        #[serde(default)]
        truncated: bool,
    },
    /// No outcome can be had.
    Failure {
        /// As in [`crate::error::ErrorBody`].
        code: crate::error::ErrorCode,
        /// For people.
        error: String,
    },
    /// A type this version does not know.
    #[serde(other)]
    Unknown,
}
