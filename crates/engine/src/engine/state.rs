//! Calls that keep, copy and change the state of whole sandboxes.

use pandastack_protocol::fork::{ForkSandbox, ForkedSandboxes, PromoteSandbox, Promotion};
use pandastack_protocol::snapshot::SnapshotInfo;

use super::Engine;
use crate::error::EngineError;

impl Engine {
    /// Takes a snapshot of a sandbox, which goes on; its streams stand still for some 60 ms.
    ///
    /// # Errors
    /// If the sandbox is paused or gone, or the disk is full; the sandbox is as before then, and there is no snapshot.
    pub async fn create_snapshot(&self, sandbox_id: &str) -> Result<SnapshotInfo, EngineError> {
        self.inner.create_snapshot(sandbox_id).await
    }

    /// All snapshots, newest first; only those of one sandbox if `sandbox_id` is given.
    pub async fn snapshots(&self, sandbox_id: Option<&str>) -> Result<Vec<SnapshotInfo>, EngineError> {
        self.inner.snapshots(sandbox_id).await
    }

    /// One snapshot.
    pub async fn snapshot(&self, id: &str) -> Result<SnapshotInfo, EngineError> {
        Ok(self.inner.snapshot(id).await?.info())
    }

    /// Deletes a snapshot. Sandboxes that were made from it go on.
    pub async fn delete_snapshot(&self, id: &str) -> Result<(), EngineError> {
        self.inner.delete_snapshot(id).await
    }

    /// Makes copies of a running sandbox, which goes on: `request.count` of them, or `default_count`.
    ///
    /// # Errors
    /// If no copy could be made; some that could not are reported in the answer.
    pub async fn fork_sandbox(
        &self,
        id: &str,
        request: ForkSandbox,
        default_count: u32,
    ) -> Result<ForkedSandboxes, EngineError> {
        self.inner.fork_sandbox(id, request, default_count).await
    }

    /// Names the winner of a fork tree, and deletes its siblings if that is asked for.
    ///
    /// # Errors
    /// If siblings are to be deleted, and neither the request nor the winner names a tree.
    pub async fn promote_sandbox(&self, id: &str, request: PromoteSandbox) -> Result<Promotion, EngineError> {
        self.inner.promote_sandbox(id, request).await
    }

    /// Lets all processes of a sandbox stand still; requests are refused until it is resumed. Again is no error.
    pub async fn pause_sandbox(&self, id: &str) -> Result<(), EngineError> {
        self.inner.pause_sandbox(id).await
    }

    /// Lets a paused sandbox go on. Again is no error.
    pub async fn resume_sandbox(&self, id: &str) -> Result<(), EngineError> {
        self.inner.resume_sandbox(id).await
    }

    /// Stores a sandbox on disk and gives its memory free. Streams under way end. Again is no error.
    ///
    /// # Errors
    /// If it cannot be stored; it goes on then.
    pub async fn hibernate_sandbox(&self, id: &str) -> Result<(), EngineError> {
        self.inner.hibernate_sandbox(id).await
    }

    /// Brings a hibernated sandbox back, as the first request to it does too. Again is no error.
    ///
    /// # Errors
    /// If it cannot be restored; it stays on disk then.
    pub async fn wake_sandbox(&self, id: &str) -> Result<(), EngineError> {
        self.inner.wake_sandbox(id).await
    }
}
