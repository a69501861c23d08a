//! The Unix socket that the API is served on.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;

use tokio::net::UnixListener;

/// Listens on `path`, for its owner only. A socket that nobody listens on any more is replaced.
///
/// To be called by the holder of the home's lock: the socket of another home may still be alive, and is then refused.
pub(crate) fn bind(path: &Path) -> io::Result<UnixListener> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a file that is no socket"));
        }
        Ok(_) if UnixStream::connect(path).is_ok() => {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "daemon already running"));
        }
        _ => {}
    }
    // Bound under another name first: nobody can connect before the mode is right, and clients never see a socket that is not served.
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no name of a socket"))?;
    let fresh = path.with_file_name(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    let _ = fs::remove_file(&fresh);
    let listener = UnixListener::bind(&fresh)?;
    let renamed = fs::set_permissions(&fresh, Permissions::from_mode(0o600)).and_then(|()| fs::rename(&fresh, path));
    if renamed.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    renamed.map(|()| listener)
}

/// Removes the socket.
pub(crate) fn remove(path: &Path) {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if is_socket && let Err(error) = fs::remove_file(path) {
        tracing::warn!(%error, "socket not removed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_socket_is_private_and_a_stale_one_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("engine.sock");
        let first = bind(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(bind(&path).unwrap_err().to_string(), "daemon already running");
        drop(first);
        assert!(path.exists());
        let second = bind(&path).unwrap();
        assert!(UnixStream::connect(&path).is_ok());
        drop(second);
        remove(&path);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn other_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("engine.sock");
        fs::write(&path, "data").unwrap();
        assert_eq!(bind(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        remove(&path);
        assert_eq!(fs::read_to_string(&path).unwrap(), "data");
    }
}
