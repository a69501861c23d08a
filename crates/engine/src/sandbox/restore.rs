//! Bringing a sandbox up: an image or the template's program into a blank one, and an identity.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::SemaphorePermit;

use super::blank::Blank;
use super::process::SandboxProcess;
use super::{identity, oom};
use crate::cgroup::Group;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::guest::Connection;
use crate::limits::{BAKED_DISK_GB, Limits};
use crate::store::SandboxRow;
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
    /// Makes a copy from `image` under a new id, for which `row_of` makes the row, or boots one if there is no image. If that fails, or if it is
    /// `abandoned` before its turn has come, nothing is left.
    pub(super) async fn restore_sandbox(
        &self,
        template: &Template,
        image: Option<&Path>,
        limits: &Limits,
        row_of: impl Fn(&str) -> SandboxRow,
        abandoned: impl Future<Output = ()>,
    ) -> Result<ReadySandbox, EngineError> {
        let turn = tokio::select! {
            biased;
            () = abandoned => Err("nobody waits for the sandbox any more"),
            permit = self.turn_to_start() => Ok(permit?),
        };
        let _permit = turn.map_err(|reason: &str| EngineError::Internal(reason.to_owned()))?;
        let blank = self.take_blank(template, limits, row_of).await?;
        self.fill_or_forget(blank, template, image).await
    }

    /// Waits until one more sandbox may be started beside the others.
    pub(super) async fn turn_to_start(&self) -> Result<SemaphorePermit<'_>, EngineError> {
        self.starting.acquire().await.map_err(|_| EngineError::Internal("the engine is closed".to_owned()))
    }

    /// Brings up a copy in a blank sandbox. If it fails, nothing is left.
    pub(super) async fn fill_or_forget(
        &self,
        blank: Blank,
        template: &Template,
        image: Option<&Path>,
    ) -> Result<ReadySandbox, EngineError> {
        let id = blank.id.clone();
        let filled = self.fill(blank, template, image, 0).await;
        if filled.is_err() {
            self.forget(&id).await;
        }
        filled
    }

    /// Restores `image`, which was taken of a sandbox of the template. It is that sandbox itself, and not a copy, if it had an `epoch` before: its
    /// last one. Without an image the template is booted. If it fails, parts of the container may be left.
    pub(super) async fn fill(
        &self,
        blank: Blank,
        template: &Template,
        image: Option<&Path>,
        epoch: u64,
    ) -> Result<ReadySandbox, EngineError> {
        let began = Instant::now();
        let bundle = blank.bundle(self);
        let Blank { id, pid, process, group, limits, .. } = blank;
        // The Hello waits in the pipe until there is an agent to read it.
        let connection = Connection::open(&id, &self.stdio(&id), epoch, true)?;
        let hello = identity::hello(&id, &template.environment, &limits, image.is_some() && epoch == 0);
        let answered = connection.hello(&hello, HELLO_DEADLINE);
        let begin = async {
            match image {
                Some(image) => Ok(self.runsc.restore_into(&id, &bundle, image).await?),
                None => Ok(self.runsc.start(&id).await?),
            }
        };
        let come_up = async { tokio::try_join!(begin, answered) };
        tokio::select! {
            up = come_up => up.map(drop)?,
            () = process.ended() => return Err(EngineError::Internal(format!("the sandbox ended while it started{}", connection.last_words()))),
        }
        oom::sacrifice_programs(pid);
        tracing::debug!(sandbox_id = id, filled_ms = began.elapsed().as_millis() as u64, "sandbox is up");
        Ok(ReadySandbox { id, template_id: template.id.clone(), process, connection, group })
    }

    /// What a sandbox of the template begins with: the baked checkpoint, if it has a disk of that size.
    pub(super) fn beginning(template: &Template, limits: &Limits) -> Option<PathBuf> {
        (limits.disk_gb == BAKED_DISK_GB).then(|| template.checkpoint())
    }
}
