//! Identity, and calls that have no method of their own.

use napi::bindgen_prelude::*;
use napi_derive::napi;
use pandastack_client::RawRequest;
use serde_json::Value;

use crate::cancel::{CancelToken, run};
use crate::client::{NativeClient, json};
use crate::outcome::{Json, Outcome, from_js};
use crate::upload::pinned;

#[napi]
impl NativeClient {
    /// Who the key belongs to.
    #[napi(ts_return_type = "Promise<MeInfo>")]
    pub fn me<'env>(
        &self,
        env: &'env Env,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Json>>> {
        let client = self.client_for(cancel);
        run(env, cancel, async move { json(client.me().await?) })
    }

    /// Any call; the answer's body as it is.
    #[napi(
        ts_args_type = "call: RawRequest, body?: Uint8Array | null, contentType?: string | null, cancel?: CancelToken | null",
        ts_return_type = "Promise<Buffer>"
    )]
    pub fn request<'env>(
        &self,
        env: &'env Env,
        call: Value,
        body: Option<Uint8Array>,
        content_type: Option<String>,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Buffer>>> {
        let (client, call) = (self.client_for(cancel), from_js::<RawRequest>(call)?);
        let body = body.map(pinned).zip(content_type);
        run(env, cancel, async move { Ok(Vec::from(client.request(&call, body).await?).into()) })
    }
}
