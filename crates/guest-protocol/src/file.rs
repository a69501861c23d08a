//! Files.

use serde::{Deserialize, Serialize};

/// One directory entry, and the answer of [`crate::route::FILE_STAT`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Last part of the path.
    pub name: String,
    /// True for a directory; false for a link to one.
    pub is_dir: bool,
    /// Size in bytes.
    pub size: u64,
    /// One letter: `f` file, `d` directory, `l` link, `p` pipe, `s` socket, `b` or `c` device.
    pub mode: String,
    /// Permission bits, for example `0o644`.
    pub permissions: u32,
    /// Last change, seconds since the Unix epoch.
    pub mtime: i64,
}

/// Answer of [`crate::route::FILE_LIST`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileList {
    /// The directory that was listed.
    pub path: String,
    /// Entries by name.
    pub entries: Vec<FileEntry>,
}

/// Answer of `PUT` [`crate::route::FILES`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileWritten {
    /// The file that was written.
    pub path: String,
    /// Bytes written.
    pub bytes: u64,
}
