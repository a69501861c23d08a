//! Wall-clock time as the API shows it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now, as RFC 3339 in UTC with milliseconds.
pub fn now_rfc3339() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// This long ago, as RFC 3339 in UTC with milliseconds.
pub(crate) fn rfc3339_before(age: std::time::Duration) -> String {
    humantime::format_rfc3339_millis(SystemTime::now().checked_sub(age).unwrap_or(UNIX_EPOCH)).to_string()
}

/// Milliseconds since the Unix epoch as RFC 3339 in UTC; what lies beyond the calendar becomes its last second.
pub fn rfc3339_of_ms(milliseconds: u64) -> String {
    /// The last millisecond of the year 9999.
    const LAST: u64 = 253_402_300_799_999;
    let time = UNIX_EPOCH + std::time::Duration::from_millis(milliseconds.min(LAST));
    humantime::format_rfc3339_millis(time).to_string()
}

/// Seconds since the Unix epoch.
pub(crate) fn unix_seconds() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_times_of_a_sandbox_do_no_harm() {
        assert_eq!(rfc3339_of_ms(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339_of_ms(u64::MAX), "9999-12-31T23:59:59.999Z");
    }
}
