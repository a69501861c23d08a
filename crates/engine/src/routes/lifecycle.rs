//! `/v1/sandboxes/{id}/lifecycle`.

use axum::Json;
use axum::extract::State;
use pandastack_protocol::lifecycle::{LifecycleInfo, UpdateLifecycle};

use super::body::JsonBody;
use super::error::ApiError;
use super::path::SandboxId;
use crate::router::AppState;

/// How long a sandbox lives.
pub(crate) async fn get(State(state): State<AppState>, id: SandboxId) -> Result<Json<LifecycleInfo>, ApiError> {
    Ok(Json(state.engine.lifecycle(&id.0).await?))
}

/// Changes it; what is left out stays.
pub(crate) async fn update(
    State(state): State<AppState>,
    id: SandboxId,
    JsonBody(update): JsonBody<UpdateLifecycle>,
) -> Result<Json<LifecycleInfo>, ApiError> {
    if let Some(ttl) = update.ttl_seconds.filter(|ttl| *ttl < 0) {
        return Err(ApiError::bad_request(format!("ttl_seconds must not be negative: `{ttl}`")));
    }
    Ok(Json(state.engine.update_lifecycle(&id.0, update).await?))
}
