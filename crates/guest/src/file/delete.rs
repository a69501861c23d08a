//! Deleting, also of folders within folders without end.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;
use uuid::Uuid;

use super::{blocking, failed};
use crate::refusal::Refusal;

/// How deep a tree is gone into. What lies deeper is moved to its top first: each level takes stack and a descriptor, and a program can make a
/// hundred thousand.
const DEPTH: usize = 500;

/// How often the top is looked through; a tree that is not empty by then is being filled by somebody.
const PASSES: usize = 100_000;

/// Deletes a file, or a directory with all in it. Nothing there is fine. Links are deleted, not followed.
///
/// # Errors
/// If it is the root, or the system refuses.
pub(crate) async fn delete(path: String) -> Result<(), Refusal> {
    if Path::new(&path).components().all(|part| !matches!(part, Component::Normal(_))) {
        return Err(Refusal::bad_request(format!("not something to delete: `{}`", path.escape_debug())));
    }
    blocking(move || {
        let removed = match std::fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => remove_folder(&path),
            Ok(_) => std::fs::remove_file(&path),
            Err(error) if error.raw_os_error() == Some(libc::ENOTDIR) => Ok(()),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&path, &error)),
            _ => Ok(()),
        }
    })
    .await
}

fn remove_folder(path: &str) -> io::Result<()> {
    let top = open_folder(CWD, path)?;
    let mut passes = 0;
    while empty(&top, &top, DEPTH)? && passes < PASSES {
        passes += 1;
    }
    std::fs::remove_dir(path)
}

/// Names are looked up in open folders only, and links not followed: whoever exchanges a folder for a link meanwhile gains nothing.
fn open_folder(parent: BorrowedFd<'_>, name: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(parent, name, flags, Mode::empty())?)
}

/// Deletes what is in a folder. True if something deep was moved to the top, and is still to be deleted.
fn empty(folder: &OwnedFd, top: &OwnedFd, depth: usize) -> io::Result<bool> {
    let mut moved = false;
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        match unlinkat(folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::ISDIR) if depth == 0 => {
                renameat(folder, name, top, format!(".pandastack-{}", Uuid::new_v4().simple()))?;
                moved = true;
            }
            Err(Errno::ISDIR) => moved |= empty_and_remove(folder, name, top, depth - 1)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(moved)
}

fn empty_and_remove(parent: &OwnedFd, name: &CStr, top: &OwnedFd, depth: usize) -> io::Result<bool> {
    let moved = empty(&open_folder(parent.as_fd(), name)?, top, depth)?;
    match unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(moved),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_goes_whatever_its_depth_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (tree, kept) = (folder.path().join("tree"), folder.path().join("kept"));
        std::fs::create_dir_all(&kept).unwrap();
        std::fs::write(kept.join("file"), "").unwrap();
        std::fs::create_dir(&tree).unwrap();
        let mut deepest = open_folder(CWD, &tree).unwrap();
        for _ in 0..5000 {
            rustix::fs::symlinkat(&kept, &deepest, "link").unwrap();
            rustix::fs::mkdirat(&deepest, "folder", Mode::RWXU).unwrap();
            deepest = open_folder(deepest.as_fd(), "folder").unwrap();
        }
        remove_folder(tree.to_str().unwrap()).unwrap();
        assert!(!tree.exists() && kept.join("file").exists());
    }
}
