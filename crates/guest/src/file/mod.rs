//! Files, in the same view of the file system that programs have.

mod delete;
mod entry;
mod write;

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream::poll_fn;
use pandastack_guest_protocol::exec::FailureCode;
use tokio::sync::mpsc;

use crate::refusal::Refusal;
pub(crate) use delete::delete;
pub(crate) use entry::{list, stat};
pub(crate) use write::write;

/// Bytes per read; a file that fits is sent in one go.
const CHUNK: usize = 256 << 10;

/// Chunks that wait for the connection.
const CHUNKS: usize = 4;

/// Refuses what is no absolute path.
pub(crate) fn check_path(path: &str) -> Result<(), Refusal> {
    if path.contains('\0') {
        return Err(Refusal::bad_request(format!("the path contains NUL: `{}`", path.escape_debug())));
    }
    if !path.starts_with('/') {
        return Err(Refusal::bad_request(format!("the path must be absolute: `{}`", path.escape_debug())));
    }
    Ok(())
}

/// Runs blocking work on files.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Refusal> + Send + 'static) -> Result<T, Refusal> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Refusal::internal(format!("file operation failed: {error}")))?
}

fn failed(path: &str, error: &io::Error) -> Refusal {
    let shown = path.escape_debug();
    match error.raw_os_error() {
        Some(libc::ENOENT) => Refusal::not_found(format!("no such file or directory: `{shown}`")),
        Some(libc::ENOSPC | libc::EDQUOT) => {
            Refusal::new(FailureCode::Exhausted, format!("the sandbox's disk is full: `{shown}`"))
        }
        _ => Refusal::from_io(&format!("`{shown}`"), error),
    }
}

/// Streams a regular file.
///
/// # Errors
/// If there is none at that path.
pub(crate) async fn read(path: String) -> Result<Response, Refusal> {
    let (file, first) = blocking(move || open(&path)).await?;
    let Some(file) = file else { return Ok(first.into_response()) };
    let (sender, mut receiver) = mpsc::channel(CHUNKS);
    tokio::task::spawn_blocking(move || send_rest(file, first, &sender));
    Ok(Body::from_stream(poll_fn(move |context| receiver.poll_recv(context))).into_response())
}

/// The first bytes, and the file if there may be more.
fn open(path: &str) -> Result<(Option<File>, Bytes), Refusal> {
    check_kind(path, std::fs::metadata(path))?;
    // What is there may change between the two looks: opening a pipe must not wait for a writer.
    let options = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).clone();
    let mut file = options.open(path).map_err(|error| failed(path, &error))?;
    check_kind(path, file.metadata())?;
    let first = read_chunk(&mut file).map_err(|error| failed(path, &error))?;
    let file = (first.len() == CHUNK).then_some(file);
    Ok((file, first))
}

fn check_kind(path: &str, metadata: io::Result<Metadata>) -> Result<(), Refusal> {
    match metadata.map_err(|error| failed(path, &error))?.file_type() {
        kind if kind.is_file() => Ok(()),
        kind => Err(Refusal::conflict(format!("not a regular file but {}: `{}`", name_of(kind), path.escape_debug()))),
    }
}

fn name_of(kind: std::fs::FileType) -> &'static str {
    match kind {
        kind if kind.is_dir() => "a directory",
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

/// Up to [`CHUNK`] bytes; fewer only at the end of the file.
fn read_chunk(file: &mut File) -> io::Result<Bytes> {
    let mut chunk = Vec::new();
    file.take(CHUNK as u64).read_to_end(&mut chunk)?;
    Ok(chunk.into())
}

fn send_rest(mut file: File, first: Bytes, sender: &mpsc::Sender<io::Result<Bytes>>) {
    let mut chunk = Ok(first);
    loop {
        let last = chunk.as_ref().map_or(true, |chunk: &Bytes| chunk.len() < CHUNK);
        if sender.blocking_send(chunk).is_err() || last {
            return;
        }
        chunk = read_chunk(&mut file);
    }
}
