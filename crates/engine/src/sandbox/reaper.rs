//! Ends sandboxes that nobody uses.

use std::sync::Arc;
use std::time::Duration;

use super::plan::check_update;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::store::RowStatus;
use pandastack_protocol::lifecycle::{LifecycleInfo, UpdateLifecycle};

/// Time between two looks at all sandboxes.
const SCAN_INTERVAL: Duration = Duration::from_secs(1);

/// Looks between two removals of old tombstones.
const SCANS_PER_PRUNE: u32 = 60;

impl Inner {
    /// Scans until the engine closes.
    pub(crate) fn start_reaper(self: &Arc<Self>) {
        let engine = Arc::clone(self);
        self.tasks.spawn(async move {
            let scan = async {
                for count in 0u32.. {
                    tokio::time::sleep(SCAN_INTERVAL).await;
                    engine.reap_idle().await;
                    if count.is_multiple_of(SCANS_PER_PRUNE)
                        && let Err(error) = engine.store.prune_sandboxes().await
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

    async fn reap_idle(self: &Arc<Self>) {
        let expired: Vec<(String, i64)> = {
            let sandboxes = self.sandboxes();
            let rows = sandboxes.values().map(|sandbox| (sandbox.row().clone(), sandbox.activity().idle()));
            rows.filter(|(row, idle)| !row.persistent && idle.as_secs() as i64 >= row.ttl_seconds)
                .map(|(row, _)| (row.id, row.ttl_seconds))
                .collect()
        };
        let ends = expired.into_iter().map(|(id, ttl)| async move {
            self.end_sandbox(&id, RowStatus::Deleted, &format!("deleted after {ttl} s without use")).await;
        });
        futures::future::join_all(ends).await;
    }

    /// How long a sandbox lives; the idle time is the one before this call, which counts as use.
    pub(crate) async fn lifecycle(&self, id: &str) -> Result<LifecycleInfo, EngineError> {
        let sandbox = self.running(id).await?;
        let idle_seconds = sandbox.activity().idle().as_secs() as i64;
        sandbox.activity().touch();
        let row = sandbox.row();
        Ok(LifecycleInfo { ttl_seconds: row.ttl_seconds, persistent: row.persistent, idle_seconds })
    }

    /// Changes how long a sandbox lives.
    pub(crate) async fn update_lifecycle(
        &self,
        id: &str,
        update: UpdateLifecycle,
    ) -> Result<LifecycleInfo, EngineError> {
        check_update(&update)?;
        let sandbox = self.running(id).await?;
        sandbox.activity().touch();
        let (ttl_seconds, persistent) = {
            let mut row = sandbox.row();
            row.ttl_seconds = update.ttl_seconds.unwrap_or(row.ttl_seconds);
            row.persistent = update.persistent.unwrap_or(row.persistent);
            (row.ttl_seconds, row.persistent)
        };
        self.store.set_lifecycle(id, ttl_seconds, persistent).await?;
        Ok(LifecycleInfo { ttl_seconds, persistent, idle_seconds: 0 })
    }
}
