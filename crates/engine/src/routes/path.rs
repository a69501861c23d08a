//! Ids in paths, and paths of files in queries.

use std::collections::HashMap;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use uuid::Uuid;

use super::error::{ApiError, excerpt};

/// Longest path of a file, in bytes: what Linux takes.
const MAX_PATH: usize = 4096;

/// The sandbox a request is about. An id that is no UUID is of no sandbox.
pub(crate) struct SandboxId(pub String);

impl<S: Send + Sync> FromRequestParts<S> for SandboxId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        uuid(parts, state, "sandbox").await.map(Self)
    }
}

/// The snapshot a request is about. An id that is no UUID is of no snapshot.
pub(crate) struct SnapshotId(pub String);

impl<S: Send + Sync> FromRequestParts<S> for SnapshotId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        uuid(parts, state, "snapshot").await.map(Self)
    }
}

async fn uuid<S: Send + Sync>(parts: &mut Parts, state: &S, noun: &str) -> Result<String, ApiError> {
    let id = segment(parts, state, "id").await;
    let is_id = id.len() == 36 && Uuid::try_parse(&id).is_ok();
    if is_id {
        Ok(id.to_ascii_lowercase())
    } else {
        Err(ApiError::not_found(format!("{noun} not found: {}", excerpt(&id))))
    }
}

/// The code context a request is about.
pub(crate) struct ContextId(pub String);

impl<S: Send + Sync> FromRequestParts<S> for ContextId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let id = segment(parts, state, "session").await;
        let is_id = !id.is_empty()
            && id.len() <= 64
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        if is_id { Ok(Self(id)) } else { Err(ApiError::not_found(format!("session not found: {}", excerpt(&id)))) }
    }
}

async fn segment<S: Send + Sync>(parts: &mut Parts, state: &S, name: &str) -> String {
    let segments = Path::<HashMap<String, String>>::from_request_parts(parts, state).await;
    segments.ok().and_then(|Path(mut segments)| segments.remove(name)).unwrap_or_default()
}

/// The `path` of a query, absolute; `/` where a route has that default.
pub(crate) struct FilePath(pub Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for FilePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let query = parts.uri.query().unwrap_or_default();
        let path = url::form_urlencoded::parse(query.as_bytes())
            .find(|(key, _)| key == "path")
            .map(|(_, path)| path.into_owned());
        path.map(check).transpose().map(Self)
    }
}

impl FilePath {
    /// The path, which the route cannot do without.
    pub(crate) fn required(self) -> Result<String, ApiError> {
        self.0.ok_or_else(|| ApiError::bad_request("path required"))
    }
}

fn check(path: String) -> Result<String, ApiError> {
    if path.is_empty() {
        return Err(ApiError::bad_request("path required"));
    }
    if !path.starts_with('/') {
        return Err(ApiError::bad_request(format!("path must be absolute: `{}`", excerpt(&path))));
    }
    if path.contains('\0') {
        return Err(ApiError::bad_request("path must not contain NUL"));
    }
    if path.len() > MAX_PATH {
        return Err(ApiError::bad_request(format!("path too long: {} bytes, {MAX_PATH} are possible", path.len())));
    }
    Ok(path)
}
