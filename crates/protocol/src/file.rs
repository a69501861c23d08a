//! Files: `/v1/sandboxes/{id}/fs`.

use serde::{Deserialize, Serialize};

/// A file or directory.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "file.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInfo {
    /// Last part of the path.
    #[serde(default)]
    pub name: String,
    /// Absolute path; filled in by clients where a server leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// True for a directory, false for a link to one.
    #[serde(default)]
    pub is_dir: bool,
    /// Size in bytes.
    #[serde(default)]
    pub size: u64,
    /// One letter: `f` file, `d` directory, `l` link, `p` pipe, `s` socket.
    #[serde(default)]
    pub mode: String,
    /// Last change, seconds since the Unix epoch.
    #[serde(default)]
    pub mtime: i64,
}

/// Answer of `GET …/fs/dir`.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "file.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileList {
    /// The directory.
    #[serde(default)]
    pub path: String,
    /// Its entries; some servers send null for none.
    #[serde(default)]
    pub entries: Option<Vec<FileInfo>>,
}

/// Answer of `PUT …/fs`.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "file.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileWritten {
    /// The file.
    pub path: String,
    /// Bytes written.
    pub bytes: u64,
}
