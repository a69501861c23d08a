//! Writing: into a new file beside the old one, which it replaces when complete.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use axum::body::Body;
use bytes::Bytes;
use futures::StreamExt;
use pandastack_guest_protocol::file::FileWritten;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{blocking, failed};
use crate::refusal::Refusal;

/// Chunks between the connection and the disk.
const CHUNKS: usize = 16;

/// Longest chain of links that is followed.
const MAX_LINKS: usize = 40;

/// What a writer is sent. A channel that closes without `Complete` was cut.
enum Piece {
    Bytes(Bytes),
    Complete,
}

/// Replaces or makes a file with the bytes of a body. Parents are made, links followed, mode and owner kept.
///
/// # Errors
/// If something else than a file is there, the disk is full, or the body is cut: then the old file stays as it is.
pub(crate) async fn write(path: String, body: Body) -> Result<FileWritten, Refusal> {
    let (sender, receiver) = mpsc::channel(CHUNKS);
    let writer = tokio::spawn(blocking(move || write_pieces(&path, receiver)));
    let cut = forward(body, sender).await.err();
    let outcome = writer.await.map_err(|error| Refusal::internal(format!("file operation failed: {error}")))?;
    match (outcome, cut) {
        // The cause, not its effect.
        (Err(_), Some(cut)) => Err(cut),
        (outcome, _) => outcome,
    }
}

async fn forward(body: Body, sender: mpsc::Sender<Piece>) -> Result<(), Refusal> {
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| Refusal::bad_request(format!("the body cannot be read: {error}")))?;
        if sender.send(Piece::Bytes(chunk)).await.is_err() {
            return Ok(());
        }
    }
    let _ = sender.send(Piece::Complete).await;
    Ok(())
}

fn write_pieces(path: &str, mut pieces: mpsc::Receiver<Piece>) -> Result<FileWritten, Refusal> {
    let mut replacement = Replacement::begin(path)?;
    let mut bytes = 0;
    loop {
        match pieces.blocking_recv() {
            Some(Piece::Bytes(chunk)) => {
                replacement.file.write_all(&chunk).map_err(|error| failed(path, &error))?;
                bytes += chunk.len() as u64;
            }
            Some(Piece::Complete) => break,
            None => return Err(Refusal::bad_request("the body was cut")),
        }
    }
    replacement.commit().map_err(|error| failed(path, &error))?;
    Ok(FileWritten { path: path.to_string(), bytes })
}

/// A file that is being written; deleted again unless it is committed.
struct Replacement {
    file: File,
    temporary: PathBuf,
    target: PathBuf,
    /// What is replaced.
    existing: Option<Metadata>,
}

impl Replacement {
    fn begin(path: &str) -> Result<Self, Refusal> {
        let target = follow_links(Path::new(path)).map_err(|error| failed(path, &error))?;
        let existing = std::fs::symlink_metadata(&target).ok();
        if path.ends_with('/') || existing.as_ref().is_some_and(|existing| !existing.is_file()) {
            return Err(Refusal::conflict(format!("something that is not a file is there: `{}`", path.escape_debug())));
        }
        let parent = target.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(parent).map_err(|error| failed(path, &error))?;
        let temporary = parent.join(format!(".pandastack-{}", Uuid::new_v4().simple()));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o644)
            .open(&temporary)
            .map_err(|error| failed(path, &error))?;
        Ok(Self { file, temporary, target, existing })
    }

    fn commit(self) -> io::Result<()> {
        if let Some(existing) = &self.existing {
            fchown(&self.file, Some(existing.uid()), Some(existing.gid()))?;
            // Last: writing and chown clear the set-id bits.
            self.file.set_permissions(Permissions::from_mode(existing.mode() & 0o7777))?;
        }
        std::fs::rename(&self.temporary, &self.target)
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        // After a commit there is nothing of that name.
        let _ = std::fs::remove_file(&self.temporary);
    }
}

/// The path behind a chain of links; the last may point to nothing yet.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match std::fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("/")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
}
