//! `/v1/sandboxes/{id}/logs`: what happened to a sandbox, as lines for people. There is no console behind it: what programs print comes with
//! their commands and cells.

use axum::extract::State;
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use pandastack_protocol::event::SandboxEvent;
use serde_json::json;

use super::error::ApiError;
use super::event::{Wanted, follow};
use super::output::sse;
use super::path::SandboxId;
use crate::router::AppState;

/// Plain text, one event a line; with `follow=1` a stream of `{"line": …}` that goes on. `tail` as for events; default: all that are kept.
pub(crate) async fn show(State(state): State<AppState>, id: SandboxId, uri: Uri) -> Result<Response, ApiError> {
    let wanted = Wanted::of(&uri, None)?;
    if wanted.follow {
        let encode = |event: &SandboxEvent, out: &mut Vec<u8>| sse::encode("line", &json!({"line": line(event)}), out);
        return follow(&state, id, wanted.tail, encode).await;
    }
    let text: String = state.engine.events(&id.0, wanted.tail).await?.iter().map(line).collect();
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}

/// Time, kind and details of an event. Details are JSON, so nothing in them can begin a line of its own.
fn line(event: &SandboxEvent) -> String {
    match &event.payload {
        Some(payload) => format!("{} {} {payload}\n", event.time, event.kind),
        None => format!("{} {}\n", event.time, event.kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_whatever_is_in_it() {
        let event = SandboxEvent {
            time: "2026-01-01T00:00:00.000Z".to_owned(),
            sandbox_id: "id".to_owned(),
            kind: "egress.denied".to_owned(),
            payload: Some(json!({"host": "a\nb"})),
            ..SandboxEvent::default()
        };
        assert_eq!(line(&event), "2026-01-01T00:00:00.000Z egress.denied {\"host\":\"a\\nb\"}\n");
        assert_eq!(line(&SandboxEvent { payload: None, ..event }), "2026-01-01T00:00:00.000Z egress.denied\n");
    }
}
