//! What a sandbox may use: the engine's defaults, what a caller asks for, and what follows from it.
//!
//! `docs/sandbox/limits.md` tells what happens where a limit is reached.

use pandastack_guest_protocol::hello;
use pandastack_protocol::limits::SandboxLimits;
use serde::{Deserialize, Serialize};

use crate::cgroup::GroupLimits;
use crate::error::EngineError;
use crate::host;
use crate::runsc::TMPFS_MOUNTS;

/// The disk that checkpoints of templates are baked with, in GiB: with any other a sandbox has to be booted.
pub const BAKED_DISK_GB: u32 = 4;

/// Memory of the sandbox's own kernel and agent, in bytes.
const OVERHEAD: u64 = 96 << 20;

/// Address space that a kernel gets beyond its memory, in bytes: what libraries and stacks of threads map and never touch.
const UNTOUCHED: u64 = 1 << 30;

/// Least address space that a program may ask for, in bytes: the browser that draws plotly figures reserves more than 4 GiB.
const MIN_ADDRESS_SPACE: u64 = 12 << 30;

/// Host tasks that come on top of two for each process of the sandbox: threads of its kernel.
const OWN_TASKS: u64 = 256;

/// The limits that hold for a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// CPU time in thousandths of a processor.
    pub cpu_millis: u32,
    /// Memory of programs, in MiB.
    pub memory_mb: u32,
    /// Processes and threads.
    pub processes: u32,
    /// Writable layer, in GiB.
    pub disk_gb: u32,
    /// Open files of a process.
    pub open_files: u32,
    /// Longest time of a cell, in seconds. None: no limit.
    pub cell_seconds: Option<u32>,
    /// Most bytes of each output stream of a cell or command. None: no limit but that of an answer.
    pub output_bytes: Option<u64>,
}

impl Default for Limits {
    /// All processors, a quarter of the host's memory (1 to 8 GiB), 512 processes, 4 GiB of disk, 65536 open files; no limit of time and output.
    fn default() -> Self {
        Self {
            cpu_millis: host::cpus() * 1000,
            memory_mb: (host::memory_mb() / 4).clamp(1024, 8192),
            processes: 512,
            disk_gb: BAKED_DISK_GB,
            open_files: 65_536,
            cell_seconds: None,
            output_bytes: None,
        }
    }
}

impl Limits {
    /// These limits but for what is asked for.
    ///
    /// # Errors
    /// [`EngineError::BadRequest`] names the limit that cannot be.
    pub fn with(self, asked: &SandboxLimits) -> Result<Self, EngineError> {
        if let Some(name) = asked.extra.keys().next() {
            return Err(EngineError::BadRequest(format!("unknown limit: `{}`", name.escape_debug())));
        }
        let memory = u64::from(host::memory_mb()).max(256);
        let cpu_millis = match asked.cpu {
            Some(cpu) => within("cpu", cpu, 0.1, f64::from(host::cpus())).map(|cpu| (cpu * 1000.0).round() as u32)?,
            None => self.cpu_millis,
        };
        Ok(Self {
            cpu_millis,
            memory_mb: asked.memory_mb.map_or(Ok(self.memory_mb), |value| number("memory_mb", value, 256, memory))?,
            processes: asked.processes.map_or(Ok(self.processes), |value| number("processes", value, 16, 4096))?,
            disk_gb: asked.disk_gb.map_or(Ok(self.disk_gb), |value| number("disk_gb", value, 1, 64))?,
            open_files: asked
                .open_files
                .map_or(Ok(self.open_files), |value| number("open_files", value, 64, 1 << 20))?,
            cell_seconds: match asked.cell_seconds {
                Some(value) => Some(number("cell_seconds", value, 1, 31_536_000)?),
                None => self.cell_seconds,
            },
            output_bytes: match asked.output_bytes {
                Some(value) => Some(number("output_bytes", value, 1024, 1 << 50)?),
                None => self.output_bytes,
            },
        })
    }

    /// As the API shows them.
    pub fn info(&self) -> SandboxLimits {
        SandboxLimits {
            cpu: Some(f64::from(self.cpu_millis) / 1000.0),
            memory_mb: Some(self.memory_mb),
            processes: Some(self.processes),
            disk_gb: Some(self.disk_gb),
            open_files: Some(self.open_files),
            cell_seconds: self.cell_seconds,
            output_bytes: self.output_bytes,
            ..SandboxLimits::default()
        }
    }

    /// Processors, rounded up.
    pub fn cpus(&self) -> u32 {
        self.cpu_millis.div_ceil(1000)
    }

    /// Size of the writable layer over the root image, in bytes.
    pub fn disk_bytes(&self) -> u64 {
        u64::from(self.disk_gb) << 30
    }

    /// What bounds all host processes of the sandbox together. Everything written in a sandbox lies in memory, so its sizes count too: a full
    /// disk must end in an error of the writer, and not in the want of memory.
    pub fn group(&self) -> GroupLimits {
        let files = self.disk_bytes() + TMPFS_MOUNTS.iter().map(|(_, _, size)| size).sum::<u64>();
        GroupLimits {
            memory_bytes: self.memory_bytes() + files + OVERHEAD,
            tasks: 4 * u64::from(self.processes) + OWN_TASKS,
            cpu_millis: (self.cpu_millis < host::cpus() * 1000).then_some(self.cpu_millis),
        }
    }

    /// What the agent sets on each program.
    pub fn guest(&self) -> hello::Limits {
        hello::Limits {
            memory_bytes: (self.memory_bytes() + UNTOUCHED).max(MIN_ADDRESS_SPACE),
            kernel_memory_bytes: self.memory_bytes() + UNTOUCHED,
            processes: u64::from(self.processes),
            open_files: u64::from(self.open_files),
        }
    }

    /// The time limit of a cell that asks for `asked` milliseconds.
    pub fn cell_ms(&self, asked: Option<u64>) -> Option<u64> {
        let most = self.cell_seconds.map(|seconds| u64::from(seconds) * 1000);
        asked.into_iter().chain(most).min()
    }

    fn memory_bytes(&self) -> u64 {
        u64::from(self.memory_mb) << 20
    }
}

fn number<T: Copy + Into<u64> + std::fmt::Display>(
    name: &str,
    value: T,
    least: u64,
    most: u64,
) -> Result<T, EngineError> {
    if (least..=most).contains(&value.into()) { Ok(value) } else { Err(refused(name, value, least, most)) }
}

fn within(name: &str, value: f64, least: f64, most: f64) -> Result<f64, EngineError> {
    if (least..=most).contains(&value) { Ok(value) } else { Err(refused(name, value, least, most)) }
}

fn refused<T: std::fmt::Display, B: std::fmt::Display>(name: &str, value: T, least: B, most: B) -> EngineError {
    EngineError::BadRequest(format!("limits.{name} must be between {least} and {most}: `{value}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_asked_for_stays() {
        let defaults = Limits { cell_seconds: Some(60), ..Limits::default() };
        let asked = SandboxLimits { memory_mb: Some(512), cpu: Some(0.5), ..SandboxLimits::default() };
        let limits = defaults.with(&asked).unwrap();
        assert_eq!(limits, Limits { memory_mb: 512, cpu_millis: 500, ..defaults });
        assert_eq!(Limits::default().with(&limits.info()).unwrap(), limits);
    }

    #[test]
    fn impossible_limits_are_refused_by_name() {
        let none = SandboxLimits::default();
        for (asked, name) in [
            (SandboxLimits { cpu: Some(f64::NAN), ..none.clone() }, "cpu"),
            (SandboxLimits { cpu: Some(0.0), ..none.clone() }, "cpu"),
            (SandboxLimits { cpu: Some(1e9), ..none.clone() }, "cpu"),
            (SandboxLimits { memory_mb: Some(255), ..none.clone() }, "memory_mb"),
            (SandboxLimits { memory_mb: Some(u32::MAX), ..none.clone() }, "memory_mb"),
            (SandboxLimits { processes: Some(0), ..none.clone() }, "processes"),
            (SandboxLimits { disk_gb: Some(65), ..none.clone() }, "disk_gb"),
            (SandboxLimits { open_files: Some(1), ..none.clone() }, "open_files"),
            (SandboxLimits { cell_seconds: Some(0), ..none.clone() }, "cell_seconds"),
            (SandboxLimits { output_bytes: Some(u64::MAX), ..none.clone() }, "output_bytes"),
        ] {
            let error = Limits::default().with(&asked).unwrap_err();
            assert_eq!(error.status(), 400);
            assert!(error.to_string().starts_with(&format!("limits.{name} must be between ")), "{error}");
        }
    }

    #[test]
    fn a_full_disk_leaves_programs_their_memory() {
        let limits = Limits { memory_mb: 1024, disk_gb: 2, ..Limits::default() };
        assert!(limits.group().memory_bytes >= (1 << 30) + (2 << 30) + (2 << 30));
    }

    #[test]
    fn a_cell_gets_the_shorter_time() {
        let limits = Limits { cell_seconds: Some(2), ..Limits::default() };
        assert_eq!(
            (limits.cell_ms(None), limits.cell_ms(Some(1)), limits.cell_ms(Some(9000))),
            (Some(2000), Some(1), Some(2000))
        );
        assert_eq!(Limits::default().cell_ms(None), None);
    }
}
