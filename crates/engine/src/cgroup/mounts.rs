//! Where the host has mounted its control groups.

use std::fs;
use std::path::{Path, PathBuf};

use super::Controller;
use super::hierarchy::Hierarchy;

/// For each tree the places to try, best first. A tree of version 1 belongs to root, so only its root is tried; in the one of version 2 an ordinary user may have been
/// given a part, in which this process lies.
pub(super) fn roots(mountinfo: &str, own_groups: &str) -> Vec<Vec<Hierarchy>> {
    let mounts: Vec<Mount> = mountinfo.lines().filter_map(Mount::parse).collect();
    let mut left = Controller::ALL.to_vec();
    let mut trees = Vec::new();
    for mount in mounts.iter().filter(|mount| !mount.is_unified) {
        let has = |controller: &Controller| mount.options.split(',').any(|option| option == controller.name());
        let found: Vec<Controller> = left.extract_if(.., |controller| has(controller)).collect();
        if !found.is_empty() {
            trees.push(vec![Hierarchy::new(mount.point.clone(), found, false)]);
        }
    }
    if let Some(mount) = mounts.iter().find(|mount| mount.is_unified) {
        trees.push(unified(&mount.point, own_groups, &left));
    }
    trees
}

/// This process's own group and those above it, from the top.
fn unified(point: &Path, own_groups: &str, wanted: &[Controller]) -> Vec<Hierarchy> {
    let own = own_groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let mut levels: Vec<&Path> = Path::new(own).ancestors().collect();
    levels.reverse();
    let place = |level: &Path| {
        let root = if level.as_os_str().is_empty() { point.to_owned() } else { point.join(level) };
        let there = fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default();
        let has = |controller: &Controller| there.split_whitespace().any(|name| name == controller.name());
        let controllers: Vec<Controller> = wanted.iter().copied().filter(has).collect();
        (!controllers.is_empty()).then(|| Hierarchy::new(root, controllers, true))
    };
    levels.into_iter().filter_map(place).collect()
}

struct Mount {
    point: PathBuf,
    options: String,
    is_unified: bool,
}

impl Mount {
    /// A line of `mountinfo`, if it is a tree of control groups.
    fn parse(line: &str) -> Option<Self> {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut fields = file_system.split(' ');
        let is_unified = match fields.next()? {
            "cgroup" => false,
            "cgroup2" => true,
            _ => return None,
        };
        let options = fields.nth(1)?.to_owned();
        Some(Self { point: mount.split(' ').nth(4)?.into(), options, is_unified })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIXED: &str = "\
25 19 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
26 25 0:23 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:1 - cgroup cgroup rw,cpu,cpuacct
27 25 0:24 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
28 25 0:25 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
29 25 0:26 / UNIFIED rw,relatime - cgroup2 cgroup2 rw";

    #[test]
    fn each_controller_is_found_where_it_is() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cgroup.controllers"), "io pids cpu\n").unwrap();
        let trees = roots(&MIXED.replace("UNIFIED", &folder.path().display().to_string()), "0::/\n");
        let expected = [
            Hierarchy::new("/sys/fs/cgroup/cpu,cpuacct".into(), vec![Controller::Cpu], false),
            Hierarchy::new("/sys/fs/cgroup/memory".into(), vec![Controller::Memory], false),
            Hierarchy::new(folder.path().to_owned(), vec![Controller::Pids], true),
        ];
        assert_eq!(trees.concat(), expected);
    }

    #[test]
    fn an_ordinary_users_part_is_tried_after_what_is_above_it() {
        let folder = tempfile::tempdir().unwrap();
        let part = folder.path().join("user.slice/user@7");
        fs::create_dir_all(&part).unwrap();
        for path in [folder.path(), &part] {
            fs::write(path.join("cgroup.controllers"), "memory pids").unwrap();
        }
        let mounts = format!("29 25 0:26 / {} rw - cgroup2 cgroup2 rw", folder.path().display());
        let both = vec![Controller::Memory, Controller::Pids];
        let expected = [folder.path().to_owned(), part].map(|root| Hierarchy::new(root, both.clone(), true));
        assert_eq!(roots(&mounts, "3:cpu:/x\n0::/user.slice/user@7\n").concat(), expected);
    }
}
