//! Everything that can go wrong in the engine, and what a client is told about it.

use std::path::PathBuf;

use pandastack_guest_protocol::exec::{Failure, FailureCode};
use pandastack_protocol::error::ErrorCode;
use thiserror::Error;

use crate::runsc::RunscError;
use crate::template::TemplateError;

/// Seconds after which a caller who was refused for want of disk space may try again.
const RETRY_AFTER_FULL_DISK: u32 = 30;

/// Why the engine could not do what it was asked. The text is for people and holds no secret.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The request makes no sense: 400.
    #[error("{0}")]
    BadRequest(String),
    /// No such thing, for example `sandbox not found: ID`: 404.
    #[error("{0}")]
    NotFound(String),
    /// The name is taken or the state forbids it: 409.
    #[error("{0}")]
    Conflict(String),
    /// The body is longer than the engine takes: 413.
    #[error("{0}")]
    TooLarge(String),
    /// The engine has no such function: 501.
    #[error("not supported by the local engine: {0}")]
    NotSupported(String),
    /// No room for it now: 503 with `Retry-After`.
    #[error("{message}")]
    Capacity {
        /// What there is no room for.
        message: String,
        /// When to try again, in seconds.
        retry_after: u32,
    },
    /// The sandbox ended before or while it was used: 410.
    #[error("sandbox is gone: {id}: {reason}")]
    SandboxGone {
        /// The sandbox.
        id: String,
        /// Why it ended.
        reason: String,
    },
    /// The guest agent refused.
    #[error("{}", .0.error)]
    Guest(Failure),
    /// `runsc` failed: 500, or 503 because the disk is full.
    #[error(transparent)]
    Runsc(#[from] RunscError),
    /// The template is unknown (404), has an impossible name (400), or cannot be used (500).
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The engine's database failed: 500, or 503 because the disk is full.
    #[error("store: {0}")]
    Store(#[from] rusqlite::Error),
    /// Another engine serves this home.
    #[error("engine already running: `{}`", .0.display())]
    AlreadyRunning(PathBuf),
    /// Anything else: 500.
    #[error("{0}")]
    Internal(String),
}

impl EngineError {
    /// `sandbox not found: ID`.
    pub fn sandbox_not_found(id: &str) -> Self {
        Self::NotFound(format!("sandbox not found: {id}"))
    }

    /// The disk is too full for `what`.
    pub(crate) fn disk_full(what: &str) -> Self {
        Self::Capacity { message: format!("not enough disk space for {what}"), retry_after: RETRY_AFTER_FULL_DISK }
    }

    fn is_disk_full(&self) -> bool {
        match self {
            Self::Store(error) => error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
            Self::Runsc(error) => error.is_disk_full(),
            _ => false,
        }
    }

    /// The HTTP status that tells it.
    pub fn status(&self) -> u16 {
        match self {
            Self::BadRequest(_) | Self::Template(TemplateError::Name(_)) => 400,
            Self::NotFound(_) | Self::Template(TemplateError::Unknown(_)) => 404,
            Self::Conflict(_) | Self::AlreadyRunning(_) => 409,
            Self::SandboxGone { .. } => 410,
            Self::TooLarge(_) => 413,
            Self::NotSupported(_) => 501,
            Self::Capacity { .. } => 503,
            _ if self.is_disk_full() => 503,
            Self::Guest(failure) => failure.code.status(),
            Self::Runsc(_) | Self::Template(_) | Self::Store(_) | Self::Internal(_) => 500,
        }
    }

    /// The code that tells it to programs.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::BadRequest(_) | Self::TooLarge(_) | Self::Template(TemplateError::Name(_)) => ErrorCode::BadRequest,
            Self::NotFound(_) | Self::Template(TemplateError::Unknown(_)) => ErrorCode::NotFound,
            Self::Conflict(_) => ErrorCode::Conflict,
            Self::SandboxGone { .. } => ErrorCode::SandboxGone,
            Self::NotSupported(_) => ErrorCode::NotSupported,
            Self::Capacity { .. } => ErrorCode::Capacity,
            _ if self.is_disk_full() => ErrorCode::Capacity,
            Self::AlreadyRunning(_) => ErrorCode::Engine,
            Self::Guest(failure) => guest_code(failure.code),
            Self::Runsc(_) | Self::Template(_) | Self::Store(_) | Self::Internal(_) => ErrorCode::Server,
        }
    }

    /// When to try again, in seconds: the `Retry-After` header.
    pub fn retry_after(&self) -> Option<u32> {
        match self {
            Self::Capacity { retry_after, .. } => Some(*retry_after),
            _ if self.is_disk_full() => Some(RETRY_AFTER_FULL_DISK),
            _ => None,
        }
    }
}

/// A limit of the sandbox is no capacity refusal of the engine: trying again does not help, and so it is a plain server error.
fn guest_code(code: FailureCode) -> ErrorCode {
    match code {
        FailureCode::BadRequest => ErrorCode::BadRequest,
        FailureCode::NotFound => ErrorCode::NotFound,
        FailureCode::Conflict => ErrorCode::Conflict,
        FailureCode::Exhausted | FailureCode::KernelDied | FailureCode::Internal => ErrorCode::Server,
    }
}
