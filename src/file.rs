//! Files of a sandbox.

use std::sync::Arc;

use bytes::Bytes;
use napi::bindgen_prelude::*;
use napi_derive::napi;
use pandastack_client::{FileDownload, FileUpload};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::cancel::{CancelToken, aborted, run};
use crate::client::{NativeClient, json};
use crate::outcome::{Json, Outcome};

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
    upload: Arc<Mutex<Option<FileUpload>>>,
    aborted: CancellationToken,
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
        let (upload, piece, aborted) = (self.upload.clone(), pinned(piece), self.aborted.clone());
        run(env, cancel, async move {
            let upload = upload.lock().await;
            let Some(upload) = upload.as_ref() else { return Ok(false) };
            tokio::select! {
                pushed = upload.push(piece) => pushed,
                () = aborted.cancelled() => Ok(false),
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
        let upload = self.upload.clone();
        run(env, cancel, async move {
            let upload = upload.lock().await.take();
            json(upload.ok_or_else(aborted)?.finish().await?)
        })
    }

    /// Breaks the write off; the server does not get a complete file.
    #[napi]
    pub fn abort(&self) {
        self.aborted.cancel();
        if let Ok(mut upload) = self.upload.try_lock() {
            *upload = None;
        }
    }
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
        let client = self.client_for(cancel);
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
        let client = self.client_for(cancel);
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
        let (client, bytes) = (self.client_for(cancel), pinned(bytes));
        run(env, cancel, async move { json(client.write_file(&sandbox, &path, bytes).await?) })
    }

    /// Starts to write a file piece by piece.
    #[napi(ts_return_type = "NativeFileUpload")]
    pub fn upload_file(
        &self,
        sandbox: String,
        path: String,
        cancel: Option<&CancelToken>,
    ) -> Outcome<NativeFileUpload> {
        let client = self.client_for(cancel);
        let upload = within_runtime_if_available(|| client.upload_file(&sandbox, &path));
        Outcome(upload.map(|upload| NativeFileUpload {
            upload: Arc::new(Mutex::new(Some(upload))),
            aborted: CancellationToken::new(),
        }))
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
        let client = self.client_for(cancel);
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
        let client = self.client_for(cancel);
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
        let client = self.client_for(cancel);
        run(env, cancel, async move { json(client.stat_file(&sandbox, &path).await?) })
    }
}
