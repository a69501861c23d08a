//! How long a sandbox lives.

use pandastack_protocol::lifecycle::{LifecycleInfo, UpdateLifecycle};

use crate::error::Result;
use crate::http::Client;
use crate::http::request::Request;

impl Client {
    /// TTL, persistence and idle time of a sandbox.
    ///
    /// # Errors
    /// `not_found` for an unknown id.
    pub async fn lifecycle(&self, sandbox: &str) -> Result<LifecycleInfo> {
        self.json_about(sandbox, Request::get(&["sandboxes", sandbox, "lifecycle"])).await
    }

    /// Changes TTL or persistence.
    ///
    /// # Errors
    /// `bad_request` for a TTL that the server refuses.
    pub async fn update_lifecycle(&self, sandbox: &str, update: &UpdateLifecycle) -> Result<LifecycleInfo> {
        self.json(Request::patch(&["sandboxes", sandbox, "lifecycle"]).json(update)?).await
    }
}
