//! Telling the caller that a call is made again.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pandastack_protocol::error::ErrorCode;
use serde::Serialize;

use crate::error::Error;
use crate::http::request::Request;

/// A call that failed and will be made again after a pause.
#[derive(Debug, Clone, Serialize)]
pub struct Retry {
    /// HTTP method.
    pub method: String,
    /// Path under `/v1`, without its query.
    pub path: String,
    /// How many tries have failed; 1 after the first.
    pub attempt: u32,
    /// Pause before the next try, in milliseconds.
    pub delay_ms: u64,
    /// Why the try failed.
    pub code: ErrorCode,
    /// HTTP status of the answer, if there was one.
    pub status_code: Option<u16>,
    /// What the server said, for people.
    pub message: String,
}

impl Retry {
    pub(crate) fn of(request: &Request, error: &Error, attempt: u32, pause: Duration) -> Self {
        Self {
            method: request.method.to_string(),
            path: request.path(),
            attempt,
            delay_ms: u64::try_from(pause.as_millis()).unwrap_or(u64::MAX),
            code: error.code(),
            status_code: error.status(),
            message: error.message().to_owned(),
        }
    }
}

type Listener = dyn Fn(&Retry) + Send + Sync;

/// Called before every pause. It must not block.
#[derive(Clone, Default)]
pub struct RetryHook(Option<Arc<Listener>>);

impl RetryHook {
    /// A hook that calls `call`.
    pub fn new(call: impl Fn(&Retry) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(call)))
    }

    pub(crate) fn call(&self, retry: &Retry) {
        if let Some(call) = &self.0 {
            call(retry);
        }
    }
}

impl fmt::Debug for RetryHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "RetryHook(set)" } else { "RetryHook(none)" })
    }
}
