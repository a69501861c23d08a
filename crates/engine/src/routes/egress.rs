//! `/v1/sandboxes/{id}/egress`.

use axum::Json;
use axum::extract::State;
use pandastack_protocol::egress::{EgressInfo, UpdateEgress};

use super::body::JsonBody;
use super::error::ApiError;
use super::path::SandboxId;
use crate::router::AppState;

/// What a sandbox may reach. Does not wake it.
pub(crate) async fn get(State(state): State<AppState>, id: SandboxId) -> Result<Json<EgressInfo>, ApiError> {
    Ok(Json(state.engine.egress(&id.0).await?))
}

/// Changes it; connections that are no longer allowed are closed. Does not wake the sandbox.
pub(crate) async fn update(
    State(state): State<AppState>,
    id: SandboxId,
    JsonBody(update): JsonBody<UpdateEgress>,
) -> Result<Json<EgressInfo>, ApiError> {
    Ok(Json(state.engine.set_egress(&id.0, update.egress).await?))
}
