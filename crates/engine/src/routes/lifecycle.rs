//! `/v1/sandboxes/{id}/lifecycle`, `…/pause`, `…/resume`, `…/hibernate` and `…/wake`.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use pandastack_protocol::lifecycle::{LifecycleInfo, StatusInfo, UpdateLifecycle};
use pandastack_protocol::sandbox::SandboxStatus;

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

/// Lets a sandbox stand still, 204.
pub(crate) async fn pause(State(state): State<AppState>, id: SandboxId) -> Result<StatusCode, ApiError> {
    state.engine.pause_sandbox(&id.0).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lets it go on, 204.
pub(crate) async fn resume(State(state): State<AppState>, id: SandboxId) -> Result<StatusCode, ApiError> {
    state.engine.resume_sandbox(&id.0).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Stores a sandbox on disk.
pub(crate) async fn hibernate(State(state): State<AppState>, id: SandboxId) -> Result<Json<StatusInfo>, ApiError> {
    state.engine.hibernate_sandbox(&id.0).await?;
    Ok(Json(StatusInfo { status: SandboxStatus::Hibernated }))
}

/// Brings it back.
pub(crate) async fn wake(State(state): State<AppState>, id: SandboxId) -> Result<Json<StatusInfo>, ApiError> {
    state.engine.wake_sandbox(&id.0).await?;
    Ok(Json(StatusInfo { status: SandboxStatus::Running }))
}
