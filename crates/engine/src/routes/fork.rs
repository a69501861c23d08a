//! `/v1/sandboxes/{id}/fork`, `…/fork-tree` and `…/promote`.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use pandastack_protocol::fork::{ForkSandbox, ForkedSandboxes, PromoteSandbox, Promotion};

use super::body::JsonBody;
use super::error::ApiError;
use super::path::SandboxId;
use crate::router::AppState;

/// Makes one copy of a sandbox, or `count`, 201.
pub(crate) async fn fork(
    State(state): State<AppState>,
    id: SandboxId,
    JsonBody(request): JsonBody<ForkSandbox>,
) -> Result<(StatusCode, Json<ForkedSandboxes>), ApiError> {
    Ok((StatusCode::CREATED, Json(state.engine.fork_sandbox(&id.0, request, 1).await?)))
}

/// Makes two copies of a sandbox, or `count`, 201.
pub(crate) async fn fork_tree(
    State(state): State<AppState>,
    id: SandboxId,
    JsonBody(request): JsonBody<ForkSandbox>,
) -> Result<(StatusCode, Json<ForkedSandboxes>), ApiError> {
    Ok((StatusCode::CREATED, Json(state.engine.fork_sandbox(&id.0, request, 2).await?)))
}

/// Names the winner of a fork tree.
pub(crate) async fn promote(
    State(state): State<AppState>,
    id: SandboxId,
    JsonBody(request): JsonBody<PromoteSandbox>,
) -> Result<Json<Promotion>, ApiError> {
    Ok(Json(state.engine.promote_sandbox(&id.0, request).await?))
}
