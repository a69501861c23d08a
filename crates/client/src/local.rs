//! The local engine: where it listens and how it is started.

mod home;
mod lock;
mod spawn;

use std::path::{Path, PathBuf};
use std::time::Duration;

use pandastack_protocol::error::ErrorCode;
use tokio::net::UnixStream;
use tokio::time::Instant;

use crate::environment::Environment;
use crate::error::{Error, Result};

/// How long a started engine may take to listen: a first start may clear up after a crash.
const START_LIMIT: Duration = Duration::from_secs(30);

/// An engine that the SDK started ends after this many seconds without sandboxes and clients.
const EXIT_WHEN_IDLE: u32 = 1800;

pub(crate) struct LocalEngine {
    home: PathBuf,
    socket: PathBuf,
    binary: Option<PathBuf>,
    starting: tokio::sync::Mutex<()>,
}

impl LocalEngine {
    pub(crate) fn new(binary: Option<PathBuf>, environment: &Environment) -> Result<Self> {
        if !cfg!(target_os = "linux") {
            return Err(engine_error(
                "the local engine needs Linux: run it in a virtual machine or on another host, and set `PANDASTACK_API=http://…` to reach it",
            ));
        }
        let home = home::find(environment)?;
        Ok(Self { socket: home.join("engine.sock"), home, binary, starting: tokio::sync::Mutex::new(()) })
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns once an engine listens. Of all callers on the machine only one starts it.
    pub(crate) async fn start(&self) -> Result<()> {
        let _one_in_this_process = self.starting.lock().await;
        if self.listens().await {
            return Ok(());
        }
        let deadline = Instant::now() + START_LIMIT;
        let lock = lock::take(&self.home, deadline).await?;
        if self.listens().await {
            return Ok(());
        }
        let mut engine = spawn::Spawned::start(self.binary()?, &self.home, EXIT_WHEN_IDLE)?;
        while !self.listens().await {
            if let Some(failure) = engine.failure() {
                return Err(failure);
            }
            if Instant::now() >= deadline {
                return Err(engine.too_slow(START_LIMIT));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        engine.release();
        drop(lock);
        Ok(())
    }

    async fn listens(&self) -> bool {
        UnixStream::connect(&self.socket).await.is_ok()
    }

    fn binary(&self) -> Result<&Path> {
        let Some(binary) = &self.binary else {
            return Err(engine_error(
                "the `pandastack` binary was not found: reinstall the package with its optional dependencies, or set `PANDASTACK_BINARY`",
            ));
        };
        if !binary.is_file() {
            return Err(engine_error(format!(
                "the `pandastack` binary does not exist: `{}`; reinstall the package, or set `PANDASTACK_BINARY` to the binary's path",
                binary.display()
            )));
        }
        Ok(binary)
    }
}

fn engine_error(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::Engine, message)
}

#[cfg(test)]
mod tests;
