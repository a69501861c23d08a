//! What the host has to give.

use crate::error::EngineError;

/// Memory that must be free before another sandbox is made, in bytes.
const MIN_FREE_MEMORY: u64 = 256 << 20;

/// Memory that must be free before a sandbox is made that nobody has asked for, in bytes.
const MIN_FREE_MEMORY_FOR_SPARES: u64 = 2 << 30;

/// Least address space of a process, in bytes: the browser that draws plotly figures reserves more than 4 GiB.
const MIN_PROCESS_MEMORY: u64 = 12 << 30;

/// Seconds after which a refused caller may try again.
const RETRY_AFTER: u32 = 5;

/// Refuses where one more sandbox would hurt the host.
pub(super) fn check_room() -> Result<(), EngineError> {
    match memory_kib("MemAvailable:") {
        Some(available) if available << 10 < MIN_FREE_MEMORY => Err(EngineError::Capacity {
            message: format!("not enough memory for another sandbox: {} MiB available on the host", available >> 10),
            retry_after: RETRY_AFTER,
        }),
        _ => Ok(()),
    }
}

/// True if the host has memory for sandboxes that nobody has asked for yet.
pub(super) fn has_room_for_spares() -> bool {
    memory_kib("MemAvailable:").is_none_or(|available| available << 10 >= MIN_FREE_MEMORY_FOR_SPARES)
}

/// The host's memory in MiB.
pub(super) fn memory_mb() -> u32 {
    memory_kib("MemTotal:").map_or(0, |kib| u32::try_from(kib >> 10).unwrap_or(u32::MAX))
}

/// Address space that one process of a sandbox may have, in bytes: half of the host's memory, so that a single allocation ends in an error
/// of its program and not in the host's want of memory. Not less than what programs reserve without using it.
pub(super) fn process_memory_bytes() -> u64 {
    memory_kib("MemTotal:").map_or(0, |kib| (kib << 9).max(MIN_PROCESS_MEMORY))
}

/// The host's processors.
pub(super) fn cpus() -> u32 {
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
        assert!(process_memory_bytes() >= MIN_PROCESS_MEMORY);
        assert!(memory_kib("MemAvailable:").is_some());
    }
}
