//! API tokens.

use napi::bindgen_prelude::*;
use napi_derive::napi;
use pandastack_client::protocol::token::CreateToken;

use crate::cancel::{CancelToken, run};
use crate::client::{NativeClient, json};
use crate::outcome::{Json, Outcome};

#[napi]
impl NativeClient {
    /// The caller's tokens.
    #[napi(ts_return_type = "Promise<TokenInfo[]>")]
    pub fn list_tokens<'env>(
        &self,
        env: &'env Env,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Json>>> {
        let client = self.client_for(cancel);
        run(env, cancel, async move { json(client.list_tokens().await?) })
    }

    /// A new token.
    #[napi(ts_return_type = "Promise<CreatedToken>")]
    pub fn create_token<'env>(
        &self,
        env: &'env Env,
        label: Option<String>,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Json>>> {
        let client = self.client_for(cancel);
        run(env, cancel, async move { json(client.create_token(&CreateToken { label }).await?) })
    }

    /// Revokes a token.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn revoke_token<'env>(
        &self,
        env: &'env Env,
        prefix: String,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<()>>> {
        let client = self.client_for(cancel);
        run(env, cancel, async move { client.revoke_token(&prefix).await })
    }
}
