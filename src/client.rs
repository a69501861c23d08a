//! The client class. Its methods are in the file of the noun that they are about.

use napi_derive::napi;
use pandastack_client::{Client, ClientOptions};
use serde::Serialize;
use serde_json::Value;

use crate::outcome::{Json, Outcome, from_js};

/// A connection to one server.
#[napi]
pub struct NativeClient {
    pub(crate) client: Client,
}

#[napi]
impl NativeClient {
    /// A client for these options, the environment and the configuration file.
    #[napi(ts_args_type = "options: ClientOptions", ts_return_type = "NativeClient")]
    pub fn connect(options: Value) -> napi::Result<Outcome<NativeClient>> {
        let options: ClientOptions = from_js(options)?;
        Ok(Outcome(Client::new(options).map(|client| NativeClient { client })))
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

    /// Time limit of a call in milliseconds.
    #[napi(getter)]
    pub fn timeout_ms(&self) -> f64 {
        self.client.config().timeout.as_secs_f64() * 1000.0
    }
}

/// An answer as JSON, made off the JavaScript thread.
pub(crate) fn json<T: Serialize>(value: T) -> pandastack_client::Result<Json> {
    Json::of(&value).map_err(|error| {
        pandastack_client::Error::new(pandastack_client::protocol::error::ErrorCode::Network, error.reason.clone())
    })
}
