//! Making a sandbox.

use std::sync::Arc;
use std::time::Instant;

use pandastack_protocol::sandbox::{CreateSandbox, SandboxInfo};
use serde_json::json;
use tokio::sync::oneshot;

use super::Sandbox;
use super::plan::Plan;
use super::restore::ReadySandbox;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::store::{RowStatus, SandboxRow};

/// A sandbox that its caller has not taken yet: dropped, it is removed.
pub(super) struct Unclaimed {
    engine: Arc<Inner>,
    sandbox: Option<Arc<Sandbox>>,
}

impl Unclaimed {
    pub(super) fn new(engine: &Arc<Inner>, sandbox: Arc<Sandbox>) -> Self {
        Self { engine: Arc::clone(engine), sandbox: Some(sandbox) }
    }

    pub(super) fn claim(mut self) -> Option<Arc<Sandbox>> {
        self.sandbox.take()
    }
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let Some(sandbox) = self.sandbox.take() {
            let (engine, id) = (Arc::clone(&self.engine), sandbox.row().id.clone());
            self.engine.tasks.spawn(async move { engine.remove_sandbox(&id, "its creation was aborted").await });
        }
    }
}

impl Inner {
    /// Makes a sandbox in a task of its own, so that a caller who goes away cannot leave half of one behind.
    pub(crate) async fn create_sandbox(self: &Arc<Self>, request: CreateSandbox) -> Result<SandboxInfo, EngineError> {
        self.check_open()?;
        let began = Instant::now();
        let plan = Plan::of(request, self).await?;
        let room = self.take_room(1)?;
        let (mut caller, answer) = oneshot::channel();
        let engine = Arc::clone(self);
        self.tasks.spawn(async move {
            let made = engine.make_sandbox(&plan, began, caller.closed()).await;
            drop(room);
            // If nobody waits any more, the sandbox is dropped unclaimed.
            let _ = caller.send(made.map(|sandbox| Unclaimed::new(&engine, sandbox)));
            engine.refill_pool_later(&plan.template);
        });
        let made =
            answer.await.map_err(|_| EngineError::Internal("making the sandbox stopped half-way".to_owned()))??;
        let sandbox = made.claim().ok_or_else(|| EngineError::Internal("the sandbox was already taken".to_owned()))?;
        Ok(sandbox.info())
    }

    async fn make_sandbox(
        self: &Arc<Self>,
        plan: &Plan,
        began: Instant,
        abandoned: impl Future<Output = ()>,
    ) -> Result<Arc<Sandbox>, EngineError> {
        let ready = match plan.snapshot {
            None if plan.limits == self.config.limits => self.take_ready(&plan.template).await,
            _ => None,
        };
        let (ready, boot_mode) = match ready {
            Some(ready) => (ready, "warm"),
            None => {
                let image = match &plan.image {
                    Some(image) => Some(image.folder().to_owned()),
                    None => Self::beginning(&plan.template, &plan.limits),
                };
                let (template, row) = (&plan.template, |id: &str| plan.row(id));
                let made = self.restore_sandbox(template, image.as_deref(), &plan.limits, row, abandoned).await?;
                (made, if image.is_some() { "snapshot" } else { "cold" })
            }
        };
        let row = plan.row(&ready.id);
        self.begin_life(ready, row, boot_mode, began).await
    }

    /// Makes a sandbox of what was restored under the row's id. If that fails, nothing of it is left.
    pub(super) async fn begin_life(
        self: &Arc<Self>,
        ready: ReadySandbox,
        row: SandboxRow,
        boot_mode: &str,
        began: Instant,
    ) -> Result<Arc<Sandbox>, EngineError> {
        let row = SandboxRow { status: RowStatus::Running, boot_mode: Some(boot_mode.to_owned()), ..row };
        let begun = async {
            self.give_secrets(&ready.connection, &row).await?;
            let boot_ms = Some(began.elapsed().as_millis() as u64);
            let row = SandboxRow { boot_ms, epoch: ready.connection.epoch(), ..row };
            self.store.put_sandbox(row.clone()).await?;
            Ok(row)
        };
        let row = match begun.await {
            Ok(row) => row,
            Err(error) => {
                self.forget(&ready.id).await;
                return Err(error);
            }
        };
        let ReadySandbox { process, connection, group, .. } = ready;
        self.events.record(&row.id, "sandbox.running", json!({"boot_mode": row.boot_mode, "boot_ms": row.boot_ms}));
        let egress = self.open_egress(&row);
        Ok(self.register(Sandbox::new(row, process, connection, group, egress)))
    }

    /// From now on the sandbox takes requests and is watched.
    pub(super) fn register(self: &Arc<Self>, sandbox: Arc<Sandbox>) -> Arc<Sandbox> {
        let info = sandbox.info();
        self.sandboxes().insert(info.id.clone(), Arc::clone(&sandbox));
        self.watch(&sandbox);
        if let Some(on_running) = &self.config.on_running {
            on_running(info, sandbox.guest(), Arc::clone(sandbox.egress()));
        }
        sandbox
    }

    /// Refuses what would change something while the engine is about to close.
    pub(super) fn check_open(&self) -> Result<(), EngineError> {
        if self.closing.is_cancelled() {
            return Err(EngineError::Capacity { message: "the engine is shutting down".to_owned(), retry_after: 1 });
        }
        Ok(())
    }
}
