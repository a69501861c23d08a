//! `$PANDASTACK_HOME`: where everything of the engine lies on disk.

use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use pandastack_protocol::env_vars;

/// Longest path of a Unix socket on Linux, in bytes, without the final NUL.
pub const MAX_SOCKET_PATH: usize = 107;

/// The longest name that `runsc` puts into its root folder: `runsc-<36 byte id>.sock`.
const LONGEST_SOCKET_NAME: usize = "runsc-.sock".len() + 36;

/// All paths of one engine. Two engines with different homes share nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// The home at `root`, which need not exist yet.
    ///
    /// # Errors
    /// If `root` is relative and there is no current directory.
    pub fn at(root: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self { root: std::path::absolute(root)? })
    }

    /// `$PANDASTACK_HOME`, else `$XDG_STATE_HOME/pandastack`, else `~/.local/state/pandastack`. Empty variables count as unset.
    ///
    /// # Errors
    /// If none of the three variables is set.
    pub fn from_env() -> io::Result<Self> {
        Self::from_variables(env::var_os(env_vars::HOME), env::var_os("XDG_STATE_HOME"), env::var_os("HOME"))
    }

    fn from_variables(home: Option<OsString>, state: Option<OsString>, user: Option<OsString>) -> io::Result<Self> {
        let set = |value: Option<OsString>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = set(home)
            .or_else(|| set(state).map(|state| state.join("pandastack")))
            .or_else(|| set(user).map(|user| user.join(".local/state/pandastack")))
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no home folder: set PANDASTACK_HOME"))?;
        Self::at(root)
    }

    /// Makes the folders that are missing, readable by the owner only.
    ///
    /// # Errors
    /// If a folder cannot be made.
    pub fn create(&self) -> io::Result<()> {
        for folder in [
            self.root.clone(),
            self.bin(),
            self.run(),
            self.templates(),
            self.sandboxes(),
            self.snapshots(),
            self.hibernated(),
        ] {
            create_private(&folder)?;
        }
        Ok(())
    }

    /// The home itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Tools installed by the engine, such as `runsc`.
    pub fn bin(&self) -> PathBuf {
        self.root.join("bin")
    }

    /// Root folder of `runsc`: state files and control sockets of running sandboxes.
    pub fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    /// Templates, one folder per id, and the cached bases that they are made from.
    pub fn templates(&self) -> PathBuf {
        self.root.join("templates")
    }

    /// One folder per sandbox: bundle and named pipes.
    pub fn sandboxes(&self) -> PathBuf {
        self.root.join("sandboxes")
    }

    /// One folder per snapshot.
    pub fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots")
    }

    /// One folder per hibernated sandbox.
    pub fn hibernated(&self) -> PathBuf {
        self.root.join("hibernated")
    }

    /// Keys for the secrets of sandboxes.
    pub fn egress(&self) -> PathBuf {
        self.root.join("egress")
    }

    /// The socket on which the engine serves the API.
    pub fn socket(&self) -> PathBuf {
        self.root.join("engine.sock")
    }

    /// By how many bytes the longest socket path under this home exceeds what Linux takes; 0 if all fit.
    pub fn socket_excess(&self) -> usize {
        let longest = self.run().as_os_str().len() + 1 + LONGEST_SOCKET_NAME;
        longest.saturating_sub(MAX_SOCKET_PATH)
    }
}

/// Makes `folder` and its parents; those it makes have mode 0700.
pub(crate) fn create_private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn home(home: &str, state: &str, user: &str) -> io::Result<Home> {
        Home::from_variables(Some(home.into()), Some(state.into()), Some(user.into()))
    }

    #[test]
    fn variables_are_taken_in_order_and_empty_ones_are_skipped() {
        assert_eq!(home("/a", "/b", "/c").unwrap().root(), Path::new("/a"));
        assert_eq!(home("", "/b", "/c").unwrap().root(), Path::new("/b/pandastack"));
        assert_eq!(home("", "", "/c").unwrap().root(), Path::new("/c/.local/state/pandastack"));
        assert!(home("", "", "").unwrap_err().to_string().contains("PANDASTACK_HOME"));
    }

    #[test]
    fn folders_are_private() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home")).unwrap();
        home.create().unwrap();
        home.create().unwrap();
        for path in [home.root().to_owned(), home.run(), home.templates()] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn a_home_too_deep_for_sockets_is_noticed() {
        assert_eq!(Home::at("/tmp/home").unwrap().socket_excess(), 0);
        let deep = Home::at(format!("/{}", "d".repeat(60))).unwrap();
        assert_eq!(deep.socket_excess(), 61 + "/run/".len() + LONGEST_SOCKET_NAME - MAX_SOCKET_PATH);
    }
}
