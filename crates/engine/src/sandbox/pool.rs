//! Sandboxes kept ready: restored, warm, with their final id. Handing one out takes milliseconds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pandastack_protocol::sandbox::DEFAULT_TEMPLATE;
use tokio::sync::Notify;

use super::restore::ReadySandbox;
use crate::clock;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::host;
use crate::limits::Limits;
use crate::store::{LOCAL_WORKSPACE, RowStatus, SandboxRow};
use crate::template::Template;

/// Refilling waits this long, so that it does not slow the first steps of the sandbox that was just handed out.
const REFILL_DELAY: Duration = Duration::from_millis(250);

/// How long a sandbox that was kept ready may take to show that it is alive.
const HEALTH_DEADLINE: Duration = Duration::from_millis(500);

/// Ready sandboxes of the template that was used last.
#[derive(Default)]
pub(crate) struct ReadyPool {
    ready: Mutex<Vec<ReadySandbox>>,
    /// Id of the template that new ones are being made of.
    filling: Mutex<Option<String>>,
    /// True while somebody waits for the next one.
    is_awaited: AtomicBool,
    /// Tells the task that fills the pool to begin at once.
    hurry: Notify,
    /// Tells that a sandbox was added, or that none will be.
    changed: Notify,
}

impl ReadyPool {
    fn ready(&self) -> MutexGuard<'_, Vec<ReadySandbox>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, template_id: &str) -> Option<ReadySandbox> {
        let mut ready = self.ready();
        let index = ready.iter().position(|sandbox| sandbox.template_id == template_id)?;
        Some(ready.swap_remove(index))
    }

    fn filling(&self) -> MutexGuard<'_, Option<String>> {
        self.filling.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the sandbox that is being made, if there is one that nobody else waits for: quicker than beside it with another.
    async fn wait_for_next(&self, template_id: &str) {
        let changed = self.changed.notified();
        if self.filling().as_deref() != Some(template_id) || self.is_awaited.swap(true, Ordering::AcqRel) {
            return;
        }
        self.hurry.notify_one();
        changed.await;
        self.is_awaited.store(false, Ordering::Release);
    }

    /// Takes those of other templates.
    fn take_others(&self, template_id: &str) -> Vec<ReadySandbox> {
        self.ready().extract_if(.., |sandbox| sandbox.template_id != template_id).collect()
    }

    /// Takes those that have ended.
    fn take_ended(&self) -> Vec<ReadySandbox> {
        self.ready().extract_if(.., |sandbox| sandbox.process.has_ended()).collect()
    }

    fn take_any(&self) -> Option<ReadySandbox> {
        self.ready().pop()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.ready().len()
    }
}

impl Inner {
    /// A ready sandbox of the template that is alive, if there is one or will be one soon.
    pub(super) async fn take_ready(&self, template: &Template) -> Option<ReadySandbox> {
        self.demand.count_ready();
        if let Some(sandbox) = self.take_alive(template).await {
            return Some(sandbox);
        }
        self.ready_pool.wait_for_next(&template.id).await;
        self.take_alive(template).await
    }

    async fn take_alive(&self, template: &Template) -> Option<ReadySandbox> {
        while let Some(sandbox) = self.ready_pool.take(&template.id) {
            match sandbox.connection.client(&Arc::default()).health(HEALTH_DEADLINE).await {
                Ok(()) => return Some(sandbox),
                Err(error) => {
                    tracing::warn!(sandbox_id = sandbox.id, %error, "a sandbox that was kept ready does not answer");
                    self.forget(&sandbox.id).await;
                }
            }
        }
        None
    }

    /// Gets ready for the first sandbox, which is most likely one of the default template. Without one there is nothing to do yet.
    pub(crate) fn warm_up(self: &Arc<Self>) {
        let engine = Arc::clone(self);
        self.tasks.spawn(async move {
            match engine.find_template(DEFAULT_TEMPLATE).await {
                Ok(template) => engine.refill_pool(&template, Duration::ZERO),
                Err(error) => tracing::info!(%error, "no sandbox is kept ready"),
            }
        });
    }

    /// Makes new ones in the background after one was handed out.
    pub(super) fn refill_pool_later(self: &Arc<Self>, template: &Arc<Template>) {
        self.refill_pool(template, REFILL_DELAY);
    }

    fn refill_pool(self: &Arc<Self>, template: &Arc<Template>, delay: Duration) {
        {
            let mut filling = self.ready_pool.filling();
            if self.closing.is_cancelled() || filling.is_some() {
                return;
            }
            *filling = Some(template.id.clone());
        }
        let (engine, template) = (Arc::clone(self), Arc::clone(template));
        self.tasks.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = engine.ready_pool.hurry.notified() => {}
            }
            if let Err(error) = engine.fill_pool(&template).await {
                tracing::warn!(%error, "no sandbox could be made ready");
            }
            engine.ready_pool.filling().take();
            engine.ready_pool.changed.notify_waiters();
        });
    }

    /// Makes as many as were asked for lately.
    async fn fill_pool(&self, template: &Template) -> Result<(), EngineError> {
        for other in self.ready_pool.take_others(&template.id) {
            self.forget(&other.id).await;
        }
        for other in self.blank_pool.take_others(&template.id) {
            self.forget(&other.id).await;
        }
        let limits = &self.config.limits;
        let row = |id: &str| row(id, template, limits);
        while self.ready_pool.len() < self.demand.ready(self.config.ready_sandboxes) && self.has_room_for_spares() {
            let _permit = self.turn_to_start().await?;
            let image = Self::beginning(template, limits);
            let blank = self.new_blank(template, limits, row).await?;
            let sandbox = self.fill_or_forget(blank, template, image.as_deref()).await?;
            self.ready_pool.ready().push(sandbox);
            self.ready_pool.changed.notify_waiters();
        }
        while self.blank_pool.len() < self.demand.blank(self.config.blank_sandboxes) && self.has_room_for_spares() {
            let _permit = self.turn_to_start().await?;
            self.blank_pool.add(self.new_blank(template, limits, row).await?);
        }
        Ok(())
    }

    fn has_room_for_spares(&self) -> bool {
        !self.closing.is_cancelled()
            && host::has_room_for_spares()
            && self.sandboxes().len() < self.config.most_sandboxes
            && self.check_memory(1).is_ok()
    }

    /// Gives back what has ended, and what was kept for a demand that is over.
    pub(super) async fn shrink_pools(&self) {
        let (ready, blank) = (self.ready_pool.take_ended(), self.blank_pool.take_ended());
        let ended = ready.iter().map(|sandbox| &sandbox.id).chain(blank.iter().map(|blank| &blank.id));
        for id in ended {
            tracing::warn!(sandbox_id = id, "a sandbox that was kept ready has ended");
            self.forget(id).await;
        }
        let most = self.demand.ready(self.config.ready_sandboxes);
        while self.ready_pool.len() > most
            && let Some(sandbox) = self.ready_pool.take_any()
        {
            self.forget(&sandbox.id).await;
        }
        let most = self.demand.blank(self.config.blank_sandboxes);
        while self.blank_pool.len() > most
            && let Some(blank) = self.blank_pool.take_any()
        {
            self.forget(&blank.id).await;
        }
    }

    /// Removes all of them.
    pub(crate) async fn drain_pool(&self) {
        let ready = std::mem::take(&mut *self.ready_pool.ready());
        let blank = self.blank_pool.take_all();
        let ids = ready.iter().map(|sandbox| &sandbox.id).chain(blank.iter().map(|blank| &blank.id));
        futures::future::join_all(ids.map(|id| self.forget(id))).await;
    }
}

fn row(id: &str, template: &Template, limits: &Limits) -> SandboxRow {
    SandboxRow {
        id: id.to_owned(),
        workspace: LOCAL_WORKSPACE.to_owned(),
        template: template.name.clone(),
        template_id: template.id.clone(),
        status: RowStatus::Ready,
        reason: None,
        metadata: Default::default(),
        ttl_seconds: 0,
        persistent: false,
        limits: *limits,
        boot_mode: None,
        boot_ms: None,
        created_at: clock::now_rfc3339(),
        epoch: 0,
        from_snapshot: None,
        image: None,
        egress: Default::default(),
    }
}
