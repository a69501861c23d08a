//! How many sandboxes were asked for lately: so many are kept ready.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What was asked for longer ago than this does not count.
const MEMORY: Duration = Duration::from_secs(30);

/// Most requests that are remembered.
const MOST: usize = 64;

/// Requests of the last half minute.
#[derive(Default)]
pub(crate) struct Demand {
    ready: Recent,
    blank: Recent,
}

impl Demand {
    /// A sandbox was asked for that could have been ready.
    pub(super) fn count_ready(&self) {
        self.ready.add(Instant::now());
    }

    /// A blank sandbox was asked for.
    pub(super) fn count_blank(&self) {
        self.blank.add(Instant::now());
    }

    /// How many restored sandboxes to keep: at least one.
    pub(super) fn ready(&self, most: usize) -> usize {
        self.ready.count(Instant::now()).max(1).min(most)
    }

    /// How many blank sandboxes to keep: at least one.
    pub(super) fn blank(&self, most: usize) -> usize {
        self.blank.count(Instant::now()).max(1).min(most)
    }
}

#[derive(Default)]
struct Recent(Mutex<VecDeque<Instant>>);

impl Recent {
    fn add(&self, now: Instant) {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if times.len() == MOST {
            times.pop_front();
        }
        times.push_back(now);
    }

    fn count(&self, now: Instant) -> usize {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        times.retain(|time| now.duration_since(*time) < MEMORY);
        times.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_kept_without_demand_and_what_was_asked_for_lately_with_it() {
        let demand = Demand::default();
        assert_eq!((demand.ready(4), demand.blank(4), demand.ready(0)), (1, 1, 0));
        for _ in 0..3 {
            demand.count_ready();
            demand.count_blank();
        }
        assert_eq!((demand.ready(4), demand.blank(2)), (3, 2));
    }

    #[test]
    fn old_demand_is_forgotten() {
        let recent = Recent::default();
        let now = Instant::now();
        (0..100).for_each(|_| recent.add(now));
        assert_eq!(recent.count(now), MOST);
        assert_eq!(recent.count(now + MEMORY), 0);
    }
}
