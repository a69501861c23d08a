//! The client class. Its methods are in the file of the noun that they are about.

use std::cell::RefCell;

use napi::bindgen_prelude::*;
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi_derive::napi;
use pandastack_client::{Client, ClientOptions, RetryHook};
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::cancel::CancelToken;
use crate::outcome::{Json, Outcome, from_js};

/// A connection to one server.
#[napi]
pub struct NativeClient {
    pub(crate) client: Client,
}

#[napi]
impl NativeClient {
    /// A client for these options, the environment and the configuration file.
    #[napi(
        ts_args_type = "options: ClientOptions, onRetry?: ((retry: Retry) => void) | null",
        ts_return_type = "NativeClient"
    )]
    pub fn connect(
        env: Env,
        options: Value,
        on_retry: Option<Function<Json, ()>>,
    ) -> napi::Result<Outcome<NativeClient>> {
        let mut options: ClientOptions = from_js(options)?;
        if let Some(call) = on_retry {
            options.on_retry = retry_hook(call)?;
        }
        let owner = javascript_thread(&env)?;
        Ok(Outcome(Client::new(options).map(|client| NativeClient { client: client.owned_by(&owner) })))
    }

    /// Address of the server, without trailing slashes.
    #[napi(getter)]
    pub fn api_url(&self) -> String {
        self.client.config().api_url.clone()
    }

    /// The API key.
    #[napi(getter)]
    pub fn api_key(&self) -> Option<String> {
        self.client.config().api_key.clone()
    }

    /// Ends all calls and streams; later ones fail.
    #[napi]
    pub fn close(&self) {
        self.client.close();
    }

    /// Time limit of a call in milliseconds.
    #[napi(getter)]
    pub fn timeout_ms(&self) -> f64 {
        self.client.config().timeout.as_secs_f64() * 1000.0
    }
}

impl NativeClient {
    /// The client with the time limit of this call.
    pub(crate) fn client_for(&self, cancel: Option<&CancelToken>) -> Client {
        let client = self.client.clone();
        match cancel.and_then(|cancel| cancel.limit) {
            Some(limit) => client.with_limit(limit),
            None => client,
        }
    }
}

thread_local! {
    static THREAD: RefCell<Option<CancellationToken>> = const { RefCell::new(None) };
}

/// Cancelled when the JavaScript of this thread ends: a worker that is terminated must not leave calls and connections behind.
fn javascript_thread(env: &Env) -> napi::Result<CancellationToken> {
    if let Some(known) = THREAD.with_borrow(Clone::clone) {
        return Ok(known);
    }
    let token = CancellationToken::new();
    env.add_env_cleanup_hook(token.clone(), |token| {
        THREAD.take();
        token.cancel();
    })?;
    THREAD.set(Some(token.clone()));
    Ok(token)
}

/// Calls `call` on the JavaScript thread without waiting for it. It does not keep the process alive, and what it cannot take is
/// dropped: a slow listener must not slow a call.
fn retry_hook(call: Function<Json, ()>) -> napi::Result<RetryHook> {
    let listener =
        call.build_threadsafe_function().callee_handled::<false>().weak::<true>().max_queue_size::<64>().build()?;
    Ok(RetryHook::new(move |retry| {
        if let Ok(retry) = Json::of(retry) {
            listener.call(retry, ThreadsafeFunctionCallMode::NonBlocking);
        }
    }))
}

/// An answer as JSON, made off the JavaScript thread.
pub(crate) fn json<T: Serialize>(value: T) -> pandastack_client::Result<Json> {
    Json::of(&value).map_err(|error| {
        pandastack_client::Error::new(pandastack_client::protocol::error::ErrorCode::Network, error.reason.clone())
    })
}
