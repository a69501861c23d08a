//! `/v1/templates`.

use axum::Json;
use axum::extract::{Path, State};
use pandastack_protocol::template::TemplateInfo;

use super::error::ApiError;
use crate::router::AppState;

/// All templates.
pub(crate) async fn list(State(state): State<AppState>) -> Result<Json<Vec<TemplateInfo>>, ApiError> {
    Ok(Json(state.engine.templates().await?))
}

/// One template, by name or alias.
pub(crate) async fn get(
    State(state): State<AppState>,
    Path(name): Path<String>,
) -> Result<Json<TemplateInfo>, ApiError> {
    Ok(Json(state.engine.template(&name).await?))
}
