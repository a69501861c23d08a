//! `/v1/sandboxes`.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use pandastack_protocol::sandbox::{CreateSandbox, SandboxInfo};

use super::body::JsonBody;
use super::error::ApiError;
use super::path::SandboxId;
use crate::router::AppState;

/// Makes a sandbox, 201. A client that goes away meanwhile leaves none behind.
pub(crate) async fn create(
    State(state): State<AppState>,
    JsonBody(request): JsonBody<CreateSandbox>,
) -> Result<(StatusCode, Json<SandboxInfo>), ApiError> {
    if request.volumes.as_ref().is_some_and(|volumes| !volumes.is_empty()) {
        return Err(ApiError::not_supported("volumes"));
    }
    if let Some(ttl) = request.ttl_seconds.filter(|ttl| *ttl < 0) {
        return Err(ApiError::bad_request(format!("ttl_seconds must not be negative: `{ttl}`")));
    }
    Ok((StatusCode::CREATED, Json(state.engine.create_sandbox(request).await?)))
}

/// All sandboxes, newest first.
pub(crate) async fn list(State(state): State<AppState>) -> Result<Json<Vec<SandboxInfo>>, ApiError> {
    Ok(Json(state.engine.list_sandboxes().await?))
}

/// One sandbox.
pub(crate) async fn get(State(state): State<AppState>, id: SandboxId) -> Result<Json<SandboxInfo>, ApiError> {
    Ok(Json(state.engine.sandbox_info(&id.0).await?))
}

/// Ends a sandbox, 204.
pub(crate) async fn delete(State(state): State<AppState>, id: SandboxId) -> Result<StatusCode, ApiError> {
    state.engine.delete_sandbox(&id.0).await?;
    Ok(StatusCode::NO_CONTENT)
}
