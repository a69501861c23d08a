//! Cancelling a call: JavaScript listens to the signal and cancels the token, which drops the request.

use napi::bindgen_prelude::*;
use napi_derive::napi;
use pandastack_client::protocol::error::ErrorCode;
use pandastack_client::{Error, Result};
use tokio_util::sync::CancellationToken;

use crate::outcome::Outcome;

/// Ends the calls that it was given to.
#[napi]
pub struct CancelToken(pub(crate) CancellationToken);

#[napi]
impl CancelToken {
    /// A token that is not cancelled.
    #[napi(constructor)]
    #[allow(clippy::new_without_default, reason = "constructed from JavaScript only")]
    pub fn new() -> Self {
        Self(CancellationToken::new())
    }

    /// Ends every call that holds this token, now and later.
    #[napi]
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

/// Runs `work` off the JavaScript thread until it ends or `cancel` is cancelled.
pub(crate) fn run<'env, T: ToNapiValue + Send + 'static>(
    env: &'env Env,
    cancel: Option<&CancelToken>,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> napi::Result<PromiseRaw<'env, Outcome<T>>> {
    let token = cancel.map(|cancel| cancel.0.clone());
    env.spawn_future(async move { Ok(Outcome(until_cancelled(token, work).await)) })
}

async fn until_cancelled<T>(token: Option<CancellationToken>, work: impl Future<Output = Result<T>>) -> Result<T> {
    let Some(token) = token else { return work.await };
    tokio::select! {
        biased;
        () = token.cancelled() => Err(aborted()),
        result = work => result,
    }
}

pub(crate) fn aborted() -> Error {
    Error::new(ErrorCode::Aborted, "the call was aborted")
}
