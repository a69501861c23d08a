//! Reading answers: bodies within limits, and every refusal turned into an [`Error`] in one place.

use std::time::Duration;

use bytes::Bytes;
use pandastack_protocol::error::ErrorCode;
use reqwest::{Response, StatusCode, header};
use serde_json::Value;

use crate::error::{Error, Partial, Result};

/// Most bytes of an answer that is read as a whole.
pub(crate) const MAX_BODY: usize = 512 << 20;

/// Most bytes of a refusal: it may carry the output of a command up to its time limit.
const MAX_REFUSAL: usize = 128 << 20;

/// Most bytes of a refusal that an error keeps as its body.
const KEPT_BODY: usize = 64 << 10;

/// Most characters of a refusal without JSON that become the message.
const KEPT_MESSAGE: usize = 500;

/// Reads at most `limit` bytes.
pub(crate) async fn read(mut response: Response, limit: usize) -> Result<Bytes> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(cut)? {
        if body.len() + chunk.len() > limit {
            return Err(Error::new(ErrorCode::Network, format!("the answer is larger than {limit} bytes")));
        }
        if body.is_empty() && response.content_length() == Some(chunk.len() as u64) {
            return Ok(chunk);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.into())
}

/// An answer that ended before its end.
pub(crate) fn cut(error: reqwest::Error) -> Error {
    Error::new(ErrorCode::Network, "the connection was lost while the answer arrived").with_source(error.without_url())
}

/// A 2xx whose body is not what the protocol says.
pub(crate) fn not_json(body: &[u8]) -> Error {
    let message = match body.is_empty() {
        true => "the server sent no answer where one was due".to_owned(),
        false => format!("the server's answer cannot be understood: `{}`", shortened(body, 100)),
    };
    Error::new(ErrorCode::Network, message).with_body(shortened(body, KEPT_BODY))
}

/// The server's name for a request; some proxies send the header twice.
pub(crate) fn request_id(headers: &header::HeaderMap) -> Option<String> {
    let text = headers.get("x-request-id")?.to_str().ok()?;
    text.split(',').next().map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned)
}

/// What an answer with a status other than 2xx means.
pub(crate) async fn refusal(response: Response, runs_code: bool) -> Error {
    let status = response.status();
    let headers = response.headers().clone();
    let body = read(response, MAX_REFUSAL).await.unwrap_or_default();
    let json: Option<Value> = serde_json::from_slice(&body).ok();
    let parts = Parts::of(json.as_ref());
    let retry_after = retry_after(&headers).or(parts.retry_after);
    let message = parts.message.clone().unwrap_or_else(|| without_json(status, &body));
    Error::new(code(status, &parts, retry_after, runs_code), message)
        .with_status(status.as_u16())
        .with_request_id(parts.request_id.or_else(|| request_id(&headers)))
        .with_retry_after(retry_after)
        .with_body(shortened(&body, KEPT_BODY))
        .with_partial(partial(json))
}

/// True if a refusal's body is a JSON object with a string `error`, as only a server of ours sends it.
pub(crate) fn is_spoken(error: &Error) -> bool {
    let body: Option<Value> = error.body().and_then(|body| serde_json::from_str(body).ok());
    body.is_some_and(|body| body["error"].as_str().is_some_and(|text| !text.trim().is_empty()))
}

/// What a JSON refusal says, in either of its two shapes.
#[derive(Default)]
struct Parts {
    message: Option<String>,
    code: Option<ErrorCode>,
    request_id: Option<String>,
    retry_after: Option<Duration>,
    is_flat: bool,
}

impl Parts {
    fn of(body: Option<&Value>) -> Self {
        let Some(body) = body.filter(|body| body.is_object()) else { return Self::default() };
        let nested = &body["error"];
        let source = if nested.is_object() { nested } else { body };
        let text = |key: &str| source[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        Self {
            message: text("error").or_else(|| text("message")).or_else(|| text("detail")),
            code: serde_json::from_value(source["code"].clone()).ok(),
            request_id: text("request_id"),
            retry_after: source["details"]["retry_after_sec"].as_f64().and_then(seconds),
            is_flat: nested.is_string(),
        }
    }
}

fn code(status: StatusCode, parts: &Parts, retry_after: Option<Duration>, runs_code: bool) -> ErrorCode {
    if let Some(code) = parts.code {
        return code;
    }
    if runs_code
        && status.is_server_error()
        && parts.is_flat
        && speaks_of_timeout(parts.message.as_deref().unwrap_or(""))
    {
        return ErrorCode::SandboxTimeout;
    }
    match status.as_u16() {
        401 | 403 => ErrorCode::Auth,
        404 => ErrorCode::NotFound,
        409 => ErrorCode::Conflict,
        429 => ErrorCode::RateLimit,
        400..=499 => ErrorCode::BadRequest,
        501 => ErrorCode::NotSupported,
        507 => ErrorCode::Capacity,
        503 if retry_after.is_some() => ErrorCode::Capacity,
        500..=599 => ErrorCode::Server,
        _ => ErrorCode::Network,
    }
}

/// True for a server's word on a command's own time limit; a proxy's `gateway timeout` is none.
pub(crate) fn speaks_of_timeout(message: &str) -> bool {
    let message = message.to_lowercase();
    let names_it = message.contains("timeout") || message.contains("deadline exceeded");
    names_it && !message.contains("i/o timeout") && !message.contains("gateway timeout")
}

fn without_json(status: StatusCode, body: &[u8]) -> String {
    let text = shortened(body, KEPT_MESSAGE);
    let text = text.trim();
    match status.as_u16() {
        404 if text == "404 page not found" => "not supported by this server".to_owned(),
        _ if text.is_empty() || text.starts_with('<') => format!("PandaStack API returned HTTP {}", status.as_u16()),
        _ => text.to_owned(),
    }
}

fn partial(body: Option<Value>) -> Partial {
    let Some(Value::Object(mut body)) = body else { return Partial::default() };
    let mut text = |key: &str| body.get_mut(key).map(Value::take).and_then(|value| value.as_str().map(str::to_owned));
    let (stdout, stderr) = (text("stdout"), text("stderr"));
    let execution = body.remove("execution").and_then(|value| serde_json::from_value(value).ok());
    Partial { stdout, stderr, execution }
}

fn retry_after(headers: &header::HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    text.parse().ok().and_then(seconds)
}

fn seconds(value: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(value.max(0.0)).ok()
}

fn shortened(body: &[u8], limit: usize) -> String {
    String::from_utf8_lossy(&body[..body.len().min(limit)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(status: u16, body: &str, runs_code: bool) -> Error {
        let json: Option<Value> = serde_json::from_str(body).ok();
        let parts = Parts::of(json.as_ref());
        let status = StatusCode::from_u16(status).unwrap();
        let message = parts.message.clone().unwrap_or_else(|| without_json(status, body.as_bytes()));
        Error::new(code(status, &parts, None, runs_code), message).with_partial(partial(json))
    }

    #[test]
    fn both_shapes_of_refusal_are_understood() {
        let flat = error(404, r#"{"error":"sandbox not found: x","request_id":"r"}"#, false);
        assert_eq!((flat.code(), flat.message()), (ErrorCode::NotFound, "sandbox not found: x"));
        let nested = error(400, r#"{"error":{"code":"request.invalid","message":"no","request_id":"r"}}"#, false);
        assert_eq!((nested.code(), nested.message()), (ErrorCode::BadRequest, "no"));
        let known = error(500, r#"{"error":"gone","code":"sandbox_gone"}"#, false);
        assert_eq!(known.code(), ErrorCode::SandboxGone);
    }

    #[test]
    fn text_and_pages_become_short_messages() {
        assert_eq!(error(502, "upstream down", false).message(), "upstream down");
        assert_eq!(error(502, "<html>", false).message(), "PandaStack API returned HTTP 502");
        assert_eq!(error(404, "404 page not found\n", false).message(), "not supported by this server");
        assert_eq!(error(500, "[1]", false).message(), "[1]");
    }

    #[test]
    fn a_timeout_is_the_commands_only_if_our_server_says_so() {
        assert_eq!(error(504, r#"{"error":"command timeout after 1s"}"#, true).code(), ErrorCode::SandboxTimeout);
        assert_eq!(error(500, r#"{"error":"context deadline exceeded"}"#, true).code(), ErrorCode::SandboxTimeout);
        assert_eq!(error(504, "gateway timeout", true).code(), ErrorCode::Server);
        assert_eq!(error(500, r#"{"error":"read: i/o timeout"}"#, true).code(), ErrorCode::Server);
        assert_eq!(error(504, r#"{"error":"command timeout after 1s"}"#, false).code(), ErrorCode::Server);
    }

    #[test]
    fn output_up_to_the_limit_is_kept() {
        let error = error(
            504,
            r#"{"error":"command timeout after 1s","code":"sandbox_timeout","stdout":"a","stderr":"b"}"#,
            true,
        );
        assert_eq!((error.partial().stdout.as_deref(), error.partial().stderr.as_deref()), (Some("a"), Some("b")));
    }

    #[test]
    fn a_doubled_request_id_is_cut_at_the_comma() {
        let mut headers = header::HeaderMap::new();
        headers.insert("x-request-id", "a, b".parse().unwrap());
        assert_eq!(request_id(&headers).as_deref(), Some("a"));
    }
}
