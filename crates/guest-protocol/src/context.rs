//! Code contexts: kernels that keep their state between cells.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Body of `POST` [`crate::route::CONTEXTS`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateContext {
    /// Id to give; a new one if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `python`.
    pub language: String,
    /// Working directory; default `/root`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Added to the sandbox's environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// True: never hand over a kernel that was inherited by a restore or a fork.
    #[serde(default)]
    pub fresh: bool,
}

/// One context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextInfo {
    /// Id of the context.
    pub id: String,
    /// `python`.
    pub language: String,
    /// Milliseconds since the Unix epoch.
    pub created_at_ms: u64,
    /// Cells that have ended.
    pub cells: u64,
    /// True while a cell runs or waits.
    pub busy: bool,
}

/// Body of `POST` [`crate::route::context_run`]. Cells of one context run one after another, in order of arrival.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRequest {
    /// Source code. Must not be empty.
    pub code: String,
    /// Environment for this cell only.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// After this many milliseconds of running (waiting for earlier cells does not count) the cell is interrupted; if it does not stop, the kernel is
    /// restarted. None: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// A displayed object with all its MIME types.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultFrame {
    /// MIME type → content. Images but SVG are base64, `application/json` is JSON text. At most [`crate::bounded::MAX_MIME_TYPES`].
    #[serde(deserialize_with = "crate::bounded::mime_types")]
    pub data: BTreeMap<String, String>,
    /// True for the value of the cell.
    #[serde(default)]
    pub is_main: bool,
    /// Name under which the object can be replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_id: Option<String>,
    /// True: replaces the result with the same `display_id`.
    #[serde(default)]
    pub update: bool,
}

/// Forget the results so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClearFrame {
    /// True: only once the next result arrives.
    #[serde(default)]
    pub wait: bool,
}

/// The cell raised.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorFrame {
    /// Class of the exception.
    pub name: String,
    /// Its message.
    pub value: String,
    /// Formatted traceback, piece by piece, without escape codes. At most [`crate::bounded::MAX_TRACEBACK`].
    #[serde(default, deserialize_with = "crate::bounded::traceback")]
    pub traceback: Vec<String>,
    /// The whole formatted traceback.
    pub text: String,
    /// Line of the cell where it was raised, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// How a cell ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndStatus {
    /// It ran to its end.
    #[default]
    Ok,
    /// It raised.
    Error,
    /// It was interrupted on request.
    Interrupted,
    /// Its time limit was reached.
    TimedOut,
    /// Its kernel process ended while it ran (`os._exit`, a crash, killed for memory).
    KernelDied,
}

/// Last frame of a cell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// How the cell ended.
    pub status: EndStatus,
    /// Number of the cell in its context, from 1; 0 if it never began.
    pub execution_count: u64,
    /// 0, 1 after an exception, or the argument of `sys.exit`.
    pub exit_code: i32,
    /// Wall-clock time of running, in milliseconds.
    pub duration_ms: u64,
    /// True if the kernel had to be replaced: variables are lost, files are not.
    #[serde(default)]
    pub restarted: bool,
}
