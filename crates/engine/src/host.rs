//! What the host has to give.

use crate::error::EngineError;

/// Memory that must be free before another sandbox is made, in bytes.
const MIN_FREE_MEMORY: u64 = 256 << 20;

/// Memory that must be free before a sandbox is made that nobody has asked for, in bytes.
const MIN_FREE_MEMORY_FOR_SPARES: u64 = 2 << 30;

/// Seconds after which a refused caller may try again.
const RETRY_AFTER: u32 = 5;

/// Refuses where one more sandbox would hurt the host.
pub(crate) fn check_room() -> Result<(), EngineError> {
    match memory_kib("MemAvailable:") {
        Some(available) if available << 10 < MIN_FREE_MEMORY => Err(EngineError::Capacity {
            message: format!("not enough memory for another sandbox: {} MiB available on the host", available >> 10),
            retry_after: RETRY_AFTER,
        }),
        _ => Ok(()),
    }
}

/// True if the host has memory for sandboxes that nobody has asked for yet.
pub(crate) fn has_room_for_spares() -> bool {
    memory_kib("MemAvailable:").is_none_or(|available| available << 10 >= MIN_FREE_MEMORY_FOR_SPARES)
}

/// The host's memory in MiB.
pub(crate) fn memory_mb() -> u32 {
    memory_kib("MemTotal:").map_or(0, |kib| u32::try_from(kib >> 10).unwrap_or(u32::MAX))
}

/// The host's processors.
pub(crate) fn cpus() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

fn memory_kib(field: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_read() {
        assert!(memory_mb() > 64);
        assert!(memory_kib("MemAvailable:").is_some());
    }
}
