//! Files of a sandbox: as a whole or as streams, always as bytes.

use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use pandastack_protocol::error::ErrorCode;
use pandastack_protocol::file::{FileInfo, FileList, FileWritten};
use tokio::sync::mpsc;

use crate::error::{Error, Result};
use crate::http::request::{Body, Limit, Request, Rule};
use crate::http::{Client, answer};

/// The slowest transfer that is waited for.
const SLOWEST_BYTES_PER_SECOND: u64 = 256 << 10;

/// Most pieces of an upload that wait to be sent.
const WAITING: usize = 4;

/// How long a server may take to store what it has received.
const FINISHING: Duration = Duration::from_secs(60);

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

/// What an upload sends. Its end is said in so many words: an upload that is dropped must not look like one that is whole.
enum Piece {
    Bytes(Bytes),
    End,
}

/// A file that is being written piece by piece. Dropped before [`Self::finish`], it breaks the write off.
pub struct FileUpload {
    pieces: mpsc::Sender<Piece>,
    written: tokio::task::JoinHandle<Result<FileWritten>>,
    patience: Duration,
    /// How long the server may take to confirm the file.
    finishing: Duration,
}

impl FileUpload {
    /// Takes the next piece. False: the write has ended already, and [`Self::finish`] tells why.
    ///
    /// # Errors
    /// `timeout` if the server takes nothing for as long as the client's time limit.
    pub async fn push(&self, piece: Bytes) -> Result<bool> {
        match tokio::time::timeout(self.patience, self.pieces.send(Piece::Bytes(piece))).await {
            Ok(sent) => Ok(sent.is_ok()),
            Err(_) => {
                Err(Error::new(ErrorCode::Timeout, format!("nothing was taken for {} ms", self.patience.as_millis())))
            }
        }
    }

    /// Ends the file and waits for the server's answer.
    ///
    /// # Errors
    /// As [`Client::write_file`].
    pub async fn finish(mut self) -> Result<FileWritten> {
        // Refused only if the write has ended already, and then its outcome tells why.
        let _ = tokio::time::timeout(self.patience, self.pieces.send(Piece::End)).await;
        let written = tokio::time::timeout(self.finishing, &mut self.written).await;
        let written = written.map_err(|_| Error::new(ErrorCode::Timeout, "the server does not confirm the file"))?;
        written.map_err(|error| Error::new(ErrorCode::Interrupted, "the upload was broken off").with_source(error))?
    }
}

impl Drop for FileUpload {
    fn drop(&mut self) {
        self.written.abort();
    }
}

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
    /// `invalid_option` for a path that is not absolute; what the server says comes with [`FileUpload::finish`].
    pub fn upload_file(&self, sandbox: &str, path: &str) -> Result<FileUpload> {
        let request = file(Request::put(&["sandboxes", sandbox, "fs"]), path)?.limit(Limit::None);
        let (pieces, receiver) = mpsc::channel(WAITING);
        let client = self.clone();
        let write = async move { client.json_streamed(request, BYTES, stream_of(receiver)).await };
        let finishing = self.patience_of_at_least(FINISHING);
        Ok(FileUpload { pieces, written: tokio::spawn(write), patience: self.patience(), finishing })
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

fn stream_of(pieces: mpsc::Receiver<Piece>) -> impl Stream<Item = std::io::Result<Bytes>> + Send + 'static {
    futures::stream::unfold(Some(pieces), async |pieces| {
        let mut pieces = pieces?;
        match pieces.recv().await {
            Some(Piece::Bytes(bytes)) => Some((Ok(bytes), Some(pieces))),
            Some(Piece::End) => None,
            None => Some((Err(std::io::Error::other("the upload was broken off")), None)),
        }
    })
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt;

    use super::*;

    #[tokio::test]
    async fn only_an_upload_that_was_finished_comes_to_its_end() {
        for finished in [true, false] {
            let (sender, receiver) = mpsc::channel(2);
            sender.send(Piece::Bytes(Bytes::from_static(b"a"))).await.ok();
            if finished {
                sender.send(Piece::End).await.ok();
            }
            drop(sender);
            let sent: Result<Vec<Bytes>, _> = stream_of(receiver).try_collect().await;
            assert_eq!(sent.is_ok(), finished);
        }
    }
}
