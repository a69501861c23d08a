//! Identity, health, and calls that have no method of their own.

use bytes::Bytes;
use pandastack_protocol::health::{Health, MeInfo, VersionInfo};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::http::Client;
use crate::http::request::{Body, Limit, Request};

/// Any call of the API.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RawRequest {
    /// HTTP method.
    pub method: String,
    /// Path under `/v1`, encoded as in an address; it may have a query.
    pub path: String,
    /// Query parameters.
    pub query: Vec<(String, String)>,
    /// Further headers.
    pub headers: Vec<(String, String)>,
    /// Time limit in milliseconds; default: the client's.
    pub timeout_ms: Option<u64>,
}

impl Client {
    /// Who the key belongs to.
    ///
    /// # Errors
    /// `auth` for a wrong key.
    pub async fn me(&self) -> Result<MeInfo> {
        self.json(Request::get(&["me"])).await
    }

    /// Health of the server.
    ///
    /// # Errors
    /// `capacity` or `server` if it is unwell.
    pub async fn health(&self) -> Result<Health> {
        self.json(Request::get(&["healthz"]).at_root()).await
    }

    /// Version of the server.
    ///
    /// # Errors
    /// Those of any call.
    pub async fn version(&self) -> Result<VersionInfo> {
        self.json(Request::get(&["version"]).at_root()).await
    }

    /// Sends any call and returns the body of the answer, which is empty for 204.
    ///
    /// # Errors
    /// As for every other call; `invalid_option` for a method that is none.
    pub async fn request(&self, call: &RawRequest, body: Option<(Bytes, String)>) -> Result<Bytes> {
        let mut request = Request::of(call)?;
        if let Some((bytes, content_type)) = body {
            request = request.body(Body::Bytes(bytes, content_type));
        }
        if let Some(limit) = call.timeout_ms {
            request = request.limit(Limit::Exactly(std::time::Duration::from_millis(limit)));
        }
        self.bytes(request).await
    }
}

impl Request {
    /// What a caller wrote, checked.
    pub(crate) fn of(call: &RawRequest) -> Result<Self> {
        let method = call.method.to_ascii_uppercase();
        let method = method.parse().map_err(|_| Error::option(format!("not an HTTP method: `{}`", call.method)))?;
        let mut request = Self::raw(method, &call.path)?;
        for (name, value) in &call.query {
            request = request.query(name, value);
        }
        for (name, value) in &call.headers {
            request = request.header(name, value);
        }
        Ok(request)
    }
}
