//! Control groups: what bounds all processes of one sandbox together, and all sandboxes of one engine.
//!
//! Each engine has a group of its own, `pandastack/KEY` (KEY stands for its home), with one group below it for each sandbox. It lies near the
//! root, and not below the daemon's own group: sandboxes outlive the daemon, and the next one must find them. Both versions of control groups are
//! used through their files, also mixed: each controller where the host has it.

mod group;
mod hierarchy;
mod mounts;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{fs, io};

pub use group::{Group, GroupLimits};
use hierarchy::Hierarchy;

use crate::home::Home;

/// What is limited by groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controller {
    /// Memory, with everything written in sandboxes.
    Memory,
    /// Processes and threads of the host.
    Pids,
    /// CPU time.
    Cpu,
}

impl Controller {
    const ALL: [Self; 3] = [Self::Memory, Self::Pids, Self::Cpu];

    fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Pids => "pids",
            Self::Cpu => "cpu",
        }
    }
}

/// How long a group may take to become empty once its processes were killed.
const EMPTY_DEADLINE: Duration = Duration::from_secs(10);

/// Pause between two looks at a group that is not empty yet.
const EMPTY_POLL: Duration = Duration::from_millis(5);

/// The groups of one engine.
#[derive(Debug)]
pub struct Cgroups {
    hierarchies: Vec<Hierarchy>,
    /// Below the root of each hierarchy.
    parent: PathBuf,
    /// Most memory of all sandboxes together, in bytes.
    most_memory: u64,
    /// Making a group and removing the empty parent exclude each other.
    changing: Mutex<()>,
}

impl Cgroups {
    /// Finds out where this process may make groups. Controllers that cannot be used are left out, see [`Cgroups::missing`].
    pub fn find(home: &Home, most_memory: u64) -> Self {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self::within(mounts::roots(&mounts, &own), home, most_memory)
    }

    fn within(candidates: Vec<Vec<Hierarchy>>, home: &Home, most_memory: u64) -> Self {
        let key = blake3::hash(home.root().as_os_str().as_encoded_bytes()).to_hex();
        let parent = Path::new("pandastack").join(&key[..16]);
        let usable = |places: Vec<Hierarchy>| places.into_iter().find(|place| place.is_usable(&parent));
        let hierarchies = candidates.into_iter().filter_map(usable).collect();
        Self { hierarchies, parent, most_memory, changing: Mutex::new(()) }
    }

    /// Controllers that cannot be used here, by name.
    pub fn missing(&self) -> Vec<&'static str> {
        let has = |controller| self.hierarchies.iter().any(|hierarchy| hierarchy.has(controller));
        Controller::ALL.into_iter().filter(|controller| !has(*controller)).map(Controller::name).collect()
    }

    /// The group of a sandbox, whether or not it exists.
    pub fn group(&self, id: &str) -> Group {
        Group::at(self.hierarchies.iter().map(|hierarchy| hierarchy.at(&self.parent.join(id))).collect())
    }

    /// The group of all sandboxes.
    pub fn all(&self) -> Group {
        Group::at(self.hierarchies.iter().map(|hierarchy| hierarchy.at(&self.parent)).collect())
    }

    /// Makes the group of a sandbox, empty and with its limits.
    ///
    /// # Errors
    /// If a group cannot be made or a limit not be set. Nothing is left then.
    pub fn make(&self, id: &str, limits: &GroupLimits) -> io::Result<Group> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let group = self.group(id);
        let make = || self.make_parent().and_then(|()| group.make(limits));
        // Another engine may just have removed the group above, which it had shared with nobody.
        let made = make().or_else(|_| make());
        if made.is_err() {
            let _ = group.remove();
        }
        made.map(|()| group)
    }

    fn make_parent(&self) -> io::Result<()> {
        for hierarchy in &self.hierarchies {
            hierarchy.make_parent(&self.parent)?;
        }
        self.all().set_memory(self.most_memory)
    }

    /// Ends whatever is left in the group of a sandbox, and removes it; none there is fine.
    ///
    /// # Errors
    /// If its processes do not end.
    pub async fn remove(&self, id: &str) -> io::Result<()> {
        let group = self.group(id);
        let began = tokio::time::Instant::now();
        while let Err(error) = group.remove() {
            if began.elapsed() > EMPTY_DEADLINE {
                return Err(error);
            }
            group.kill();
            tokio::time::sleep(EMPTY_POLL).await;
        }
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.remove_parent();
        Ok(())
    }

    /// Removes the engine's own group if no sandbox has one, and the one that all engines share if no engine has one.
    fn remove_parent(&self) {
        for hierarchy in &self.hierarchies {
            for path in self.parent.ancestors().filter(|path| !path.as_os_str().is_empty()) {
                let _ = fs::remove_dir(hierarchy.root().join(path));
            }
        }
    }

    /// Ids of the sandboxes that have a group.
    pub fn ids(&self) -> HashSet<String> {
        let parents = self.hierarchies.iter().map(|hierarchy| hierarchy.root().join(&self.parent));
        let entries = parents.flat_map(|parent| fs::read_dir(parent).into_iter().flatten().flatten());
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

#[cfg(test)]
mod tests;
