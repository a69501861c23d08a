//! `/v1/sandboxes/{id}/fs`.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::Json;
use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::Stream;
use pandastack_guest_protocol::file::FileEntry;
use pandastack_protocol::file::{FileInfo, FileList, FileWritten};

use super::body::drain;
use super::error::ApiError;
use super::path::{FilePath, SandboxId};
use crate::router::AppState;

/// The bytes of a file.
pub(crate) async fn read(State(state): State<AppState>, id: SandboxId, path: FilePath) -> Result<Response, ApiError> {
    let content = state.engine.guest(&id.0).await?.read_file(&path.required()?).await?;
    let mut headers =
        HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"))]);
    if let Some(length) = content.length {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    Ok((headers, Body::from_stream(content.bytes)).into_response())
}

/// Writes a file from the body as it comes; parents are made.
pub(crate) async fn write(
    State(state): State<AppState>,
    id: SandboxId,
    path: Result<FilePath, ApiError>,
    body: Body,
) -> Result<Json<FileWritten>, ApiError> {
    let mut body = SharedBody(Arc::new(Mutex::new(body.into_data_stream())));
    let written = write_body(&state, &id, path, body.clone()).await;
    if written.is_err() {
        // Clients look for the answer only once they have sent all of the body.
        drain(&mut body).await;
    }
    written
}

async fn write_body(
    state: &AppState,
    id: &SandboxId,
    path: Result<FilePath, ApiError>,
    body: SharedBody,
) -> Result<Json<FileWritten>, ApiError> {
    let path = path?.required()?;
    let written = state.engine.guest(&id.0).await?.write_file(&path, body).await?;
    Ok(Json(FileWritten { path: written.path, bytes: written.bytes }))
}

/// A body of which the rest can still be read after it was given away.
#[derive(Clone)]
struct SharedBody(Arc<Mutex<BodyDataStream>>);

impl Stream for SharedBody {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut body = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Pin::new(&mut *body).poll_next(context)
    }
}

/// Deletes a file or a directory with all in it, 204; also if there is none.
pub(crate) async fn delete(
    State(state): State<AppState>,
    id: SandboxId,
    path: FilePath,
) -> Result<StatusCode, ApiError> {
    state.engine.guest(&id.0).await?.delete_file(&path.required()?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The entries of a directory, `/` if none is named.
pub(crate) async fn list(
    State(state): State<AppState>,
    id: SandboxId,
    path: FilePath,
) -> Result<Json<FileList>, ApiError> {
    let path = path.0.unwrap_or_else(|| "/".to_owned());
    let listed = state.engine.guest(&id.0).await?.list_files(&path).await?;
    Ok(Json(FileList { path: listed.path, entries: Some(listed.entries.into_iter().map(info).collect()) }))
}

/// One file or directory; links are not followed.
pub(crate) async fn stat(
    State(state): State<AppState>,
    id: SandboxId,
    path: FilePath,
) -> Result<Json<FileInfo>, ApiError> {
    Ok(Json(info(state.engine.guest(&id.0).await?.stat_file(&path.required()?).await?)))
}

fn info(entry: FileEntry) -> FileInfo {
    FileInfo {
        name: entry.name,
        path: None,
        is_dir: entry.is_dir,
        size: entry.size,
        mode: entry.mode,
        mtime: entry.mtime,
    }
}
