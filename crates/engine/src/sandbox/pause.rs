//! Letting a sandbox stand still in memory.

use std::sync::Arc;

use serde_json::Value;

use super::Sandbox;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::store::RowStatus;

impl Inner {
    /// Lets all processes of a sandbox stand still. One that does so already stays as it is.
    pub(crate) async fn pause_sandbox(self: &Arc<Self>, id: &str) -> Result<(), EngineError> {
        self.change_pause(id, true).await
    }

    /// Lets a paused sandbox go on. One that runs stays as it is, one that is hibernated is woken.
    pub(crate) async fn resume_sandbox(self: &Arc<Self>, id: &str) -> Result<(), EngineError> {
        self.change_pause(id, false).await
    }

    async fn change_pause(self: &Arc<Self>, id: &str, pause: bool) -> Result<(), EngineError> {
        let (engine, id) = (Arc::clone(self), id.to_owned());
        self.carry_out(async move {
            let (sandbox, _turn) = engine.take_turn(&id).await?;
            sandbox.activity().touch();
            if sandbox.is_paused() == pause {
                return Ok(());
            }
            if pause { engine.pause(&sandbox).await } else { engine.resume(&sandbox).await }
        })
        .await
    }

    async fn pause(&self, sandbox: &Sandbox) -> Result<(), EngineError> {
        let id = sandbox.row().id.clone();
        // The store first: an engine that opens lets only those stand still that it says are paused.
        self.store.set_status(&id, RowStatus::Paused).await?;
        sandbox.row().status = RowStatus::Paused;
        if let Err(error) = self.runsc.pause(&id).await {
            sandbox.row().status = RowStatus::Running;
            self.store.set_status(&id, RowStatus::Running).await?;
            return Err(error.into());
        }
        self.events.record(&id, "sandbox.paused", Value::Null);
        Ok(())
    }

    /// Lets a sandbox go on that is paused.
    pub(super) async fn resume(&self, sandbox: &Sandbox) -> Result<(), EngineError> {
        let id = sandbox.row().id.clone();
        self.runsc.resume(&id).await?;
        sandbox.row().status = RowStatus::Running;
        self.events.record(&id, "sandbox.resumed", Value::Null);
        self.store.set_status(&id, RowStatus::Running).await
    }
}
