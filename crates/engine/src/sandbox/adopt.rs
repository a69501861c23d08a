//! Finding sandboxes again when the engine opens. They belong to nobody: an engine that was killed leaves them running.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::process::SandboxProcess;
use super::{Sandbox, identity};
use crate::engine::Inner;
use crate::error::EngineError;
use crate::guest::Connection;
use crate::runsc::{ContainerStatus, RunscError, left};
use crate::store::{RowStatus, SandboxRow};

/// How long the agent of a sandbox that is found may take to answer.
const HELLO_DEADLINE: Duration = Duration::from_secs(30);

/// Epochs that one engine may use up before the next one begins its own.
const EPOCHS_PER_ENGINE: u64 = 1000;

impl Inner {
    /// Adopts what runs, removes the rest.
    pub(crate) async fn adopt_all(self: &Arc<Self>) -> Result<(), EngineError> {
        left::wait_for_commands(&self.config.home.run(), is_sandbox_id).await;
        let rows = self.store.sandboxes().await?;
        futures::future::join_all(rows.into_iter().map(|row| self.adopt_or_remove(row))).await;
        self.remove_unfinished_snapshots().await?;
        self.remove_stray_images().await?;
        self.remove_strays().await
    }

    async fn adopt_or_remove(self: &Arc<Self>, row: SandboxRow) {
        let id = row.id.clone();
        match row.status {
            RowStatus::Ready | RowStatus::Creating | RowStatus::Ending => self.forget(&id).await,
            RowStatus::Failed | RowStatus::Deleted | RowStatus::Hibernated => {}
            RowStatus::Running | RowStatus::Paused => match self.adopt_with_patience(row).await {
                Ok(()) => tracing::info!(sandbox_id = id, "sandbox found running"),
                Err(error) => {
                    let reason = format!("it could not be taken over by a new engine: {error}");
                    tracing::warn!(sandbox_id = id, reason, "sandbox lost");
                    if let Err(error) = self.store.end_sandbox(&id, RowStatus::Failed, &reason).await {
                        tracing::error!(sandbox_id = id, %error, "could not write down the end of a sandbox");
                    }
                    self.remove_container(&id).await;
                }
            },
        }
    }

    /// A command that fails once says nothing about the sandbox.
    async fn adopt_with_patience(self: &Arc<Self>, row: SandboxRow) -> Result<(), EngineError> {
        let again = SandboxRow { epoch: row.epoch + EPOCHS_PER_ENGINE, ..row.clone() };
        match self.adopt(row).await {
            Err(error @ EngineError::Runsc(RunscError::Failed { .. } | RunscError::Deadline { .. })) => {
                tracing::warn!(sandbox_id = again.id, %error, "taking over a sandbox is tried again");
                self.adopt(again).await
            }
            outcome => outcome,
        }
    }

    /// The agent does not know that the engine is another one, and where the old one stopped: it is told by a signal to skip to the next
    /// marker, which precedes the `Hello` of a new epoch. The signal is pending when the command ends, and the agent looks for it between reading
    /// bytes and using them: of what is written here nothing is skipped.
    async fn adopt(self: &Arc<Self>, mut row: SandboxRow) -> Result<(), EngineError> {
        let state = self.runsc.state(&row.id).await?;
        if state.status == ContainerStatus::Paused {
            self.runsc.resume(&row.id).await?;
        }
        let process = SandboxProcess::open(state.pid, &row.id)?;
        row.epoch = (row.epoch / EPOCHS_PER_ENGINE + 1) * EPOCHS_PER_ENGINE;
        self.store.set_epoch(&row.id, row.epoch).await?;

        let mut env = self.template_env(&row.template_id);
        env.extend(row.egress.environment());
        let connection = Connection::open(&row.id, &self.stdio(&row.id), row.epoch, false)?;
        self.runsc.kill(&row.id, "USR1").await?;
        let hello = identity::hello(&row.id, &env, &row.limits, false);
        connection.hello(&hello, HELLO_DEADLINE).await?;
        if row.status == RowStatus::Paused {
            self.runsc.pause(&row.id).await?;
        }
        let group = self.cgroups.group(&row.id);
        let egress = self.open_egress(&row);
        self.register(Sandbox::new(row, process, connection, group, egress));
        Ok(())
    }

    /// Removes containers and folders that belong to no sandbox of ours.
    async fn remove_strays(&self) -> Result<(), EngineError> {
        let known: HashSet<String> = self.sandboxes().keys().cloned().collect();
        let mut strays: HashSet<String> = HashSet::new();
        for name in names_in(&self.config.home.run()).chain(names_in(&self.config.home.sandboxes())) {
            strays.extend(sandbox_id_in(&name.to_string_lossy()).filter(|id| !known.contains(id)));
        }
        strays.extend(self.cgroups.ids().into_iter().filter(|id| !known.contains(id)));
        let processes = left::sandboxes(&self.config.home.run(), is_sandbox_id);
        for stray in processes.iter().filter(|process| !known.contains(&process.id)) {
            stray.kill();
            strays.insert(stray.id.clone());
        }
        for id in strays {
            tracing::info!(sandbox_id = id, "removing what is left of a sandbox");
            self.remove_container(&id).await;
        }
        Ok(())
    }
}

pub(super) fn names_in(folder: &Path) -> impl Iterator<Item = OsString> {
    fs::read_dir(folder).into_iter().flatten().filter_map(|entry| entry.ok().map(|entry| entry.file_name()))
}

fn is_sandbox_id(text: &str) -> bool {
    text.len() == 36 && Uuid::try_parse(text).is_ok()
}

/// The id in a name such as `ID`, `ID_sandbox:ID.state` or `runsc-ID.sock`. Only our ids are UUIDs: what else runs under the same root is left alone.
fn sandbox_id_in(name: &str) -> Option<String> {
    let id = name.strip_prefix("runsc-").unwrap_or(name).get(..36)?;
    is_sandbox_id(id).then(|| id.to_owned())
}

/// Files of a sandbox that stay when it, or a command about it, was killed.
pub(super) fn remove_files_of(folder: &Path, id: &str) {
    for name in names_in(folder).filter(|name| sandbox_id_in(&name.to_string_lossy()).as_deref() == Some(id)) {
        let _ = fs::remove_file(folder.join(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_with_our_ids_count() {
        let id = "0f8fad5b-d9cb-469f-a165-70867728950e";
        for name in [
            id.to_owned(),
            format!("{id}_sandbox:{id}.state"),
            format!("{id}_sandbox:{id}.lock"),
            format!("runsc-{id}.sock"),
        ] {
            assert_eq!(sandbox_id_in(&name).as_deref(), Some(id), "{name}");
        }
        for name in ["", "bake-1", "runsc-bake.sock", "engine.sock", "éééééééééééééééééééé"] {
            assert_eq!(sandbox_id_in(name), None, "{name}");
        }
    }
}
