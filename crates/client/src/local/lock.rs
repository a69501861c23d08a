//! One starter at a time, across processes. The kernel drops the lock when its holder ends, however it ends.

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};
use tokio::time::Instant;

use super::engine_error;
use crate::error::Result;

/// Waits until no other process is starting the engine of `home`.
pub(super) async fn take(home: &Path, deadline: Instant) -> Result<Flock<File>> {
    let mut file = open(home).map_err(|error| {
        engine_error(format!("the folder of the local engine cannot be used: `{}`", home.display())).with_source(error)
    })?;
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(lock),
            Err((_, error)) if error != nix::errno::Errno::EWOULDBLOCK => {
                return Err(engine_error(format!("`{}` cannot be locked: {error}", home.display())));
            }
            Err(_) if Instant::now() >= deadline => {
                return Err(engine_error("another process has been starting the local engine for too long"));
            }
            Err((unlocked, _)) => file = unlocked,
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn open(home: &Path) -> std::io::Result<File> {
    DirBuilder::new().recursive(true).mode(0o700).create(home)?;
    OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(home.join("start.lock"))
}
