//! What a client is told when a request fails.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use pandastack_protocol::error::{ErrorBody, ErrorCode};

use crate::error::EngineError;

/// A refusal: a status and a JSON body whose `error` is a string, which every SDK shows.
#[derive(Debug, Clone)]
pub struct ApiError {
    /// The status.
    pub status: StatusCode,
    /// The body; the request id is filled in where the response leaves.
    pub body: Box<ErrorBody>,
    /// When to try again, in seconds.
    pub retry_after: Option<u32>,
}

impl ApiError {
    /// A refusal with a text and a code.
    pub fn new(status: StatusCode, code: ErrorCode, error: impl Into<String>) -> Self {
        let body = ErrorBody {
            error: error.into(),
            code: Some(code),
            request_id: None,
            detail: None,
            stdout: None,
            stderr: None,
            execution: None,
        };
        Self { status, body: Box::new(body), retry_after: None }
    }

    /// 400.
    pub fn bad_request(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, ErrorCode::BadRequest, error)
    }

    /// 404.
    pub fn not_found(error: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, ErrorCode::NotFound, error)
    }

    /// 413.
    pub fn too_large(error: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::BadRequest, error)
    }

    /// 401.
    pub fn unauthorized(detail: &str) -> Self {
        let mut refusal = Self::new(StatusCode::UNAUTHORIZED, ErrorCode::Auth, "unauthorized");
        refusal.body.detail = Some(detail.to_owned());
        refusal
    }

    /// 504: a command or cell reached its time limit.
    pub fn sandbox_timeout(error: impl Into<String>) -> Self {
        Self::new(StatusCode::GATEWAY_TIMEOUT, ErrorCode::SandboxTimeout, error)
    }

    /// 501.
    pub fn not_supported(what: &str) -> Self {
        EngineError::NotSupported(what.to_owned()).into()
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if status.is_server_error() {
            tracing::warn!(%error, "request failed");
        }
        Self { retry_after: error.retry_after(), ..Self::new(status, error.code(), error.to_string()) }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(&self.body)).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        // The layer that knows the request id writes the body anew.
        response.extensions_mut().insert(*self.body);
        response
    }
}

/// At most 80 characters of what a client sent, for error texts.
pub(crate) fn excerpt(text: &str) -> String {
    let mut short: String =
        text.chars().take(80).map(|letter| if letter.is_control() { '?' } else { letter }).collect();
    if text.chars().nth(80).is_some() {
        short.push('…');
    }
    short
}
