//! Files of a sandbox.

use std::sync::Arc;

use bytes::Bytes;
use napi::bindgen_prelude::*;
use napi_derive::napi;
use pandastack_client::protocol::error::ErrorCode;
use pandastack_client::protocol::file::FileWritten;
use pandastack_client::{Error, FileBody, FileDownload, Result};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

use crate::cancel::{CancelToken, run};
use crate::client::{NativeClient, json};
use crate::outcome::{Json, Outcome};

/// Most pieces of an upload that wait to be sent.
const WAITING: usize = 4;

/// JavaScript memory as bytes, without a copy.
struct Pinned(Uint8Array);

impl AsRef<[u8]> for Pinned {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

pub(crate) fn pinned(bytes: Uint8Array) -> Bytes {
    if bytes.is_empty() { Bytes::new() } else { Bytes::from_owner(Pinned(bytes)) }
}

/// A file that is being read.
#[napi]
pub struct NativeFileDownload(Arc<Mutex<Option<FileDownload>>>);

#[napi]
impl NativeFileDownload {
    /// The next piece; null once all has arrived.
    #[napi(ts_return_type = "Promise<Buffer | null>")]
    pub fn next_chunk<'env>(
        &self,
        env: &'env Env,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Option<Buffer>>>> {
        let download = self.0.clone();
        run(env, cancel, async move {
            let mut download = download.lock().await;
            let Some(download) = download.as_mut() else { return Ok(None) };
            Ok(download.next_chunk().await?.map(|chunk| Vec::from(chunk).into()))
        })
    }

    /// Closes the connection.
    #[napi]
    pub fn close(&self) {
        if let Ok(mut download) = self.0.try_lock() {
            *download = None;
        }
    }
}

/// A file that is being written piece by piece.
#[napi]
pub struct NativeFileUpload {
    pieces: Arc<Mutex<Option<mpsc::Sender<std::io::Result<Bytes>>>>>,
    written: Arc<Mutex<Option<JoinHandle<Result<FileWritten>>>>>,
}

#[napi]
impl NativeFileUpload {
    /// Takes the next piece. False: the write has ended already, and `finish` tells why.
    #[napi(ts_return_type = "Promise<boolean>")]
    pub fn push<'env>(
        &self,
        env: &'env Env,
        piece: Uint8Array,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<bool>>> {
        let (pieces, piece) = (self.pieces.clone(), pinned(piece));
        run(env, cancel, async move {
            match pieces.lock().await.as_ref() {
                Some(sender) => Ok(sender.send(Ok(piece)).await.is_ok()),
                None => Ok(false),
            }
        })
    }

    /// Ends the file and waits for the server's answer.
    #[napi(ts_return_type = "Promise<FileWritten>")]
    pub fn finish<'env>(
        &self,
        env: &'env Env,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Json>>> {
        let (pieces, written) = (self.pieces.clone(), self.written.clone());
        run(env, cancel, async move {
            pieces.lock().await.take();
            let task = written.lock().await.take().ok_or_else(lost)?;
            json(task.await.map_err(|_| lost())??)
        })
    }

    /// Breaks the write off; the server does not get a complete file.
    #[napi]
    pub fn abort(&self) {
        if let Ok(mut written) = self.written.try_lock()
            && let Some(task) = written.take()
        {
            task.abort();
        }
    }
}

fn lost() -> Error {
    Error::new(ErrorCode::Interrupted, "the upload has ended already")
}

#[napi]
impl NativeClient {
    /// Reads a whole file.
    #[napi(ts_return_type = "Promise<Buffer>")]
    pub fn read_file<'env>(
        &self,
        env: &'env Env,
        sandbox: String,
        path: String,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Buffer>>> {
        let client = self.client.clone();
        run(env, cancel, async move { Ok(client.read_file(&sandbox, &path).await?.into()) })
    }

    /// Opens a file for reading.
    #[napi(ts_return_type = "Promise<NativeFileDownload>")]
    pub fn download_file<'env>(
        &self,
        env: &'env Env,
        sandbox: String,
        path: String,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<NativeFileDownload>>> {
        let client = self.client.clone();
        run(env, cancel, async move {
            Ok(NativeFileDownload(Arc::new(Mutex::new(Some(client.download_file(&sandbox, &path).await?)))))
        })
    }

    /// Writes a whole file. The bytes must not change until the promise settles.
    #[napi(ts_return_type = "Promise<FileWritten>")]
    pub fn write_file<'env>(
        &self,
        env: &'env Env,
        sandbox: String,
        path: String,
        bytes: Uint8Array,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Json>>> {
        let (client, body) = (self.client.clone(), FileBody::Bytes(pinned(bytes)));
        run(env, cancel, async move { json(client.write_file(&sandbox, &path, body).await?) })
    }

    /// Starts to write a file piece by piece.
    #[napi]
    pub fn upload_file(&self, sandbox: String, path: String) -> NativeFileUpload {
        let client = self.client.clone();
        let (sender, receiver) = mpsc::channel(WAITING);
        let write = async move { client.write_file(&sandbox, &path, FileBody::Stream(receiver)).await };
        NativeFileUpload {
            pieces: Arc::new(Mutex::new(Some(sender))),
            written: Arc::new(Mutex::new(Some(within_runtime_if_available(|| tokio::spawn(write))))),
        }
    }

    /// Removes a file or directory.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn remove_file<'env>(
        &self,
        env: &'env Env,
        sandbox: String,
        path: String,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<()>>> {
        let client = self.client.clone();
        run(env, cancel, async move { client.remove_file(&sandbox, &path).await })
    }

    /// Entries of a directory.
    #[napi(ts_return_type = "Promise<FileInfo[]>")]
    pub fn list_files<'env>(
        &self,
        env: &'env Env,
        sandbox: String,
        path: String,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Json>>> {
        let client = self.client.clone();
        run(env, cancel, async move { json(client.list_files(&sandbox, &path).await?) })
    }

    /// One file or directory.
    #[napi(ts_return_type = "Promise<FileInfo>")]
    pub fn stat_file<'env>(
        &self,
        env: &'env Env,
        sandbox: String,
        path: String,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Json>>> {
        let client = self.client.clone();
        run(env, cancel, async move { json(client.stat_file(&sandbox, &path).await?) })
    }
}
