//! Whether anybody uses the engine.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Counts requests from their first to their last byte.
#[derive(Debug)]
pub struct Usage {
    now: Mutex<Now>,
}

#[derive(Debug)]
struct Now {
    requests: usize,
    last_use: Instant,
}

/// A request under way; it ends when this is dropped.
#[derive(Debug)]
pub struct InUse {
    usage: Arc<Usage>,
}

impl Default for Usage {
    fn default() -> Self {
        Self { now: Mutex::new(Now { requests: 0, last_use: Instant::now() }) }
    }
}

impl Usage {
    /// A request begins.
    pub fn begin(self: &Arc<Self>) -> InUse {
        self.change(|now| now.requests += 1);
        InUse { usage: self.clone() }
    }

    /// The engine is in use, by something other than a request.
    pub fn touch(&self) {
        self.change(|_| {});
    }

    /// Time since the last use; zero while a request is under way.
    pub fn idle_for(&self) -> Duration {
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if now.requests > 0 { Duration::ZERO } else { now.last_use.elapsed() }
    }

    fn change(&self, change: impl FnOnce(&mut Now)) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut now);
        now.last_use = Instant::now();
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.usage.change(|now| now.requests -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_under_way_are_use() {
        let usage = Arc::new(Usage::default());
        let (first, second) = (usage.begin(), usage.begin());
        drop(first);
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(usage.idle_for(), Duration::ZERO);
        drop(second);
        std::thread::sleep(Duration::from_millis(2));
        assert!(usage.idle_for() > Duration::ZERO);
    }
}
