//! Bringing a sandbox up: folder, pipes, bundle, the template's checkpoint, and an identity.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::identity;
use super::process::SandboxProcess;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::guest::Connection;
use crate::runsc::{GuestStdio, SandboxSpec, write_bundle};
use crate::template::Template;

/// How long a restored agent may take to answer, on a machine that has too much to do.
const HELLO_DEADLINE: Duration = Duration::from_secs(60);

/// A sandbox that runs and has its identity, but belongs to nobody yet.
pub(crate) struct ReadySandbox {
    pub(super) id: String,
    pub(super) template_id: String,
    pub(super) process: SandboxProcess,
    pub(super) connection: Arc<Connection>,
}

impl Inner {
    fn sandbox_folder(&self, id: &str) -> PathBuf {
        self.config.home.sandboxes().join(id)
    }

    pub(super) fn stdio(&self, id: &str) -> GuestStdio {
        GuestStdio::of(&self.sandbox_folder(id))
    }

    /// Makes a copy from `image` under the new id, whose row must have been written. If that fails, or if it is `abandoned` before its turn
    /// has come, container and row are removed.
    pub(super) async fn restore_sandbox(
        &self,
        id: &str,
        template: &Template,
        image: &Path,
        abandoned: impl Future<Output = ()>,
    ) -> Result<ReadySandbox, EngineError> {
        let turn = tokio::select! {
            biased;
            () = abandoned => Err("nobody waits for the sandbox any more"),
            permit = self.starting.acquire() => permit.map_err(|_| "the engine is closed"),
        };
        let restored = match turn {
            Ok(_permit) => self.restore(id, template, image, 0, true).await,
            Err(reason) => Err(EngineError::Internal(reason.to_owned())),
        };
        if restored.is_err() {
            self.forget(id).await;
        }
        restored
    }

    /// Restores `image`, which was taken of a sandbox of the template, under `id`, whose last epoch was `epoch`. `is_copy` is false if it is that
    /// sandbox itself. If it fails, parts of the container may be left.
    pub(super) async fn restore(
        &self,
        id: &str,
        template: &Template,
        image: &Path,
        epoch: u64,
        is_copy: bool,
    ) -> Result<ReadySandbox, EngineError> {
        let began = Instant::now();
        let (bundle, stdio) = (self.sandbox_folder(id).join("bundle"), self.stdio(id));
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&bundle)
            .map_err(|error| file_error("make", &bundle, &error))?;
        stdio.make()?;
        write_bundle(&bundle, &SandboxSpec { hostname: id.to_owned(), ..template.spec() })?;
        self.runsc.create(id, &bundle, &stdio).await?;
        let created_ms = began.elapsed().as_millis() as u64;
        let process = SandboxProcess::open(self.runsc.state(id).await?.pid, id)?;

        // The Hello waits in the pipe until there is an agent to read it.
        let connection = Connection::open(id, &stdio, epoch, true)?;
        let hello = identity::hello(id, &template.environment, is_copy);
        let answered = connection.hello(&hello, HELLO_DEADLINE);
        let come_up =
            async { tokio::try_join!(async { Ok(self.runsc.restore_into(id, &bundle, image).await?) }, answered) };
        tokio::select! {
            up = come_up => up.map(drop)?,
            () = process.ended() => return Err(EngineError::Internal(format!("the sandbox ended while it started{}", connection.last_words()))),
        }
        tracing::debug!(sandbox_id = id, created_ms, answered_ms = began.elapsed().as_millis() as u64, "sandbox is up");
        Ok(ReadySandbox { id: id.to_owned(), template_id: template.id.clone(), process, connection })
    }

    /// Ends what runs and removes everything of the container; nothing there is fine.
    pub(super) async fn remove_container(&self, id: &str) {
        if let Err(error) = self.runsc.delete(id, true).await {
            tracing::warn!(sandbox_id = id, %error, "could not delete a container; the next start of the engine tries again");
        }
        let folder = self.sandbox_folder(id);
        if let Err(error) = fs::remove_dir_all(&folder)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(sandbox_id = id, %error, "could not remove a sandbox's folder; the next start of the engine tries again");
        }
    }
}

fn file_error(action: &str, path: &Path, error: &io::Error) -> EngineError {
    EngineError::Internal(format!("cannot {action} ({error}): `{}`", path.display()))
}
