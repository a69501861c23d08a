//! What the agent answers when it does not do what it was asked.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use pandastack_guest_protocol::exec::{Failure, FailureCode};

/// A [`Failure`] on its way to the engine.
#[derive(Debug, Clone)]
pub(crate) struct Refusal(pub(crate) Failure);

impl Refusal {
    pub(crate) fn new(code: FailureCode, error: impl Into<String>) -> Self {
        Self(Failure { code, error: error.into() })
    }

    pub(crate) fn bad_request(error: impl Into<String>) -> Self {
        Self::new(FailureCode::BadRequest, error)
    }

    pub(crate) fn not_found(error: impl Into<String>) -> Self {
        Self::new(FailureCode::NotFound, error)
    }

    pub(crate) fn conflict(error: impl Into<String>) -> Self {
        Self::new(FailureCode::Conflict, error)
    }

    pub(crate) fn internal(error: impl Into<String>) -> Self {
        Self::new(FailureCode::Internal, error)
    }

    /// What the operating system said, under the code it stands for.
    pub(crate) fn from_io(what: &str, error: &std::io::Error) -> Self {
        let code = match error.raw_os_error() {
            Some(libc::ENOENT) => FailureCode::NotFound,
            Some(libc::EISDIR | libc::ENOTDIR | libc::EEXIST | libc::ENOTEMPTY | libc::ETXTBSY | libc::EBUSY) => {
                FailureCode::Conflict
            }
            Some(libc::ENOSPC | libc::EDQUOT | libc::ENOMEM | libc::EMFILE | libc::ENFILE | libc::EAGAIN) => {
                FailureCode::Exhausted
            }
            Some(
                libc::EINVAL
                | libc::ENAMETOOLONG
                | libc::ELOOP
                | libc::EACCES
                | libc::EPERM
                | libc::EROFS
                | libc::E2BIG,
            ) => FailureCode::BadRequest,
            _ => FailureCode::Internal,
        };
        Self::new(code, format!("{what}: {}", describe(error)))
    }
}

/// The system's text without `(os error N)`.
pub(crate) fn describe(error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => nix::errno::Errno::from_raw(number).desc().to_string(),
        None => error.to_string(),
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, Json(self.0)).into_response()
    }
}
