//! When a sandbox was last used.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use std::sync::{Mutex, PoisonError};

/// Use of one sandbox. Monotonic, so that a changed wall clock ends no sandbox.
#[derive(Debug)]
pub struct Activity {
    users: AtomicUsize,
    last_use: Mutex<Instant>,
}

impl Default for Activity {
    fn default() -> Self {
        Self { users: AtomicUsize::new(0), last_use: Mutex::new(Instant::now()) }
    }
}

impl Activity {
    /// Marks the sandbox as used just now.
    pub fn touch(&self) {
        *self.last_use.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Time since the last use; zero while a request or a stream lasts.
    pub fn idle(&self) -> Duration {
        if self.users.load(Ordering::Acquire) > 0 {
            return Duration::ZERO;
        }
        self.last_use.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Marks the sandbox as in use until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> InUse {
        self.users.fetch_add(1, Ordering::AcqRel);
        InUse(Arc::clone(self))
    }
}

/// A request or stream that lasts.
#[derive(Debug)]
pub(super) struct InUse(Arc<Activity>);

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.touch();
        self.0.users.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_lasts_is_use_and_its_end_is_the_last_use() {
        let activity = Arc::new(Activity::default());
        std::thread::sleep(Duration::from_millis(30));
        assert!(activity.idle() >= Duration::from_millis(30));
        let stream = activity.begin();
        assert_eq!(activity.idle(), Duration::ZERO);
        std::thread::sleep(Duration::from_millis(30));
        let before_end = Instant::now();
        drop(stream);
        assert!(activity.idle() <= before_end.elapsed());
    }
}
