//! Bringing a sandbox up: folder, pipes, bundle, the template's checkpoint, and an identity.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::process::SandboxProcess;
use super::{identity, oom};
use crate::cgroup::Group;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::guest::Connection;
use crate::limits::{BAKED_DISK_GB, Limits};
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
    pub(super) group: Group,
}

impl Inner {
    fn sandbox_folder(&self, id: &str) -> PathBuf {
        self.config.home.sandboxes().join(id)
    }

    pub(super) fn stdio(&self, id: &str) -> GuestStdio {
        GuestStdio::of(&self.sandbox_folder(id))
    }

    /// Makes a copy from `image` under the new id, whose row must have been written, or boots one if there is none. If that fails, or if it is
    /// `abandoned` before its turn has come, container and row are removed.
    pub(super) async fn restore_sandbox(
        &self,
        id: &str,
        template: &Template,
        image: Option<&Path>,
        limits: &Limits,
        abandoned: impl Future<Output = ()>,
    ) -> Result<ReadySandbox, EngineError> {
        let turn = tokio::select! {
            biased;
            () = abandoned => Err("nobody waits for the sandbox any more"),
            permit = self.starting.acquire() => permit.map_err(|_| "the engine is closed"),
        };
        let restored = match turn {
            Ok(_permit) => self.restore(id, template, image, limits, 0).await,
            Err(reason) => Err(EngineError::Internal(reason.to_owned())),
        };
        if restored.is_err() {
            self.forget(id).await;
        }
        restored
    }

    /// Restores `image`, which was taken of a sandbox of the template, under `id`. It is that sandbox itself, and not a copy, if it had an `epoch`
    /// before: its last one. Without an image the template is booted. If it fails, parts of the container may be left.
    pub(super) async fn restore(
        &self,
        id: &str,
        template: &Template,
        image: Option<&Path>,
        limits: &Limits,
        epoch: u64,
    ) -> Result<ReadySandbox, EngineError> {
        let began = Instant::now();
        let (bundle, stdio) = (self.sandbox_folder(id).join("bundle"), self.stdio(id));
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&bundle)
            .map_err(|error| file_error("make", &bundle, &error))?;
        stdio.make()?;
        let spec = SandboxSpec { hostname: id.to_owned(), disk_bytes: limits.disk_bytes(), ..template.spec() };
        write_bundle(&bundle, &spec)?;
        let group = self.cgroups.make(id, &limits.group());
        let group = group
            .map_err(|error| EngineError::Internal(format!("cannot make a control group for sandbox {id}: {error}")))?;
        self.runsc.create(id, &bundle, &stdio, Some(&group)).await?;
        let created_ms = began.elapsed().as_millis() as u64;
        let pid = self.runsc.state(id).await?.pid;
        let process = SandboxProcess::open(pid, id)?;

        // The Hello waits in the pipe until there is an agent to read it.
        let connection = Connection::open(id, &stdio, epoch, true)?;
        let hello = identity::hello(id, &template.environment, limits, image.is_some() && epoch == 0);
        let answered = connection.hello(&hello, HELLO_DEADLINE);
        let begin = async {
            match image {
                Some(image) => Ok(self.runsc.restore_into(id, &bundle, image).await?),
                None => Ok(self.runsc.start(id).await?),
            }
        };
        let come_up = async { tokio::try_join!(begin, answered) };
        tokio::select! {
            up = come_up => up.map(drop)?,
            () = process.ended() => return Err(EngineError::Internal(format!("the sandbox ended while it started{}", connection.last_words()))),
        }
        oom::sacrifice_programs(pid);
        tracing::debug!(sandbox_id = id, created_ms, answered_ms = began.elapsed().as_millis() as u64, "sandbox is up");
        Ok(ReadySandbox { id: id.to_owned(), template_id: template.id.clone(), process, connection, group })
    }

    /// What a sandbox of the template begins with: the baked checkpoint, if it has a disk of that size.
    pub(super) fn beginning(template: &Template, limits: &Limits) -> Option<PathBuf> {
        (limits.disk_gb == BAKED_DISK_GB).then(|| template.checkpoint())
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
        if let Err(error) = self.cgroups.remove(id).await {
            tracing::warn!(sandbox_id = id, %error, "could not remove a sandbox's control group; the next start of the engine tries again");
        }
    }
}

fn file_error(action: &str, path: &Path, error: &io::Error) -> EngineError {
    EngineError::Internal(format!("cannot {action} ({error}): `{}`", path.display()))
}
