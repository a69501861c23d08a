//! Room for more sandboxes: what is refused before anything is made.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::engine::Inner;
use crate::error::EngineError;
use crate::host;

/// What a sandbox takes from its first moment on, in bytes.
const MEMORY_OF_IDLE_SANDBOX: u64 = 128 << 20;

/// Seconds after which a refused caller may try again.
const RETRY_AFTER: u32 = 5;

/// Room that was given to sandboxes being made, until it is dropped.
pub(super) struct Room {
    engine: Arc<Inner>,
    count: usize,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.engine.creating.fetch_sub(self.count, Ordering::AcqRel);
    }
}

impl Inner {
    /// Takes room for `count` more sandboxes.
    ///
    /// # Errors
    /// [`EngineError::Capacity`] if there is none.
    pub(super) fn take_room(self: &Arc<Self>, count: usize) -> Result<Room, EngineError> {
        self.check_memory(count)?;
        let most = self.config.most_sandboxes;
        // Under the lock: of two that ask at once only one may get the last place.
        let held = self.sandboxes();
        let present = held.len() + self.creating.load(Ordering::Acquire);
        if present + count > most {
            return Err(full(format!(
                "no room for {count} more: the engine has {present} of at most {most} sandboxes (`serve --most-sandboxes`)"
            )));
        }
        self.creating.fetch_add(count, Ordering::AcqRel);
        Ok(Room { engine: Arc::clone(self), count })
    }

    /// Refuses what does not fit into the memory of the host or of the engine.
    pub(super) fn check_memory(&self, count: usize) -> Result<(), EngineError> {
        host::check_room()?;
        let needed = count as u64 * MEMORY_OF_IDLE_SANDBOX;
        let most = u64::from(self.config.most_memory_mb) << 20;
        match self.cgroups.all().memory_bytes() {
            Some(used) if used + needed > most => Err(full(format!(
                "not enough memory for another sandbox: those of the engine use {} of at most {} MiB (`serve --most-memory-mb`)",
                used >> 20,
                most >> 20
            ))),
            _ => Ok(()),
        }
    }
}

fn full(message: String) -> EngineError {
    EngineError::Capacity { message, retry_after: RETRY_AFTER }
}
