//! Ends sandboxes that nobody uses.

use std::sync::Arc;
use std::time::Duration;

use super::Sandbox;
use super::find::{Found, useless};
use super::plan::check_update;
use crate::clock;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::store::{RowStatus, SandboxRow};
use pandastack_protocol::lifecycle::{LifecycleInfo, UpdateLifecycle};

/// Time between two looks at all sandboxes.
const SCAN_INTERVAL: Duration = Duration::from_secs(1);

/// Looks between two removals of old tombstones.
const SCANS_PER_PRUNE: u32 = 60;

/// How long events outlive their sandbox.
const EVENTS_KEPT: Duration = Duration::from_secs(3600);

impl Inner {
    /// Scans until the engine closes.
    pub(crate) fn start_reaper(self: &Arc<Self>) {
        let engine = Arc::clone(self);
        self.tasks.spawn(async move {
            let scan = async {
                for count in 0u32.. {
                    tokio::time::sleep(SCAN_INTERVAL).await;
                    engine.reap_idle().await;
                    engine.shrink_pools().await;
                    if count.is_multiple_of(SCANS_PER_PRUNE)
                        && let Err(error) = engine.prune().await
                    {
                        tracing::error!(%error, "could not forget old sandboxes");
                    }
                }
            };
            tokio::select! {
                () = engine.closing.cancelled() => {}
                () = scan => {}
            }
        });
    }

    /// Forgets what ended long ago, and what happened to it.
    async fn prune(&self) -> Result<(), EngineError> {
        self.store.prune_sandboxes().await?;
        self.store.prune_events(clock::rfc3339_before(EVENTS_KEPT)).await
    }

    /// Deletes what nobody has used for long enough; what is to persist is stored on disk instead.
    async fn reap_idle(self: &Arc<Self>) {
        let all: Vec<_> = self.sandboxes().values().cloned().collect();
        let expired = all.into_iter().filter_map(|sandbox| {
            let (persistent, ttl) = {
                let row = sandbox.row();
                (row.persistent, row.ttl_seconds)
            };
            let is_expired = sandbox.activity().idle().as_secs() as i64 >= ttl;
            is_expired.then_some((sandbox, ttl, persistent))
        });
        let ends = expired.map(|(sandbox, ttl, persistent)| async move {
            if !persistent {
                self.end_sandbox(&sandbox, RowStatus::Deleted, &format!("deleted after {ttl} s without use")).await;
            } else if ttl > 0 && !sandbox.is_hibernating() {
                self.hibernate_idle(&sandbox).await;
            }
        });
        futures::future::join_all(ends).await;
    }

    async fn hibernate_idle(self: &Arc<Self>, sandbox: &Sandbox) {
        let id = sandbox.row().id.clone();
        if let Err(error) = self.hibernate_sandbox(&id).await {
            tracing::warn!(sandbox_id = id, %error, "could not hibernate an idle sandbox; it is tried again when as much time has passed");
            sandbox.activity().touch();
        }
    }

    /// How long a sandbox lives; the idle time is the one before this call, which counts as use.
    pub(crate) async fn lifecycle(&self, id: &str) -> Result<LifecycleInfo, EngineError> {
        let (row, idle_seconds) = match self.find(id).await? {
            Found::Held(sandbox) => {
                let idle_seconds = sandbox.activity().idle().as_secs() as i64;
                sandbox.activity().touch();
                (sandbox.row().clone(), idle_seconds)
            }
            Found::Stored(row) if row.status == RowStatus::Hibernated => (row, 0),
            Found::Stored(row) => return Err(useless(&row)),
        };
        Ok(LifecycleInfo { ttl_seconds: row.ttl_seconds, persistent: row.persistent, idle_seconds })
    }

    /// Changes how long a sandbox lives.
    pub(crate) async fn update_lifecycle(
        &self,
        id: &str,
        update: UpdateLifecycle,
    ) -> Result<LifecycleInfo, EngineError> {
        check_update(&update)?;
        // A sandbox that hibernates or wakes meanwhile would forget the change.
        let _turn = self.turns.wait(id).await;
        let change = |row: &mut SandboxRow| {
            row.ttl_seconds = update.ttl_seconds.unwrap_or(row.ttl_seconds);
            row.persistent = update.persistent.unwrap_or(row.persistent);
            (row.ttl_seconds, row.persistent)
        };
        let (ttl_seconds, persistent) = match self.find(id).await? {
            Found::Held(sandbox) => {
                sandbox.activity().touch();
                change(&mut sandbox.row())
            }
            Found::Stored(mut row) if row.status == RowStatus::Hibernated => change(&mut row),
            Found::Stored(row) => return Err(useless(&row)),
        };
        self.store.set_lifecycle(id, ttl_seconds, persistent).await?;
        Ok(LifecycleInfo { ttl_seconds, persistent, idle_seconds: 0 })
    }
}
