//! Checks that several routes share.

use std::collections::BTreeMap;

use super::error::{ApiError, excerpt};

/// Most bytes of an environment that is sent with a request.
const MAX_ENVIRONMENT: usize = 1 << 20;

/// Reads a time limit in seconds; fractions are fine, and what is less than a millisecond counts as one.
pub(super) fn seconds_to_ms(name: &str, limit: &serde_json::Number) -> Result<u64, ApiError> {
    match limit.as_f64() {
        Some(seconds) if seconds > 0.0 => Ok(((seconds * 1000.0) as u64).max(1)),
        _ => Err(ApiError::bad_request(format!("{name} must be greater than 0: `{limit}`"))),
    }
}

/// Milliseconds as seconds, without a needless fraction.
pub(super) fn show_seconds(ms: u64) -> String {
    format!("{}", ms as f64 / 1000.0)
}

/// Checks what a process would be refused for.
pub(super) fn check_environment(env: &BTreeMap<String, String>) -> Result<(), ApiError> {
    for (name, value) in env {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(ApiError::bad_request(format!("no name for an environment variable: `{}`", excerpt(name))));
        }
        if value.contains('\0') {
            return Err(ApiError::bad_request(format!(
                "environment variable must not contain NUL: `{}`",
                excerpt(name)
            )));
        }
    }
    let size: usize = env.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
    if size > MAX_ENVIRONMENT {
        return Err(ApiError::too_large(format!("environment too long: {size} bytes, {MAX_ENVIRONMENT} are possible")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_shown_as_people_write_them() {
        assert_eq!(show_seconds(30_000), "30");
        assert_eq!(show_seconds(1500), "1.5");
        assert_eq!(show_seconds(1), "0.001");
    }
}
