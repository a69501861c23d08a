//! `/v1/me/tokens`.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use pandastack_protocol::token::{CreateToken, CreatedToken, TokenList};

use super::body::JsonBody;
use super::error::{ApiError, excerpt};
use crate::router::AppState;

/// Longest label, in bytes.
const MAX_LABEL: usize = 256;

/// Makes a token; the answer is the only one that holds its secret.
pub(crate) async fn create(
    State(state): State<AppState>,
    JsonBody(request): JsonBody<CreateToken>,
) -> Result<Json<CreatedToken>, ApiError> {
    if let Some(label) = request.label.as_deref().filter(|label| label.len() > MAX_LABEL) {
        return Err(ApiError::bad_request(format!("label too long: `{}`", excerpt(label))));
    }
    Ok(Json(state.engine.create_token(request.label).await?))
}

/// All tokens, without their secrets.
pub(crate) async fn list(State(state): State<AppState>) -> Result<Json<TokenList>, ApiError> {
    Ok(Json(TokenList { items: state.engine.list_tokens().await? }))
}

/// Revokes a token, 204.
pub(crate) async fn revoke(State(state): State<AppState>, Path(prefix): Path<String>) -> Result<StatusCode, ApiError> {
    state.engine.revoke_token(&prefix).await?;
    Ok(StatusCode::NO_CONTENT)
}
