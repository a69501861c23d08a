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
    let query: Vec<(String, String)> =
        url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect();
    let value = |name: &str| query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let tail = tail_of(value("tail"))?;
    if !matches!(value("follow"), Some("1" | "true")) {
        return Ok(Json(SandboxEvents { events: state.engine.events(&id.0, tail).await? }).into_response());
    }
    let live = state.engine.follow_events();
    let past = state.engine.events(&id.0, tail).await?;
    let headers = [(header::CONTENT_TYPE, sse::CONTENT_TYPE), (header::CACHE_CONTROL, "no-cache")];
    Ok((headers, Body::from_stream(stream(id.0, past, live))).into_response())
}

fn tail_of(text: Option<&str>) -> Result<Option<usize>, ApiError> {
    let Some(text) = text else { return Ok(Some(DEFAULT_TAIL)) };
    let tail: i64 =
        text.parse().map_err(|_| ApiError::bad_request(format!("tail must be a whole number: `{}`", excerpt(text))))?;
    Ok(usize::try_from(tail).ok().filter(|tail| *tail > 0))
}

/// Past events, then those that come. A live event that is already among the past ones is not shown twice.
fn stream(
    id: String,
    past: Vec<SandboxEvent>,
    live: Receiver<SandboxEvent>,
) -> impl futures::Stream<Item = Result<Bytes, std::convert::Infallible>> + Send {
    let mut first = sse::KEEPALIVE.to_vec();
    past.iter().for_each(|event| sse::encode("event", event, &mut first));
    let state = (id, VecDeque::from(past), live, Some(first));
    futures::stream::unfold(state, |(id, mut past, mut live, first)| async move {
        if let Some(first) = first {
            return Some((Ok(Bytes::from(first)), (id, past, live, None)));
        }
        let mut out = Vec::new();
        while out.is_empty() {
            match tokio::time::timeout(KEEPALIVE, live.recv()).await {
                Ok(Ok(event)) if event.sandbox_id == id && !past.contains(&event) => {
                    sse::encode("event", &event, &mut out);
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
