//! `/v1/engine`: what only the local engine has, for its own command line.

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use pandastack_protocol::error::ErrorCode;
use serde::Deserialize;

use super::body::JsonBody;
use super::error::ApiError;
use crate::access::Access;
use crate::engine::EngineStatus;
use crate::router::{AppState, Stop};

/// Body of `POST /v1/engine/stop`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct StopRequest {
    /// True: ends all sandboxes too.
    #[serde(default)]
    kill: bool,
}

/// What `pandastack engine status` shows.
pub(crate) async fn status(State(state): State<AppState>) -> Result<Json<EngineStatus>, ApiError> {
    Ok(Json(state.engine.status().await?))
}

/// Stops the engine, 202: it ends once running requests had a moment to end. Only its user may, through the socket.
pub(crate) async fn stop(
    State(state): State<AppState>,
    Extension(access): Extension<Access>,
    JsonBody(request): JsonBody<StopRequest>,
) -> Result<StatusCode, ApiError> {
    if !matches!(access, Access::Socket) {
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            ErrorCode::Auth,
            "the engine is stopped through its socket only",
        ));
    }
    state.stop(Stop { kill: request.kill });
    Ok(StatusCode::ACCEPTED)
}
