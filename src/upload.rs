//! Calls whose body is sent piece by piece.

use std::sync::Arc;

use bytes::Bytes;
use napi::bindgen_prelude::*;
use napi_derive::napi;
use pandastack_client::protocol::file::FileWritten;
use pandastack_client::{RawRequest, Upload};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::cancel::{CancelToken, aborted, run};
use crate::client::{NativeClient, json};
use crate::outcome::{Json, Outcome, from_js};

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

/// A body that JavaScript pushes into and may break off at any time.
pub(crate) struct Sink<T> {
    upload: Arc<Mutex<Option<Upload<T>>>>,
    aborted: CancellationToken,
}

impl<T> Clone for Sink<T> {
    fn clone(&self) -> Self {
        Self { upload: self.upload.clone(), aborted: self.aborted.clone() }
    }
}

impl<T> Sink<T> {
    pub(crate) fn new(upload: Upload<T>) -> Self {
        Self { upload: Arc::new(Mutex::new(Some(upload))), aborted: CancellationToken::new() }
    }

    async fn push(&self, piece: Bytes) -> pandastack_client::Result<bool> {
        let upload = self.upload.lock().await;
        let Some(upload) = upload.as_ref() else { return Ok(false) };
        tokio::select! {
            pushed = upload.push(piece) => pushed,
            () = self.aborted.cancelled() => Ok(false),
        }
    }

    async fn finish(&self) -> pandastack_client::Result<T> {
        let upload = self.upload.lock().await.take();
        upload.ok_or_else(aborted)?.finish().await
    }

    fn abort(&self) {
        self.aborted.cancel();
        if let Ok(mut upload) = self.upload.try_lock() {
            *upload = None;
        }
    }
}

/// A file that is being written piece by piece.
#[napi]
pub struct NativeFileUpload(pub(crate) Sink<FileWritten>);

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
        let (sink, piece) = (self.0.clone(), pinned(piece));
        run(env, cancel, async move { sink.push(piece).await })
    }

    /// Ends the file and waits for the server's answer.
    #[napi(ts_return_type = "Promise<FileWritten>")]
    pub fn finish<'env>(
        &self,
        env: &'env Env,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Json>>> {
        let sink = self.0.clone();
        run(env, cancel, async move { json(sink.finish().await?) })
    }

    /// Breaks the write off; the server does not get a complete file.
    #[napi]
    pub fn abort(&self) {
        self.0.abort();
    }
}

/// A call whose body is being sent.
#[napi]
pub struct NativeUpload(Sink<Bytes>);

#[napi]
impl NativeUpload {
    /// Takes the next piece. False: the call has ended already, and `finish` tells why.
    #[napi(ts_return_type = "Promise<boolean>")]
    pub fn push<'env>(
        &self,
        env: &'env Env,
        piece: Uint8Array,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<bool>>> {
        let (sink, piece) = (self.0.clone(), pinned(piece));
        run(env, cancel, async move { sink.push(piece).await })
    }

    /// Ends the body and waits for the answer's bytes.
    #[napi(ts_return_type = "Promise<Buffer>")]
    pub fn finish<'env>(
        &self,
        env: &'env Env,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Buffer>>> {
        let sink = self.0.clone();
        run(env, cancel, async move { Ok(Vec::from(sink.finish().await?).into()) })
    }

    /// Breaks the call off; the server does not get a complete body.
    #[napi]
    pub fn abort(&self) {
        self.0.abort();
    }
}

#[napi]
impl NativeClient {
    /// Starts any call whose body comes in pieces.
    #[napi(
        ts_args_type = "call: RawRequest, contentType: string, cancel?: CancelToken | null",
        ts_return_type = "NativeUpload"
    )]
    pub fn upload(
        &self,
        call: Value,
        content_type: String,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<Outcome<NativeUpload>> {
        let (client, call) = (self.client_for(cancel), from_js::<RawRequest>(call)?);
        let upload = within_runtime_if_available(|| client.request_in_pieces(&call, content_type));
        Ok(Outcome(upload.map(|upload| NativeUpload(Sink::new(upload)))))
    }
}
