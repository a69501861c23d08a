//! Watching a sandbox: its process, its connection, its heartbeat.

use std::sync::Arc;
use std::time::Duration;

use super::Sandbox;
use crate::engine::Inner;
use crate::store::RowStatus;

/// Heartbeats in a row that may be missed.
const MISSES: u32 = 3;

impl Inner {
    /// Ends the sandbox with a reason as soon as it can no longer be used.
    pub(super) fn watch(self: &Arc<Self>, sandbox: &Arc<Sandbox>) {
        let (engine, sandbox) = (Arc::clone(self), Arc::clone(sandbox));
        self.tasks.spawn(async move {
            let reason = tokio::select! {
                () = engine.closing.cancelled() => return,
                reason = sandbox.connection.closed() => reason.to_string(),
                () = sandbox.process.ended() => how_it_ended(&sandbox),
                () = lost_heartbeat(&sandbox, engine.config.heartbeat_ms) => format!("its agent stopped answering{}", sandbox.connection.last_words()),
            };
            let reason = format!("{reason}; {}", engine.last_snapshot(&sandbox).await);
            engine.end_sandbox(&sandbox, RowStatus::Failed, &reason).await;
        });
    }
}

/// Why the process of a sandbox has ended, as far as its group knows.
fn how_it_ended(sandbox: &Sandbox) -> String {
    let limits = sandbox.limits();
    if sandbox.was_short_of_memory() {
        return format!("it was killed because it reached its memory limit of {} MiB", limits.memory_mb);
    }
    if sandbox.group().tasks_refused() {
        return format!("it ended because it reached the limit of host processes for {} processes", limits.processes);
    }
    format!("its process ended{}", sandbox.connection.last_words())
}

/// Returns after [`MISSES`] heartbeats in a row were not answered in half of the interval. A paused sandbox need not answer.
async fn lost_heartbeat(sandbox: &Sandbox, interval_ms: u64) {
    let guest = sandbox.guest();
    let mut misses = 0;
    while misses < MISSES {
        tokio::time::sleep(Duration::from_millis(interval_ms)).await;
        match guest.health(Duration::from_millis(interval_ms / 2)).await {
            Ok(()) => {
                misses = 0;
                // Programs that were killed so far do not explain the end of the sandbox later.
                sandbox.was_short_of_memory();
            }
            Err(_) if sandbox.is_paused() => misses = 0,
            Err(error) => {
                misses += 1;
                tracing::warn!(sandbox_id = guest.sandbox_id(), %error, misses, "heartbeat missed");
            }
        }
    }
}
