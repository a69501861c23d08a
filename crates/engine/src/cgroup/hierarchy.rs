//! One tree of groups, with the controllers that it has.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::Controller;
use super::group::{self, Place};

/// A place in a mounted tree below which groups are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hierarchy {
    root: PathBuf,
    controllers: Vec<Controller>,
    /// True for version 2, where one tree has all controllers, and each group says which of them its children have.
    is_unified: bool,
}

impl Hierarchy {
    pub(super) fn new(root: PathBuf, controllers: Vec<Controller>, is_unified: bool) -> Self {
        Self { root, controllers, is_unified }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn has(&self, controller: Controller) -> bool {
        self.controllers.contains(&controller)
    }

    pub(super) fn at(&self, path: &Path) -> Place {
        Place { folder: self.root.join(path), controllers: self.controllers.clone(), is_unified: self.is_unified }
    }

    /// Makes `parent` and the groups above it, and gives the controllers on to their children.
    pub(super) fn make_parent(&self, parent: &Path) -> io::Result<()> {
        fs::create_dir_all(self.root.join(parent))?;
        if !self.is_unified {
            return Ok(());
        }
        let wanted: Vec<String> = self.controllers.iter().map(|controller| format!("+{}", controller.name())).collect();
        let mut levels: Vec<&Path> = parent.ancestors().collect();
        levels.reverse();
        for level in levels {
            let file = self.root.join(level).join("cgroup.subtree_control");
            if !gives_all(&fs::read_to_string(&file).unwrap_or_default(), &self.controllers) {
                group::write(&file, &wanted.join(" "))?;
            }
        }
        Ok(())
    }

    /// True if groups can be made below `parent`, and processes be moved into them. Leaves nothing behind.
    pub(super) fn is_usable(&self, parent: &Path) -> bool {
        let probe = parent.join(format!("probe-{}", std::process::id()));
        let place = self.at(&probe);
        let tried = self
            .make_parent(parent)
            .and_then(|()| fs::create_dir(&place.folder))
            .and_then(|()| group::can_enter(&place.folder.join("cgroup.procs")));
        let _ = fs::remove_dir(&place.folder);
        for path in parent.ancestors().filter(|path| !path.as_os_str().is_empty()) {
            let _ = fs::remove_dir(self.root.join(path));
        }
        if let Err(error) = &tried {
            tracing::debug!(%error, folder = %self.root.display(), "no control groups can be made here");
        }
        tried.is_ok()
    }
}

fn gives_all(subtree_control: &str, controllers: &[Controller]) -> bool {
    controllers.iter().all(|controller| subtree_control.split_whitespace().any(|name| name == controller.name()))
}
