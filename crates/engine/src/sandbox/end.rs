//! Ending a sandbox.

use std::sync::Arc;

use serde_json::json;

use super::Sandbox;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::store::RowStatus;

impl Inner {
    /// Ends a running sandbox and remembers why, for a while. Whoever comes second finds nothing to do.
    pub(super) async fn end_sandbox(self: &Arc<Self>, sandbox: &Sandbox, status: RowStatus, reason: &str) {
        if !take(sandbox, reason) {
            return;
        }
        let id = &sandbox.row().id.clone();
        tracing::info!(sandbox_id = id, reason, "sandbox ended");
        let kind = if status == RowStatus::Failed { "vm.died" } else { "sandbox.deleted" };
        self.events.record(id, kind, json!({"reason": reason}));
        if let Err(error) = self.store.end_sandbox(id, status, reason).await {
            tracing::error!(sandbox_id = id, %error, "could not write down the end of a sandbox");
        }
        self.destroy(sandbox, id).await;
        self.sandboxes().remove(id);
    }

    /// Ends a running sandbox without a trace. False if there is none.
    pub(super) async fn remove_sandbox(self: &Arc<Self>, id: &str, reason: &str) -> bool {
        let Some(sandbox) = self.held(id).filter(|sandbox| take(sandbox, reason)) else { return false };
        self.events.record(id, "sandbox.deleted", json!({"reason": reason}));
        // An engine that is killed from here on must not find a failed sandbox, or the sandbox itself, when it comes back.
        if let Err(error) = self.store.end_sandbox(id, RowStatus::Ending, reason).await {
            tracing::error!(sandbox_id = id, %error, "could not write down that a sandbox is being removed");
        }
        self.destroy(&sandbox, id).await;
        if let Err(error) = self.store.remove_sandbox(id).await {
            tracing::error!(sandbox_id = id, %error, "could not remove the row of a sandbox");
        }
        self.sandboxes().remove(id);
        true
    }

    /// Deletes a sandbox for a caller. Goes on if the caller goes away.
    pub(crate) async fn delete_sandbox(self: &Arc<Self>, id: &str) -> Result<(), EngineError> {
        let (engine, owned_id) = (Arc::clone(self), id.to_owned());
        let deleted = self.tasks.spawn(async move { engine.remove_sandbox(&owned_id, "it was deleted").await }).await;
        if deleted.map_err(|error| EngineError::Internal(format!("deleting stopped half-way: {error}")))? {
            return Ok(());
        }
        // One that is about to hibernate is no longer there a moment later.
        let _turn = self.turns.wait(id).await;
        match self.store.sandbox(id).await?.map(|row| row.status) {
            Some(RowStatus::Hibernated) => self.delete_hibernated(id).await,
            Some(RowStatus::Failed) => self.store.remove_sandbox(id).await,
            Some(RowStatus::Creating) => Err(EngineError::Conflict(format!("sandbox is still being made: {id}"))),
            _ => Err(EngineError::sandbox_not_found(id)),
        }
    }

    /// Removes a container that never became a sandbox, and its row.
    pub(super) async fn forget(&self, id: &str) {
        self.remove_container(id).await;
        if let Err(error) = self.store.remove_sandbox(id).await {
            tracing::error!(sandbox_id = id, %error, "could not remove the row of a sandbox");
        }
    }

    /// Ends all sandboxes in memory.
    pub(crate) async fn remove_all(self: &Arc<Self>, reason: &str) {
        let ids: Vec<String> = self.sandboxes().keys().cloned().collect();
        futures::future::join_all(ids.iter().map(|id| self.remove_sandbox(id, reason))).await;
    }

    /// Lets all sandboxes go on without this engine.
    pub(crate) fn let_go(&self) {
        for (_, sandbox) in self.sandboxes().drain() {
            sandbox.connection.close("the engine was stopped; the sandbox goes on");
        }
    }

    pub(super) async fn destroy(&self, sandbox: &Sandbox, id: &str) {
        sandbox.process.kill();
        self.remove_container(id).await;
    }
}

/// Takes the sandbox away from all callers: requests and streams, now and later, end with the reason. It stays in the list until nothing
/// of it is left and its row says the same, so that nobody is told anything else in between. False if somebody else ends it.
fn take(sandbox: &Sandbox, reason: &str) -> bool {
    let is_ours = sandbox.claim_end();
    if is_ours {
        sandbox.connection.close(reason);
    }
    is_ours
}
