//! What servers say when they refuse, and the one list of what can go wrong.

use serde::{Deserialize, Serialize};

/// Every kind of failure that a caller can tell apart, on the wire and in the SDK (where each has a class). Closed.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "error.ts"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// No key, an unknown key, or one without the right: 401, 403.
    Auth,
    /// The request makes no sense: other 4xx.
    BadRequest,
    /// No such thing: 404.
    NotFound,
    /// The name is taken or the state forbids it: 409.
    Conflict,
    /// Too many requests: 429.
    RateLimit,
    /// No room for it now: 503, 507.
    Capacity,
    /// The server failed: other 5xx.
    Server,
    /// This server has no such function: 501.
    NotSupported,
    /// A command or cell reached its time limit.
    SandboxTimeout,
    /// The sandbox ended while it was in use.
    SandboxGone,
    /// The client's own time limit was reached.
    Timeout,
    /// A stream was cut; what had arrived comes with the error.
    Interrupted,
    /// The caller's signal aborted the call.
    Aborted,
    /// The server could not be reached or did not answer sensibly.
    Network,
    /// The local engine could not be found, started or set up.
    Engine,
    /// A command ended with a non-zero code and `check` was asked for.
    Command,
    /// A template build failed.
    TemplateBuild,
    /// No candidate of an exploration succeeded.
    Explore,
    /// An option is wrong; nothing was sent.
    InvalidOption,
    /// The native part of the package is missing or does not load here.
    Addon,
}

/// Body of every refusal of the local engine. `error` is a string, because every official SDK shows it.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "error.ts", optional_fields))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// For people.
    pub error: String,
    /// For programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
    /// The request, as in the `X-Request-Id` header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// More about a 401.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Output of a command or cell up to its time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// Standard error up to the time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// The rest of what a cell had shown up to its time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<crate::code_context::ExecutionAnswer>,
}
