//! Templates.

use napi::bindgen_prelude::*;
use napi_derive::napi;

use crate::cancel::{CancelToken, run};
use crate::client::{NativeClient, json};
use crate::outcome::{Json, Outcome};

#[napi]
impl NativeClient {
    /// All templates.
    #[napi(ts_return_type = "Promise<TemplateInfo[]>")]
    pub fn list_templates<'env>(
        &self,
        env: &'env Env,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Json>>> {
        let client = self.client_for(cancel);
        run(env, cancel, async move { json(client.list_templates().await?) })
    }

    /// One template.
    #[napi(ts_return_type = "Promise<TemplateInfo>")]
    pub fn get_template<'env>(
        &self,
        env: &'env Env,
        name: String,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Json>>> {
        let client = self.client_for(cancel);
        run(env, cancel, async move { json(client.get_template(&name).await?) })
    }
}
