//! Logs, line by line.

use napi::bindgen_prelude::*;
use napi_derive::napi;
use pandastack_client::RawRequest;
use serde_json::Value;

use crate::cancel::{CancelToken, run};
use crate::client::NativeClient;
use crate::outcome::{Outcome, from_js};
use crate::stream::Pull;

/// Lines of a log.
#[napi]
pub struct NativeLineStream(Pull<String>);

#[napi]
impl NativeLineStream {
    /// The next lines; an empty array means that the log has ended.
    #[napi(ts_return_type = "Promise<string[]>")]
    pub fn next_batch<'env>(&self, env: &'env Env, limit: u32) -> napi::Result<PromiseRaw<'env, Outcome<Vec<String>>>> {
        let pull = self.0.clone();
        run(env, None, async move { pull.next(limit).await })
    }

    /// Closes the connection.
    #[napi]
    pub fn close(&self) {
        self.0.close();
    }
}

#[napi]
impl NativeClient {
    /// Streams a log. `ends_with_done`: the server says where it ends.
    #[napi(
        ts_args_type = "call: RawRequest, endsWithDone: boolean, cancel?: CancelToken | null",
        ts_return_type = "Promise<NativeLineStream>"
    )]
    pub fn lines<'env>(
        &self,
        env: &'env Env,
        call: Value,
        ends_with_done: bool,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<NativeLineStream>>> {
        let (client, call) = (self.client_for(cancel), from_js::<RawRequest>(call)?);
        run(env, cancel, async move { Ok(NativeLineStream(Pull::new(client.lines(&call, ends_with_done).await?))) })
    }
}
