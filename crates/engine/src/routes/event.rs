//! `/v1/sandboxes/{id}/events`.

use std::collections::VecDeque;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use pandastack_protocol::event::{SandboxEvent, SandboxEvents};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::error::{ApiError, excerpt};
use super::output::sse;
use super::path::SandboxId;
use crate::router::AppState;

/// Events that are shown if nobody says how many.
const DEFAULT_TAIL: usize = 50;

/// Time between two signs of life.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// The last `tail` events (default 50; 0 or less: all that are kept), oldest first; with `follow=1` as a stream that goes on.
pub(crate) async fn list(State(state): State<AppState>, id: SandboxId, uri: Uri) -> Result<Response, ApiError> {
    let wanted = Wanted::of(&uri, Some(DEFAULT_TAIL))?;
    if wanted.follow {
        return follow(&state, id, wanted.tail, |event, out| sse::encode("event", event, out)).await;
    }
    Ok(Json(SandboxEvents { events: state.engine.events(&id.0, wanted.tail).await? }).into_response())
}

/// What a query asks for.
pub(super) struct Wanted {
    /// The last how many; `None`: all that are kept.
    pub(super) tail: Option<usize>,
    /// Go on with what happens from now on.
    pub(super) follow: bool,
}

impl Wanted {
    /// Reads `tail` and `follow`.
    pub(super) fn of(uri: &Uri, default_tail: Option<usize>) -> Result<Self, ApiError> {
        let query: Vec<(String, String)> =
            url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect();
        let value = |name: &str| query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let tail = value("tail").map_or(Ok(default_tail), tail_of)?;
        Ok(Self { tail, follow: matches!(value("follow"), Some("1" | "true")) })
    }
}

fn tail_of(text: &str) -> Result<Option<usize>, ApiError> {
    let tail: i64 =
        text.parse().map_err(|_| ApiError::bad_request(format!("tail must be a whole number: `{}`", excerpt(text))))?;
    Ok(usize::try_from(tail).ok().filter(|tail| *tail > 0))
}

/// Writes one event of a stream.
pub(super) type Encode = fn(&SandboxEvent, &mut Vec<u8>);

/// Past events and those that come, as a stream.
pub(super) async fn follow(
    state: &AppState,
    id: SandboxId,
    tail: Option<usize>,
    encode: Encode,
) -> Result<Response, ApiError> {
    let live = state.engine.follow_events();
    let past = state.engine.events(&id.0, tail).await?;
    let headers = [(header::CONTENT_TYPE, sse::CONTENT_TYPE), (header::CACHE_CONTROL, "no-cache")];
    Ok((headers, Body::from_stream(stream(id.0, past, live, encode))).into_response())
}

/// Past events, then those that come. A live event that is already among the past ones is not shown twice.
fn stream(
    id: String,
    past: Vec<SandboxEvent>,
    live: Receiver<SandboxEvent>,
    encode: Encode,
) -> impl futures::Stream<Item = Result<Bytes, std::convert::Infallible>> + Send {
    let mut first = sse::KEEPALIVE.to_vec();
    past.iter().for_each(|event| encode(event, &mut first));
    let state = (id, VecDeque::from(past), live, Some(first));
    futures::stream::unfold(state, move |(id, mut past, mut live, first)| async move {
        if let Some(first) = first {
            return Some((Ok(Bytes::from(first)), (id, past, live, None)));
        }
        let mut out = Vec::new();
        while out.is_empty() {
            match tokio::time::timeout(KEEPALIVE, live.recv()).await {
                Ok(Ok(event)) if event.sandbox_id == id && !past.contains(&event) => {
                    encode(&event, &mut out);
                }
                Ok(Ok(event)) => past.retain(|known| *known != event),
                Ok(Err(RecvError::Lagged(_))) => {}
                Ok(Err(RecvError::Closed)) => return None,
                Err(_) => out.extend_from_slice(sse::KEEPALIVE),
            }
        }
        Some((Ok(Bytes::from(out)), (id, past, live, None)))
    })
}
