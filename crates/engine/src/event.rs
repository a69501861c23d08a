//! What happens to sandboxes, written down in the background.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pandastack_protocol::event::SandboxEvent;
use serde_json::Value;
use tokio::sync::{Notify, broadcast};
use tokio_util::sync::CancellationToken;

use crate::clock;
use crate::error::EngineError;
use crate::store::Store;

/// Events that come within this time are written together.
const GATHER: Duration = Duration::from_millis(200);

/// Most events that wait to be written, while the store cannot.
const MOST_PENDING: usize = 10_000;

/// Events that a follower may be behind.
const MOST_BEHIND: usize = 256;

/// The events of all sandboxes. Clones share them.
#[derive(Clone)]
pub struct EventLog {
    shared: Arc<Shared>,
}

struct Shared {
    store: Store,
    pending: Mutex<Vec<SandboxEvent>>,
    /// One writer at a time, so that who waits for it finds everything written.
    writing: tokio::sync::Mutex<()>,
    came: Notify,
    live: broadcast::Sender<SandboxEvent>,
}

impl EventLog {
    /// Events that go to `store`.
    pub fn new(store: Store) -> Self {
        let shared = Shared {
            store,
            pending: Mutex::default(),
            writing: tokio::sync::Mutex::default(),
            came: Notify::new(),
            live: broadcast::Sender::new(MOST_BEHIND),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Notes an event; it is on disk a moment later.
    pub fn record(&self, sandbox_id: &str, kind: &str, payload: Value) {
        let event = SandboxEvent {
            time: clock::now_rfc3339(),
            sandbox_id: sandbox_id.to_owned(),
            kind: kind.to_owned(),
            payload: Some(payload).filter(|payload| !payload.is_null()),
            ..SandboxEvent::default()
        };
        let _ = self.shared.live.send(event.clone());
        let mut pending = self.pending();
        if pending.len() < MOST_PENDING {
            pending.push(event);
        }
        drop(pending);
        self.shared.came.notify_one();
    }

    /// The last `tail` events of a sandbox, oldest first; all that are kept if `None`.
    pub async fn of(&self, sandbox_id: &str, tail: Option<usize>) -> Result<Vec<SandboxEvent>, EngineError> {
        self.write().await?;
        self.shared.store.events(sandbox_id, tail).await
    }

    /// Events of all sandboxes from now on.
    pub fn follow(&self) -> broadcast::Receiver<SandboxEvent> {
        self.shared.live.subscribe()
    }

    /// Writes what comes until the engine closes.
    pub(crate) async fn keep_writing(self, closing: CancellationToken) {
        while closing.run_until_cancelled(self.shared.came.notified()).await.is_some() {
            closing.run_until_cancelled(tokio::time::sleep(GATHER)).await;
            if let Err(error) = self.write().await {
                tracing::error!(%error, "events could not be written");
            }
        }
    }

    /// Writes what waits.
    pub(crate) async fn write(&self) -> Result<(), EngineError> {
        let _writing = self.shared.writing.lock().await;
        let events = std::mem::take(&mut *self.pending());
        if events.is_empty() {
            return Ok(());
        }
        let written = self.shared.store.put_events(events.clone()).await;
        if written.is_err() {
            let mut pending = self.pending();
            let newer = std::mem::replace(&mut *pending, events);
            pending.extend(newer);
        }
        written
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, Vec<SandboxEvent>> {
        self.shared.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn the_last_thousand_events_of_a_sandbox_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("engine.db")).unwrap();
        let events = EventLog::new(store.clone());
        events.record("other", "sandbox.running", Value::Null);
        for number in 0..1005 {
            events.record("a", "egress.denied", json!({"number": number}));
        }
        let kept = EventLog::new(store.clone());
        assert!(kept.of("a", None).await.unwrap().is_empty(), "written too early to tell");
        let all = events.of("a", None).await.unwrap();
        assert_eq!(all.len(), 1000);
        assert_eq!(all[0].payload, Some(json!({"number": 5})));
        let tail = kept.of("a", Some(2)).await.unwrap();
        assert_eq!(tail[1].payload, Some(json!({"number": 1004})));
        assert_eq!(tail.len(), 2);
        assert_eq!(kept.of("other", None).await.unwrap()[0].payload, None);
    }

    #[tokio::test]
    async fn a_follower_sees_events_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let events = EventLog::new(Store::open(&folder.path().join("engine.db")).unwrap());
        let mut follower = events.follow();
        events.record("a", "sandbox.paused", Value::Null);
        assert_eq!(follower.recv().await.unwrap().kind, "sandbox.paused");
    }
}
