//! The engine as its routes and commands see it.

use std::path::PathBuf;
use std::sync::Arc;

use pandastack_protocol::lifecycle::{LifecycleInfo, UpdateLifecycle};
use pandastack_protocol::sandbox::{CreateSandbox, SandboxInfo};
use pandastack_protocol::template::TemplateInfo;
use pandastack_protocol::token::{CreatedToken, TokenInfo};
use serde::{Deserialize, Serialize};

use crate::error::EngineError;
use crate::guest::GuestClient;
use crate::home::Home;

/// Called once for each sandbox that takes requests: newly made, or found running when the engine opened. The client ends with
/// [`EngineError::SandboxGone`] when the sandbox does; using its `egress_accept` does not count as use of the sandbox.
pub type RunningHook = Arc<dyn Fn(SandboxInfo, GuestClient) + Send + Sync>;

/// What an engine needs to know.
#[derive(Clone)]
pub struct EngineConfig {
    /// Where everything lies.
    pub home: Home,
    /// The `runsc` binary.
    pub runsc: PathBuf,
    /// Idle time after which a sandbox is deleted if its maker names none, in seconds. Default 1800.
    pub default_ttl_seconds: i64,
    /// Time between two heartbeats of a sandbox, in milliseconds. Default 10000. After three misses the sandbox is ended.
    pub heartbeat_ms: u64,
    /// Sandboxes kept ready. Default 1.
    pub blank_sandboxes: usize,
    /// See [`RunningHook`].
    pub on_running: Option<RunningHook>,
}

impl EngineConfig {
    /// The defaults.
    pub fn new(home: Home, runsc: PathBuf) -> Self {
        Self { home, runsc, default_ttl_seconds: 1800, heartbeat_ms: 10_000, blank_sandboxes: 1, on_running: None }
    }
}

/// What `engine status` shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineStatus {
    /// Version of the engine.
    pub version: String,
    /// Process id of the daemon.
    pub pid: u32,
    /// `$PANDASTACK_HOME`.
    pub home: String,
    /// The `runsc` binary.
    pub runsc: String,
    /// Since the engine opened, in seconds.
    pub uptime_seconds: u64,
    /// Sandboxes that take requests.
    pub running: usize,
    /// Sandboxes being made.
    pub creating: usize,
    /// Sandboxes kept ready.
    pub blank: usize,
}

/// One engine: all sandboxes of one home. Clones share it.
#[derive(Clone)]
pub struct Engine {
    _inner: Arc<EngineConfig>,
}

impl Engine {
    /// Opens the home, takes its lock, adopts the sandboxes that still run and removes what is left of the others.
    ///
    /// # Errors
    /// [`EngineError::AlreadyRunning`] if another engine holds the home.
    pub async fn open(config: EngineConfig) -> Result<Self, EngineError> {
        Ok(Self { _inner: Arc::new(config) })
    }

    /// Makes a sandbox. If the future is dropped, nothing stays behind.
    pub async fn create_sandbox(&self, _request: CreateSandbox) -> Result<SandboxInfo, EngineError> {
        pending()
    }

    /// All sandboxes, newest first.
    pub async fn list_sandboxes(&self) -> Result<Vec<SandboxInfo>, EngineError> {
        pending()
    }

    /// One sandbox.
    pub async fn sandbox_info(&self, _id: &str) -> Result<SandboxInfo, EngineError> {
        pending()
    }

    /// Ends a sandbox and removes everything of it.
    pub async fn delete_sandbox(&self, _id: &str) -> Result<(), EngineError> {
        pending()
    }

    /// How long a sandbox lives. Counts as use of it.
    pub async fn lifecycle(&self, _id: &str) -> Result<LifecycleInfo, EngineError> {
        pending()
    }

    /// Changes how long a sandbox lives.
    pub async fn update_lifecycle(&self, _id: &str, _update: UpdateLifecycle) -> Result<LifecycleInfo, EngineError> {
        pending()
    }

    /// The templates that sandboxes can be made from.
    pub async fn templates(&self) -> Result<Vec<TemplateInfo>, EngineError> {
        pending()
    }

    /// One template, by name or alias.
    pub async fn template(&self, _name: &str) -> Result<TemplateInfo, EngineError> {
        pending()
    }

    /// The way into a running sandbox. Counts as use of it, as long as a stream of the client lasts.
    pub async fn guest(&self, _id: &str) -> Result<GuestClient, EngineError> {
        pending()
    }

    /// Makes an API token; its secret is shown only now.
    pub async fn create_token(&self, _label: Option<String>) -> Result<CreatedToken, EngineError> {
        pending()
    }

    /// All API tokens, oldest first.
    pub async fn list_tokens(&self) -> Result<Vec<TokenInfo>, EngineError> {
        pending()
    }

    /// Revokes the token with this prefix (`pds_` and 8 digits).
    pub async fn revoke_token(&self, _prefix: &str) -> Result<(), EngineError> {
        pending()
    }

    /// True if `token` is a valid secret.
    pub async fn verify_token(&self, _token: &str) -> Result<bool, EngineError> {
        pending()
    }

    /// What `engine status` shows.
    pub fn status(&self) -> EngineStatus {
        EngineStatus::default()
    }

    /// Closes the engine. Sandboxes go on without it unless `kill`: then they are all deleted.
    pub async fn shutdown(&self, _kill: bool) -> Result<(), EngineError> {
        pending()
    }
}

fn pending<T>() -> Result<T, EngineError> {
    Err(EngineError::Internal("not there yet".to_owned()))
}
