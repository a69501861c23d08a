//! One group: its limits, its processes, what it uses.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Controller;

/// What all processes of a group may use together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupLimits {
    /// In bytes.
    pub memory_bytes: u64,
    /// Processes and threads of the host.
    pub tasks: u64,
    /// In thousandths of a processor. None: as much as there is.
    pub cpu_millis: Option<u32>,
}

/// Time in which a group may use up its share of the processors, in microseconds.
const CPU_PERIOD: u64 = 100_000;

/// A group in one tree.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) folder: PathBuf,
    pub(super) controllers: Vec<Controller>,
    pub(super) is_unified: bool,
}

impl Place {
    pub(super) fn set(&self, limits: &GroupLimits) -> io::Result<()> {
        for controller in &self.controllers {
            match controller {
                Controller::Memory => self.set_memory(limits.memory_bytes)?,
                Controller::Pids => write(&self.folder.join("pids.max"), &limits.tasks.to_string())?,
                Controller::Cpu => limits.cpu_millis.map_or(Ok(()), |millis| self.set_cpu(millis))?,
            }
        }
        Ok(())
    }

    /// Swap counts too: a sandbox must not push the host into it.
    fn set_memory(&self, bytes: u64) -> io::Result<()> {
        let (limit, swap, most_swap) = match self.is_unified {
            true => ("memory.max", "memory.swap.max", 0),
            false => ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", bytes),
        };
        let limit = self.folder.join(limit);
        // In version 1 the first must not exceed the second, so only one order works: this one to lower both, the other to raise them.
        let limited = write(&limit, &bytes.to_string());
        match write(&self.folder.join(swap), &most_swap.to_string()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        limited.or_else(|_| write(&limit, &bytes.to_string()))
    }

    fn set_cpu(&self, millis: u32) -> io::Result<()> {
        let quota = u64::from(millis) * CPU_PERIOD / 1000;
        if self.is_unified {
            return write(&self.folder.join("cpu.max"), &format!("{quota} {CPU_PERIOD}"));
        }
        write(&self.folder.join("cpu.cfs_period_us"), &CPU_PERIOD.to_string())?;
        write(&self.folder.join("cpu.cfs_quota_us"), &quota.to_string())
    }

    /// What could not be given free at once, in bytes: without copies of files.
    fn memory_bytes(&self) -> Option<u64> {
        let (usage, prefix) =
            if self.is_unified { ("memory.current", "") } else { ("memory.usage_in_bytes", "total_") };
        let used: u64 = fs::read_to_string(self.folder.join(usage)).ok()?.trim().parse().ok()?;
        let stat = fs::read_to_string(self.folder.join("memory.stat")).ok()?;
        let files = ["active_file", "inactive_file"].map(|name| field(&stat, &format!("{prefix}{name}")).unwrap_or(0));
        Some(used.saturating_sub(files.iter().sum()))
    }

    fn memory_kills(&self) -> Option<u64> {
        let file = if self.is_unified { "memory.events" } else { "memory.oom_control" };
        field(&fs::read_to_string(self.folder.join(file)).ok()?, "oom_kill")
    }

    /// True if a process could not be made because there were too many.
    fn tasks_refused(&self) -> bool {
        let events = fs::read_to_string(self.folder.join("pids.events")).unwrap_or_default();
        field(&events, "max").is_some_and(|count| count > 0)
    }

    fn pids(&self) -> Vec<i32> {
        let text = fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }
}

/// A group of one name in all trees.
#[derive(Debug, Clone, Default)]
pub struct Group {
    places: Vec<Place>,
}

impl Group {
    pub(super) fn at(places: Vec<Place>) -> Self {
        Self { places }
    }

    pub(super) fn make(&self, limits: &GroupLimits) -> io::Result<()> {
        self.places.iter().try_for_each(|place| {
            // One that was left behind is taken over.
            match fs::create_dir(&place.folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(named(&place.folder, &error)),
                _ => place.set(limits),
            }
        })
    }

    pub(super) fn set_memory(&self, bytes: u64) -> io::Result<()> {
        let mut with_memory = self.places.iter().filter(|place| place.controllers.contains(&Controller::Memory));
        with_memory.try_for_each(|place| place.set_memory(bytes))
    }

    /// Lets the command run in this group from its first instruction, with all that it starts.
    ///
    /// # Errors
    /// If the group is not there.
    pub fn enter(&self, command: &mut Command) -> io::Result<()> {
        for place in &self.places {
            enter(command, &place.folder.join("cgroup.procs"))?;
        }
        Ok(())
    }

    /// Memory that its processes hold and that could not be given free at once, in bytes. None if that is not known.
    pub fn memory_bytes(&self) -> Option<u64> {
        self.with_memory()?.memory_bytes()
    }

    /// How many processes in it the host has killed because a limit of memory was reached. None if that is not known.
    pub fn memory_kills(&self) -> Option<u64> {
        self.with_memory()?.memory_kills()
    }

    /// True if the host refused a process because the group had too many.
    pub fn tasks_refused(&self) -> bool {
        self.places.iter().any(Place::tasks_refused)
    }

    /// Its folders, one for each tree.
    pub fn folders(&self) -> Vec<PathBuf> {
        self.places.iter().map(|place| place.folder.clone()).collect()
    }

    /// Processes of the host in it, without those in groups below it.
    pub fn pids(&self) -> Vec<i32> {
        self.places.first().map(Place::pids).unwrap_or_default()
    }

    fn with_memory(&self) -> Option<&Place> {
        self.places.iter().find(|place| place.controllers.contains(&Controller::Memory))
    }

    /// Ends everything in it.
    pub(super) fn kill(&self) {
        for pid in self.places.iter().flat_map(Place::pids) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }

    /// Removes it; none there is fine.
    pub(super) fn remove(&self) -> io::Result<()> {
        for place in &self.places {
            match fs::remove_dir(&place.folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(named(&place.folder, &error)),
                _ => {}
            }
        }
        Ok(())
    }
}

fn enter(command: &mut Command, processes: &Path) -> io::Result<()> {
    let file = open(processes)?;
    let enter = move || {
        // SAFETY: a system call on a descriptor that the closure owns, with bytes that live for ever. `0` stands for the writer.
        match unsafe { libc::write(file.as_raw_fd(), b"0".as_ptr().cast(), 1) } {
            1 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec `enter` makes one system call and allocates nothing.
    unsafe { command.pre_exec(enter) };
    Ok(())
}

/// Tries to move a process of our own into the group with this list of processes.
pub(super) fn can_enter(processes: &Path) -> io::Result<()> {
    let mut command = Command::new("true");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    enter(&mut command, processes)?;
    command.status().map(drop)
}

pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    open(path)?.write_all(text.as_bytes()).map_err(|error| named(path, &error))
}

/// Without `O_CREAT`, which these file systems refuse in their own way.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path).map_err(|error| named(path, &error))
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{error}: `{}`", path.display()))
}

/// The number after a name in a file of `name number` lines.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}
