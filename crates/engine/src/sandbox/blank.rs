//! Blank sandboxes kept ready, so that a new sandbox need not wait for `runsc create`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pandastack_protocol::sandbox::DEFAULT_TEMPLATE;
use uuid::Uuid;

use super::container::Container;
use super::host;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::store::{LOCAL_WORKSPACE, RowStatus, SandboxRow};
use crate::template::Template;

/// Blank sandboxes of the template that was used last. Each carries its final id.
#[derive(Default)]
pub(crate) struct BlankPool {
    ready: Mutex<Vec<Container>>,
    is_filling: AtomicBool,
}

impl BlankPool {
    fn take(&self, template_id: &str) -> Option<Container> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let index = ready.iter().position(|container| container.template_id == template_id)?;
        Some(ready.swap_remove(index))
    }

    fn take_all(&self) -> Vec<Container> {
        std::mem::take(&mut *self.ready.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How many are ready.
    pub(crate) fn len(&self) -> usize {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Inner {
    pub(super) fn take_blank(&self, template: &Template) -> Option<Container> {
        self.blanks.take(&template.id)
    }

    /// Makes new blank sandboxes in the background.
    pub(crate) fn refill_blanks(self: &Arc<Self>, template: &Arc<Template>) {
        if self.closing.is_cancelled() || self.blanks.is_filling.swap(true, Ordering::AcqRel) {
            return;
        }
        let (engine, template) = (Arc::clone(self), Arc::clone(template));
        self.tasks.spawn(async move {
            if let Err(error) = engine.fill_blanks(&template).await {
                tracing::warn!(%error, "no blank sandbox could be made");
            }
            engine.blanks.is_filling.store(false, Ordering::Release);
        });
    }

    /// Gets ready for the first sandbox, which is most likely one of the default template. Without one there is nothing to do yet.
    pub(crate) fn warm_up(self: &Arc<Self>) {
        let engine = Arc::clone(self);
        self.tasks.spawn(async move {
            match engine.find_template(DEFAULT_TEMPLATE).await {
                Ok(template) => engine.refill_blanks(&template),
                Err(error) => tracing::info!(%error, "no blank sandbox is kept ready"),
            }
        });
    }

    async fn fill_blanks(&self, template: &Template) -> Result<(), EngineError> {
        let stale = {
            let mut ready = self.blanks.ready.lock().unwrap_or_else(PoisonError::into_inner);
            ready.extract_if(.., |container| container.template_id != template.id).collect::<Vec<_>>()
        };
        self.remove_blanks(stale).await;
        while self.blanks.len() < self.config.blank_sandboxes && !self.closing.is_cancelled() {
            let id = Uuid::new_v4().to_string();
            self.store.put_sandbox(blank_row(&id, template)).await?;
            match self.make_container(&id, template).await {
                Ok(container) => self.blanks.ready.lock().unwrap_or_else(PoisonError::into_inner).push(container),
                Err(error) => {
                    self.remove_container(&id).await;
                    self.store.remove_sandbox(&id).await?;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Removes all blank sandboxes.
    pub(crate) async fn drop_blanks(&self) {
        let all = self.blanks.take_all();
        self.remove_blanks(all).await;
    }

    async fn remove_blanks(&self, blanks: Vec<Container>) {
        for container in blanks {
            self.forget(&container.id).await;
        }
    }
}

fn blank_row(id: &str, template: &Template) -> SandboxRow {
    SandboxRow {
        id: id.to_owned(),
        workspace: LOCAL_WORKSPACE.to_owned(),
        template: template.name.clone(),
        template_id: template.id.clone(),
        status: RowStatus::Blank,
        reason: None,
        metadata: Default::default(),
        ttl_seconds: 0,
        persistent: false,
        cpu: host::cpus(),
        memory_mb: host::memory_mb(),
        boot_mode: None,
        boot_ms: None,
        created_at: crate::clock::now_rfc3339(),
        epoch: 0,
    }
}
