//! How long a sandbox lives.

use napi::bindgen_prelude::*;
use napi_derive::napi;
use pandastack_client::protocol::lifecycle::UpdateLifecycle;
use serde_json::Value;

use crate::cancel::{CancelToken, run};
use crate::client::{NativeClient, json};
use crate::outcome::{Json, Outcome, from_js};

#[napi]
impl NativeClient {
    /// TTL, persistence and idle time.
    #[napi(ts_return_type = "Promise<LifecycleInfo>")]
    pub fn lifecycle<'env>(
        &self,
        env: &'env Env,
        sandbox: String,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Json>>> {
        let client = self.client_for(cancel);
        run(env, cancel, async move { json(client.lifecycle(&sandbox).await?) })
    }

    /// Changes TTL or persistence.
    #[napi(
        ts_args_type = "sandbox: string, update: UpdateLifecycle, cancel?: CancelToken | null",
        ts_return_type = "Promise<LifecycleInfo>"
    )]
    pub fn update_lifecycle<'env>(
        &self,
        env: &'env Env,
        sandbox: String,
        update: Value,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Json>>> {
        let (client, update) = (self.client_for(cancel), from_js::<UpdateLifecycle>(update)?);
        run(env, cancel, async move { json(client.update_lifecycle(&sandbox, &update).await?) })
    }
}
