//! What is done for every request: an id, a line in the log, a count.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::Json;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use pandastack_protocol::error::{ErrorBody, ErrorCode};

use crate::router::AppState;
use crate::routes::error::ApiError;
use crate::usage::InUse;

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longest id that is taken over from a client, in characters.
const MAX_ID: usize = 64;

/// The outermost layer. The query is not logged: it may hold a key.
pub(crate) async fn track(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let in_use = state.usage.begin();
    let id = request_id(request.headers());
    let (method, path, start) = (request.method().clone(), request.uri().path().to_owned(), Instant::now());
    let mut response = finish(next.run(request).await, &id);
    if let Ok(value) = HeaderValue::try_from(&id) {
        response.headers_mut().insert(REQUEST_ID.clone(), value);
    }
    let ms = start.elapsed().as_millis();
    tracing::debug!(%method, path, status = response.status().as_u16(), ms, request_id = id, "request");
    response.map(|body| Body::new(HeldBody { body, _in_use: in_use }))
}

/// The client's id, if it is short and harmless, else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let sent = headers.get(&REQUEST_ID).and_then(|value| value.to_str().ok()).filter(|id| is_harmless(id));
    sent.map_or_else(|| format!("{:016x}", fastrand::u64(..)), str::to_owned)
}

fn is_harmless(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= MAX_ID
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':'))
}

/// Every refusal has a JSON body with the request's id, also those that the HTTP library makes.
fn finish(mut response: Response, id: &str) -> Response {
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    let body = response.extensions_mut().remove::<ErrorBody>();
    let body = body.unwrap_or_else(|| {
        *ApiError::new(status, ErrorCode::BadRequest, status.canonical_reason().unwrap_or("refused").to_lowercase())
            .body
    });
    let json = Json(ErrorBody { request_id: Some(id.to_owned()), ..body });
    let mut finished = (status, json).into_response();
    for (name, value) in response.headers() {
        if !matches!(name.as_str(), "content-type" | "content-length") {
            finished.headers_mut().append(name, value.clone());
        }
    }
    finished
}

/// A body that counts as use of the engine until it has ended. Its length stays known.
struct HeldBody {
    body: Body,
    _in_use: InUse,
}

impl HttpBody for HeldBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_ids_are_echoed() {
        let id = |value: &str| {
            request_id(&HeaderMap::from_iter([(REQUEST_ID.clone(), HeaderValue::from_str(value).unwrap())]))
        };
        assert_eq!(id("abc-1_2.3:4"), "abc-1_2.3:4");
        for bad in ["", "a b", "a,b", "<x>", "x".repeat(65).as_str()] {
            let new = id(bad);
            assert!(new != bad && new.len() == 16, "{bad}");
        }
    }
}
