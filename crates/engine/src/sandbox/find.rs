//! Finding a sandbox by its id, wherever it is in its life.

use std::sync::Arc;

use super::Sandbox;
use super::turn::Turn;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::store::{RowStatus, SandboxRow};

/// A sandbox that is known.
#[expect(clippy::large_enum_variant, reason = "one at a time, for a moment")]
pub(crate) enum Found {
    /// Running or paused.
    Held(Arc<Sandbox>),
    /// All that is left of it, or all that there is yet.
    Stored(SandboxRow),
}

impl Inner {
    /// The sandbox, without changing anything about it.
    pub(crate) async fn find(&self, id: &str) -> Result<Found, EngineError> {
        if let Some(sandbox) = self.held(id).filter(|sandbox| sandbox.end_reason().is_none()) {
            return Ok(Found::Held(sandbox));
        }
        let row = self.store.sandbox(id).await?.ok_or_else(|| EngineError::sandbox_not_found(id))?;
        match row.status {
            RowStatus::Deleted | RowStatus::Ready => Err(useless(&row)),
            _ => Ok(Found::Stored(row)),
        }
    }

    /// The sandbox, able to take requests: woken if it is hibernated. Otherwise what became of it.
    pub(crate) async fn running(self: &Arc<Self>, id: &str) -> Result<Arc<Sandbox>, EngineError> {
        let sandbox = self.in_memory(id).await?;
        sandbox.check_not_paused()?;
        Ok(sandbox)
    }

    /// The sandbox, running or paused: woken if it is hibernated. Otherwise what became of it.
    pub(super) async fn in_memory(self: &Arc<Self>, id: &str) -> Result<Arc<Sandbox>, EngineError> {
        match self.held(id) {
            Some(sandbox) if !sandbox.is_hibernating() => sandbox.unended(),
            Some(_) => self.wake(id).await,
            None => match self.store.sandbox(id).await? {
                Some(row) if row.status == RowStatus::Hibernated => self.wake(id).await,
                Some(row) => Err(useless(&row)),
                None => Err(EngineError::sandbox_not_found(id)),
            },
        }
    }

    /// The sandbox, running or paused, and the turn to change it.
    pub(super) async fn take_turn(self: &Arc<Self>, id: &str) -> Result<(Arc<Sandbox>, Turn), EngineError> {
        loop {
            let sandbox = self.in_memory(id).await?;
            let turn = self.turns.wait(id).await;
            if sandbox.end_reason().is_none() {
                return Ok((sandbox, turn));
            }
        }
    }

    /// The sandbox, if it is in memory, also one that is about to end.
    pub(super) fn held(&self, id: &str) -> Option<Arc<Sandbox>> {
        self.sandboxes().get(id).cloned()
    }

    /// Carries `work` to its end, whether or not its caller waits for that.
    pub(super) async fn carry_out<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, EngineError>> + Send + 'static,
    ) -> Result<T, EngineError> {
        let done = self.tasks.spawn(work).await;
        done.map_err(|error| EngineError::Internal(format!("the work stopped half-way: {error}")))?
    }
}

/// Why a sandbox with this row takes no requests.
pub(super) fn useless(row: &SandboxRow) -> EngineError {
    let (id, reason) = (&row.id, row.reason.clone().unwrap_or_default());
    match row.status {
        RowStatus::Failed | RowStatus::Ending => EngineError::SandboxGone { id: id.clone(), reason },
        RowStatus::Deleted => EngineError::NotFound(format!("sandbox not found: {id} ({reason})")),
        RowStatus::Creating => EngineError::Conflict(format!("sandbox is still being made: {id}")),
        RowStatus::Running | RowStatus::Paused | RowStatus::Hibernated | RowStatus::Ready => {
            EngineError::sandbox_not_found(id)
        }
    }
}
