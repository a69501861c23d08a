//! Ending a sandbox.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Sandbox;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::store::RowStatus;

impl Inner {
    /// Ends a running sandbox and remembers why, for a while. Whoever comes second finds nothing to do.
    pub(super) async fn end_sandbox(self: &Arc<Self>, id: &str, status: RowStatus, reason: &str) {
        let Some(sandbox) = self.take(id, reason) else { return };
        tracing::info!(sandbox_id = id, reason, "sandbox ended");
        if let Err(error) = self.store.end_sandbox(id, status, reason).await {
            tracing::error!(sandbox_id = id, %error, "could not write down the end of a sandbox");
        }
        self.destroy(&sandbox, id).await;
        self.sandboxes().remove(id);
    }

    /// Ends a running sandbox without a trace. False if there is none.
    pub(super) async fn remove_sandbox(self: &Arc<Self>, id: &str, reason: &str) -> bool {
        let Some(sandbox) = self.take(id, reason) else { return false };
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
        match self.store.sandbox(id).await?.map(|row| row.status) {
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

    /// Ends all running sandboxes.
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

    /// Takes the sandbox away from all callers: requests and streams, now and later, end with the reason. It stays in the list until nothing
    /// of it is left and its row says the same, so that nobody is told anything else in between.
    fn take(&self, id: &str, reason: &str) -> Option<Arc<Sandbox>> {
        let sandbox = self.sandboxes().get(id).cloned()?;
        if sandbox.is_ending.swap(true, Ordering::AcqRel) {
            return None;
        }
        sandbox.connection.close(reason);
        Some(sandbox)
    }

    async fn destroy(&self, sandbox: &Sandbox, id: &str) {
        sandbox.process.kill();
        self.remove_container(id).await;
    }
}
