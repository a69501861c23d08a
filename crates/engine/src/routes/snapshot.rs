//! `/v1/sandboxes/{id}/snapshots` and `/v1/snapshots`.

use axum::Json;
use axum::extract::{OriginalUri, State};
use axum::http::StatusCode;
use pandastack_protocol::snapshot::{SnapshotInfo, SnapshotList};

use super::error::ApiError;
use super::path::{SandboxId, SnapshotId};
use crate::router::AppState;

/// Takes a snapshot, 201. The sandbox goes on.
pub(crate) async fn create(
    State(state): State<AppState>,
    id: SandboxId,
) -> Result<(StatusCode, Json<SnapshotInfo>), ApiError> {
    Ok((StatusCode::CREATED, Json(state.engine.create_snapshot(&id.0).await?)))
}

/// All snapshots of a sandbox, newest first.
pub(crate) async fn list_of_one(State(state): State<AppState>, id: SandboxId) -> Result<Json<SnapshotList>, ApiError> {
    Ok(Json(SnapshotList { snapshots: state.engine.snapshots(Some(&id.0)).await? }))
}

/// All snapshots, newest first; only those of one sandbox if the query has a `sandbox_id`.
pub(crate) async fn list(
    State(state): State<AppState>,
    OriginalUri(uri): OriginalUri,
) -> Result<Json<SnapshotList>, ApiError> {
    let query = url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let sandbox_id = query.into_iter().find(|(key, value)| key == "sandbox_id" && !value.is_empty());
    let sandbox_id = sandbox_id.map(|(_, value)| value.to_ascii_lowercase());
    Ok(Json(SnapshotList { snapshots: state.engine.snapshots(sandbox_id.as_deref()).await? }))
}

/// One snapshot.
pub(crate) async fn get(State(state): State<AppState>, id: SnapshotId) -> Result<Json<SnapshotInfo>, ApiError> {
    Ok(Json(state.engine.snapshot(&id.0).await?))
}

/// Deletes a snapshot, 204.
pub(crate) async fn delete(State(state): State<AppState>, id: SnapshotId) -> Result<StatusCode, ApiError> {
    state.engine.delete_snapshot(&id.0).await?;
    Ok(StatusCode::NO_CONTENT)
}
