//! Files of a sandbox.

use std::sync::Arc;

use napi::bindgen_prelude::*;
use napi_derive::napi;
use pandastack_client::FileDownload;
use tokio::sync::Mutex;

use crate::cancel::{CancelToken, run};
use crate::client::{NativeClient, json};
use crate::outcome::{Json, Outcome};
use crate::upload::{NativeFileUpload, Sink, pinned};

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
        Outcome(upload.map(|upload| NativeFileUpload(Sink::new(upload))))
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
