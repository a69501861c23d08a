//! Making a sandbox.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use pandastack_protocol::sandbox::{CreateSandbox, SandboxInfo};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::container::Container;
use super::plan::Plan;
use super::{Sandbox, host, identity};
use crate::engine::Inner;
use crate::error::EngineError;
use crate::guest::Connection;
use crate::store::{RowStatus, SandboxRow};

/// How long a restored or booted agent may take to answer. A cold boot of a loaded machine is the slow case.
const HELLO_DEADLINE: Duration = Duration::from_secs(60);

/// Whoever asked for a sandbox; it is no longer wanted once they have gone.
type Caller = oneshot::Sender<Result<Unclaimed, EngineError>>;

/// A sandbox that its caller has not taken yet: dropped, it is removed.
struct Unclaimed {
    engine: Arc<Inner>,
    sandbox: Option<Arc<Sandbox>>,
}

impl Unclaimed {
    fn claim(mut self) -> Option<Arc<Sandbox>> {
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
        let plan = Plan::of(request, self).await?;
        host::check_room()?;
        let (caller, answer) = oneshot::channel();
        let engine = Arc::clone(self);
        self.tasks.spawn(async move {
            engine.creating.fetch_add(1, Ordering::Relaxed);
            let made = engine.make_sandbox(&plan, &caller).await;
            engine.creating.fetch_sub(1, Ordering::Relaxed);
            let unclaimed = made.map(|sandbox| Unclaimed { engine: Arc::clone(&engine), sandbox: Some(sandbox) });
            engine.refill_blanks(&plan.template);
            let _ = caller.send(unclaimed);
        });
        let made = answer.await.map_err(|_| EngineError::Internal("making the sandbox stopped half-way".to_owned()))??;
        let sandbox = made.claim().ok_or_else(|| EngineError::Internal("the sandbox was already taken".to_owned()))?;
        Ok(sandbox.info())
    }

    async fn make_sandbox(self: &Arc<Self>, plan: &Plan, caller: &Caller) -> Result<Arc<Sandbox>, EngineError> {
        let began = Instant::now();
        let _permit = self.starting.acquire().await.map_err(|_| closing())?;
        if let Some(container) = self.take_blank(&plan.template) {
            match self.bring_up(plan, container, began, caller).await {
                // A blank sandbox may have died while it waited.
                Err(EngineError::Runsc(error)) => tracing::warn!(%error, "a blank sandbox could not be used"),
                outcome => return outcome,
            }
        }
        let id = Uuid::new_v4().to_string();
        self.store.put_sandbox(plan.row(&id)).await?;
        match self.make_container(&id, &plan.template).await {
            Ok(container) => self.bring_up(plan, container, began, caller).await,
            Err(error) => {
                self.forget(&id).await;
                Err(error)
            }
        }
    }

    /// Makes a running sandbox out of a blank one, or removes it.
    async fn bring_up(self: &Arc<Self>, plan: &Plan, container: Container, began: Instant, caller: &Caller) -> Result<Arc<Sandbox>, EngineError> {
        let id = container.id.clone();
        let outcome = self.fill_in(plan, container, began, caller).await;
        if outcome.is_err() {
            self.forget(&id).await;
        }
        outcome
    }

    async fn fill_in(self: &Arc<Self>, plan: &Plan, container: Container, began: Instant, caller: &Caller) -> Result<Arc<Sandbox>, EngineError> {
        let id = container.id;
        let row = plan.row(&id);
        let (bundle, checkpoint) = (self.bundle(&id), plan.template.checkpoint());
        let (written, started) = tokio::join!(self.store.put_sandbox(row.clone()), self.runsc.restore_into(&id, &bundle, &checkpoint));
        written?;
        started?;
        self.check_wanted(caller)?;

        let connection = Connection::open(&id, &self.stdio(&id), 0, true)?;
        let hello = identity::hello(&id, &plan.template.environment, true);
        tokio::select! {
            acknowledged = connection.hello(&hello, HELLO_DEADLINE) => acknowledged.map(drop)?,
            () = container.process.ended() => return Err(EngineError::Internal(format!("the sandbox ended while it started{}", connection.last_words()))),
        }
        self.check_wanted(caller)?;

        let row = SandboxRow {
            status: RowStatus::Running,
            boot_mode: Some("snapshot".to_owned()),
            boot_ms: Some(began.elapsed().as_millis() as u64),
            epoch: connection.epoch(),
            ..row
        };
        self.store.put_sandbox(row.clone()).await?;
        Ok(self.register(Sandbox::new(row, container.process, connection)))
    }

    fn check_wanted(&self, caller: &Caller) -> Result<(), EngineError> {
        if caller.is_closed() { Err(EngineError::Internal("its creation was aborted".to_owned())) } else { self.check_open() }
    }

    /// From now on the sandbox takes requests and is watched.
    pub(super) fn register(self: &Arc<Self>, sandbox: Arc<Sandbox>) -> Arc<Sandbox> {
        let info = sandbox.info();
        self.sandboxes().insert(info.id.clone(), Arc::clone(&sandbox));
        self.watch(&sandbox);
        if let Some(on_running) = &self.config.on_running {
            on_running(info, sandbox.guest());
        }
        sandbox
    }

    /// Refuses once the engine is about to close.
    pub(crate) fn check_open(&self) -> Result<(), EngineError> {
        if self.closing.is_cancelled() { Err(closing()) } else { Ok(()) }
    }
}

fn closing() -> EngineError {
    EngineError::Capacity { message: "the engine is shutting down".to_owned(), retry_after: 1 }
}
