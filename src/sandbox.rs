//! Sandboxes.

use napi::bindgen_prelude::*;
use napi_derive::napi;
use pandastack_client::protocol::sandbox::CreateSandbox;
use serde_json::Value;

use crate::cancel::{CancelToken, run};
use crate::client::{NativeClient, json};
use crate::outcome::{Json, Outcome, from_js};

#[napi]
impl NativeClient {
    /// Creates a sandbox.
    #[napi(
        ts_args_type = "options: CreateSandbox, cancel?: CancelToken | null",
        ts_return_type = "Promise<SandboxInfo>"
    )]
    pub fn create_sandbox<'env>(
        &self,
        env: &'env Env,
        options: Value,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Json>>> {
        let (client, options) = (self.client_for(cancel), from_js::<CreateSandbox>(options)?);
        run(env, cancel, async move { json(client.create_sandbox(&options).await?) })
    }

    /// A sandbox as it is now.
    #[napi(ts_return_type = "Promise<SandboxInfo>")]
    pub fn get_sandbox<'env>(
        &self,
        env: &'env Env,
        id: String,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Json>>> {
        let client = self.client_for(cancel);
        run(env, cancel, async move { json(client.get_sandbox(&id).await?) })
    }

    /// All sandboxes.
    #[napi(ts_return_type = "Promise<SandboxInfo[]>")]
    pub fn list_sandboxes<'env>(
        &self,
        env: &'env Env,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Json>>> {
        let client = self.client_for(cancel);
        run(env, cancel, async move { json(client.list_sandboxes().await?) })
    }

    /// Ends a sandbox.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn delete_sandbox<'env>(
        &self,
        env: &'env Env,
        id: String,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<()>>> {
        let client = self.client_for(cancel);
        run(env, cancel, async move { client.delete_sandbox(&id).await })
    }
}
