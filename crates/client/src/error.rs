//! What can go wrong, with everything that a caller needs to act on it.

use std::fmt;
use std::time::Duration;

use pandastack_protocol::code_context::ExecutionAnswer;
use pandastack_protocol::error::ErrorCode;

/// Result of every call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed call. Boxed, so that a `Result` stays small.
#[derive(Debug)]
pub struct Error(Box<Details>);

/// Output that had arrived before a call failed.
#[derive(Debug, Default)]
pub struct Partial {
    /// Standard output.
    pub stdout: Option<String>,
    /// Standard error.
    pub stderr: Option<String>,
    /// What a cell had shown.
    pub execution: Option<ExecutionAnswer>,
}

/// Fields of an [`Error`].
#[derive(Debug, Default)]
struct Details {
    code: Option<ErrorCode>,
    message: String,
    status: Option<u16>,
    request_id: Option<String>,
    method: Option<String>,
    url: Option<String>,
    retry_after: Option<Duration>,
    body: Option<String>,
    partial: Partial,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error that says `message`.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self(Box::new(Details { code: Some(code), message: message.into(), ..Details::default() }))
    }

    /// An option that makes no sense; nothing was sent.
    pub(crate) fn option(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidOption, message)
    }

    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    pub(crate) fn with_request_id(mut self, request_id: Option<String>) -> Self {
        self.0.request_id = request_id;
        self
    }

    /// `url` without a query: queries may carry paths and tokens.
    pub(crate) fn with_request(mut self, method: &reqwest::Method, url: &url::Url) -> Self {
        let mut shown = url.clone();
        shown.set_query(None);
        let _ = shown.set_username("");
        let _ = shown.set_password(None);
        self.0.method = Some(method.to_string());
        self.0.url = Some(shown.to_string());
        self
    }

    /// Adds what to do about it.
    pub(crate) fn with_advice(mut self, advice: &str) -> Self {
        self.0.message = format!("{}; {advice}", self.0.message);
        self
    }

    pub(crate) fn with_retry_after(mut self, retry_after: Option<Duration>) -> Self {
        self.0.retry_after = retry_after;
        self
    }

    pub(crate) fn with_body(mut self, body: String) -> Self {
        self.0.body = Some(body);
        self
    }

    pub(crate) fn with_partial(mut self, partial: Partial) -> Self {
        self.0.partial = partial;
        self
    }

    pub(crate) fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Box::new(source));
        self
    }

    /// Which kind of failure.
    pub fn code(&self) -> ErrorCode {
        self.0.code.unwrap_or(ErrorCode::Server)
    }

    /// What failed, for people.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// HTTP status, if a server answered.
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// The server's name for the request.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// HTTP method.
    pub fn method(&self) -> Option<&str> {
        self.0.method.as_deref()
    }

    /// Address of the request, without its query.
    pub fn url(&self) -> Option<&str> {
        self.0.url.as_deref()
    }

    /// How long the server asks to wait before the next try.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The answer's body, at most 64 KiB of it.
    pub fn body(&self) -> Option<&str> {
        self.0.body.as_deref()
    }

    /// Output that had arrived.
    pub fn partial(&self) -> &Partial {
        &self.0.partial
    }

    /// Messages of the underlying errors, outermost first.
    pub fn causes(&self) -> Vec<String> {
        let mut causes = Vec::new();
        let mut next = std::error::Error::source(self);
        while let Some(cause) = next {
            causes.push(cause.to_string());
            next = cause.source();
        }
        causes
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}
