//! How long to wait before the next try.

use std::time::Duration;

/// A random time up to `step`·2ⁿ, at most `cap`.
pub(super) fn jittered(step: Duration, cap: Duration, n: u32) -> Duration {
    let ceiling = cap.min(step.saturating_mul(2u32.saturating_pow(n)));
    ceiling.mul_f64(fastrand::f64())
}

/// 0.5, 0.75, 1.125, … at most 2 seconds: the pace at which a new sandbox is asked again.
pub(super) fn warm_up(n: u32) -> Duration {
    Duration::from_millis(500).mul_f64(1.5f64.powi(n.min(10) as i32)).min(Duration::from_secs(2))
}
