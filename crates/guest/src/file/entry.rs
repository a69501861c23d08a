//! What is at a path, and in a directory.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use pandastack_guest_protocol::file::{FileEntry, FileList};

use super::{blocking, failed};
use crate::refusal::Refusal;

/// Describes what is at a path; links are not followed.
///
/// # Errors
/// If there is nothing.
pub(crate) async fn stat(path: String) -> Result<FileEntry, Refusal> {
    blocking(move || {
        let metadata = std::fs::symlink_metadata(&path).map_err(|error| failed(&path, &error))?;
        let name = Path::new(&path).file_name().map_or_else(|| "/".into(), |name| name.to_string_lossy().into_owned());
        Ok(entry(name, &metadata))
    })
    .await
}

/// Lists a directory, by name.
///
/// # Errors
/// If there is none at that path.
pub(crate) async fn list(path: String) -> Result<FileList, Refusal> {
    blocking(move || {
        let mut entries = Vec::new();
        for found in std::fs::read_dir(&path).map_err(|error| failed(&path, &error))? {
            let found = found.map_err(|error| failed(&path, &error))?;
            // Something that was deleted meanwhile is not there any more.
            if let Ok(metadata) = found.metadata() {
                entries.push(entry(found.file_name().to_string_lossy().into_owned(), &metadata));
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(FileList { path, entries })
    })
    .await
}

fn entry(name: String, metadata: &Metadata) -> FileEntry {
    FileEntry {
        name,
        is_dir: metadata.is_dir(),
        size: metadata.len(),
        mode: letter(metadata.file_type()).into(),
        permissions: metadata.mode() & 0o7777,
        mtime: metadata.mtime(),
    }
}

fn letter(kind: std::fs::FileType) -> &'static str {
    match kind {
        kind if kind.is_dir() => "d",
        kind if kind.is_symlink() => "l",
        kind if kind.is_fifo() => "p",
        kind if kind.is_socket() => "s",
        kind if kind.is_block_device() => "b",
        kind if kind.is_char_device() => "c",
        _ => "f",
    }
}
