//! Files of a sandbox: as a whole or as streams, always as bytes.

use std::time::Duration;

use bytes::Bytes;
use pandastack_protocol::error::ErrorCode;
use pandastack_protocol::file::{FileInfo, FileList, FileWritten};

use crate::error::{Error, Result};
use crate::http::request::{Body, Limit, Request, Rule};
use crate::http::{Client, answer};
use crate::upload::Upload;

/// The slowest transfer that is waited for.
const SLOWEST_BYTES_PER_SECOND: u64 = 256 << 10;

const BYTES: &str = "application/octet-stream";

/// A file that is being read.
pub struct FileDownload {
    response: reqwest::Response,
    patience: Duration,
}

impl FileDownload {
    /// The next piece. None: all has arrived.
    ///
    /// # Errors
    /// `interrupted` if the connection is lost, `timeout` if nothing arrives for as long as the client's time limit.
    pub async fn next_chunk(&mut self) -> Result<Option<Bytes>> {
        let chunk = tokio::time::timeout(self.patience, self.response.chunk()).await.map_err(|_| {
            Error::new(ErrorCode::Timeout, format!("nothing arrived for {} ms", self.patience.as_millis()))
        })?;
        chunk.map_err(|error| {
            Error::new(ErrorCode::Interrupted, "the connection was lost during the download")
                .with_source(error.without_url())
        })
    }
}

/// A file that is being written piece by piece. Dropped before [`Upload::finish`], it breaks the write off.
pub type FileUpload = Upload<FileWritten>;

impl Client {
    /// Reads a whole file.
    ///
    /// # Errors
    /// `not_found` if there is no such file.
    pub async fn read_file(&self, sandbox: &str, path: &str) -> Result<Vec<u8>> {
        let mut download = self.download_file(sandbox, path).await?;
        let mut bytes = Vec::new();
        while let Some(chunk) = download.next_chunk().await? {
            if bytes.len() + chunk.len() > answer::MAX_BODY {
                let message =
                    format!("the file is larger than {} bytes: `{path}`; read it as a stream", answer::MAX_BODY);
                return Err(Error::new(ErrorCode::BadRequest, message));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// `not_found` if there is no such file.
    pub async fn download_file(&self, sandbox: &str, path: &str) -> Result<FileDownload> {
        let request = file(Request::get(&["sandboxes", sandbox, "fs"]), path)?.accept(BYTES).rule(Rule::WarmUp);
        let response = self.send(request).await.map_err(|error| missing_file(error, path))?;
        Ok(FileDownload { response, patience: self.patience() })
    }

    /// Writes a file, replacing it; parents are made.
    ///
    /// # Errors
    /// `bad_request` if the path is not absolute or the file too large for the server.
    pub async fn write_file(&self, sandbox: &str, path: &str, bytes: Bytes) -> Result<FileWritten> {
        let transfer = Duration::from_secs(bytes.len() as u64 / SLOWEST_BYTES_PER_SECOND);
        let request = file(Request::put(&["sandboxes", sandbox, "fs"]), path)?.rule(Rule::WarmUp);
        let limit = Limit::AtLeast(self.config().timeout + transfer);
        self.json(request.body(Body::Bytes(bytes, BYTES.to_owned())).limit(limit)).await
    }

    /// Starts to write a file piece by piece. Must be called inside a Tokio runtime.
    ///
    /// # Errors
    /// `invalid_option` for a path that is not absolute; what the server says comes with [`Upload::finish`].
    pub fn upload_file(&self, sandbox: &str, path: &str) -> Result<FileUpload> {
        let request = file(Request::put(&["sandboxes", sandbox, "fs"]), path)?;
        Ok(self.upload(request, BYTES.to_owned(), |client, request, response| async move {
            client.streamed_json(&request, response).await
        }))
    }

    /// Removes a file, or a directory with all in it. No error if there is none.
    ///
    /// # Errors
    /// `not_found` for an unknown sandbox.
    pub async fn remove_file(&self, sandbox: &str, path: &str) -> Result<()> {
        self.empty(file(Request::delete(&["sandboxes", sandbox, "fs"]), path)?).await
    }

    /// Entries of a directory.
    ///
    /// # Errors
    /// `not_found` if there is no such directory.
    pub async fn list_files(&self, sandbox: &str, path: &str) -> Result<Vec<FileInfo>> {
        let request = file(Request::get(&["sandboxes", sandbox, "fs", "dir"]), path)?.rule(Rule::WarmUp);
        let list: FileList = self.json(request).await.map_err(|error| missing_file(error, path))?;
        let mut entries = list.entries.unwrap_or_default();
        for entry in &mut entries {
            if entry.path.is_none() {
                entry.path = Some(format!("{}/{}", path.trim_end_matches('/'), entry.name));
            }
        }
        Ok(entries)
    }

    /// One file or directory.
    ///
    /// # Errors
    /// `not_found` if there is none.
    pub async fn stat_file(&self, sandbox: &str, path: &str) -> Result<FileInfo> {
        let request = file(Request::get(&["sandboxes", sandbox, "fs", "stat"]), path)?.rule(Rule::WarmUp);
        let mut info: FileInfo = self.json(request).await?;
        info.path = Some(path.to_owned());
        if info.name.is_empty() {
            info.name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
        }
        Ok(info)
    }
}

fn file(request: Request, path: &str) -> Result<Request> {
    if !path.starts_with('/') || path.contains('\0') {
        return Err(Error::option(format!("a path in a sandbox must be absolute: `{path}`")));
    }
    Ok(request.query("path", path))
}

/// Some servers answer 500 for a file that is not there.
fn missing_file(error: Error, path: &str) -> Error {
    let missing = error.status() == Some(500) && error.message().to_lowercase().contains("no such file or directory");
    if !missing {
        return error;
    }
    let message = format!("no such file or directory: `{path}`");
    Error::new(ErrorCode::NotFound, message)
        .with_status(404)
        .with_request_id(error.request_id().map(str::to_owned))
        .with_source(error)
}
