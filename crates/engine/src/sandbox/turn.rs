//! Whose turn it is to change the state of a sandbox: a snapshot, a pause and a wake do not mix.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;

/// One turn at a time for each sandbox.
#[derive(Default)]
pub(crate) struct Turns(Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>);

/// The turn of one sandbox, until it is dropped.
pub(crate) type Turn = OwnedMutexGuard<()>;

impl Turns {
    /// Waits for the turn.
    pub(super) async fn wait(&self, sandbox_id: &str) -> Turn {
        let turn = {
            let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // Whoever has a turn or waits for it holds another reference.
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            Arc::clone(turns.entry(sandbox_id.to_owned()).or_default())
        };
        turn.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_after_another_and_nothing_is_kept() {
        let turns = Turns::default();
        let first = turns.wait("a").await;
        let mut second = Box::pin(turns.wait("a"));
        assert!(futures::poll!(&mut second).is_pending());
        drop(turns.wait("b").await);
        drop(first);
        drop(second.await);
        drop(turns.wait("c").await);
        assert_eq!(turns.0.lock().unwrap().len(), 1);
    }
}
