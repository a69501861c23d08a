//! Cancelling a call: JavaScript listens to the signal and cancels the token, which drops the request.

use std::time::Duration;

use napi::bindgen_prelude::*;
use napi_derive::napi;
use pandastack_client::protocol::error::ErrorCode;
use pandastack_client::{Error, Result};
use tokio_util::sync::CancellationToken;

use crate::outcome::Outcome;

/// Ends the calls that it was given to, at the latest after their time limit.
#[napi]
pub struct CancelToken {
    pub(crate) token: CancellationToken,
    pub(crate) limit: Option<Duration>,
}

#[napi]
impl CancelToken {
    /// A token that is not cancelled. `timeout_ms` replaces the time limit that a call has by itself.
    #[napi(constructor)]
    pub fn new(timeout_ms: Option<u32>) -> Self {
        let limit = timeout_ms.map(|limit| Duration::from_millis(limit.into()));
        Self { token: CancellationToken::new(), limit }
    }

    /// Ends every call that holds this token, now and later.
    #[napi]
    pub fn cancel(&self) {
        self.token.cancel();
    }
}

/// Runs `work` off the JavaScript thread until it ends or `cancel` is cancelled.
pub(crate) fn run<'env, T: ToNapiValue + Send + 'static>(
    env: &'env Env,
    cancel: Option<&CancelToken>,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> napi::Result<PromiseRaw<'env, Outcome<T>>> {
    let token = cancel.map(|cancel| cancel.token.clone());
    env.spawn_future(async move { Ok(Outcome(until_cancelled(token, work).await)) })
}

async fn until_cancelled<T>(token: Option<CancellationToken>, work: impl Future<Output = Result<T>>) -> Result<T> {
    let Some(token) = token else { return work.await };
    if token.is_cancelled() {
        return Err(aborted());
    }
    tokio::select! {
        // The work first: what has been made and has arrived would have no owner if it were dropped here.
        biased;
        result = work => result,
        () = token.cancelled() => Err(aborted()),
    }
}

pub(crate) fn aborted() -> Error {
    Error::new(ErrorCode::Aborted, "the call was aborted")
}
