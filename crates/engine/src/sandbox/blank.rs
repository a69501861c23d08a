//! Blank sandboxes: folder, pipes, control group and gVisor's kernel are there, nothing runs yet. An image is restored into one, or the
//! template is started in it.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

use super::adopt::remove_files_of;
use super::process::SandboxProcess;
use crate::cgroup::Group;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::limits::Limits;
use crate::runsc::left::{self, RunscProcess};
use crate::runsc::{GuestStdio, RunscError, SandboxSpec, write_bundle};
use crate::store::SandboxRow;
use crate::template::Template;

/// A sandbox without content. Its id is final.
pub(crate) struct Blank {
    pub(super) id: String,
    pub(super) pid: i32,
    pub(super) process: SandboxProcess,
    pub(super) group: Group,
    pub(super) limits: Limits,
    template_id: String,
}

/// Blank sandboxes that nobody has asked for yet.
#[derive(Default)]
pub(crate) struct BlankPool(Mutex<Vec<Blank>>);

impl BlankPool {
    fn blanks(&self) -> MutexGuard<'_, Vec<Blank>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.blanks().len()
    }

    pub(super) fn add(&self, blank: Blank) {
        self.blanks().push(blank);
    }

    fn take(&self, template_id: &str, limits: &Limits) -> Option<Blank> {
        let mut blanks = self.blanks();
        let index = blanks.iter().position(|blank| blank.template_id == template_id && blank.limits == *limits)?;
        Some(blanks.swap_remove(index))
    }

    /// Takes those of other templates.
    pub(super) fn take_others(&self, template_id: &str) -> Vec<Blank> {
        self.blanks().extract_if(.., |blank| blank.template_id != template_id).collect()
    }

    /// Takes those that have ended.
    pub(super) fn take_ended(&self) -> Vec<Blank> {
        self.blanks().extract_if(.., |blank| blank.process.has_ended()).collect()
    }

    pub(super) fn take_any(&self) -> Option<Blank> {
        self.blanks().pop()
    }

    /// Takes all.
    pub(super) fn take_all(&self) -> Vec<Blank> {
        std::mem::take(&mut *self.blanks())
    }
}

impl Inner {
    pub(super) fn sandbox_folder(&self, id: &str) -> PathBuf {
        self.config.home.sandboxes().join(id)
    }

    pub(super) fn stdio(&self, id: &str) -> GuestStdio {
        GuestStdio::of(&self.sandbox_folder(id))
    }

    /// A blank sandbox for the row that `row_of` makes of its id: one that is there already, or a new one. If it fails, nothing is left.
    pub(super) async fn take_blank(
        &self,
        template: &Template,
        limits: &Limits,
        row_of: impl Fn(&str) -> SandboxRow,
    ) -> Result<Blank, EngineError> {
        self.demand.count_blank();
        while let Some(blank) = self.blank_pool.take(&template.id, limits) {
            if blank.process.has_ended() {
                self.forget(&blank.id).await;
                continue;
            }
            self.store.put_sandbox(row_of(&blank.id)).await?;
            return Ok(blank);
        }
        self.new_blank(template, limits, row_of).await
    }

    /// Makes a blank sandbox with a new id. If it fails, nothing is left.
    pub(super) async fn new_blank(
        &self,
        template: &Template,
        limits: &Limits,
        row_of: impl Fn(&str) -> SandboxRow,
    ) -> Result<Blank, EngineError> {
        let id = Uuid::new_v4().to_string();
        self.store.put_sandbox(row_of(&id)).await?;
        let made = self.make_blank(&id, template, limits).await;
        if made.is_err() {
            self.forget(&id).await;
        }
        made
    }

    /// Makes a blank sandbox whose row must have been written. If it fails, parts of the container may be left.
    pub(super) async fn make_blank(
        &self,
        id: &str,
        template: &Template,
        limits: &Limits,
    ) -> Result<Blank, EngineError> {
        let (bundle, stdio) = (self.sandbox_folder(id).join("bundle"), self.stdio(id));
        make_folder(&bundle)?;
        stdio.make()?;
        let spec = SandboxSpec { hostname: id.to_owned(), disk_bytes: limits.disk_bytes(), ..template.spec() };
        write_bundle(&bundle, &spec)?;
        let group = self.cgroups.make(id, &limits.group());
        let group = group
            .map_err(|error| EngineError::Internal(format!("cannot make a control group for sandbox {id}: {error}")))?;
        if let Err(error) = self.runsc.create(id, &bundle, &stdio, Some(&group)).await {
            // A command that was killed may have begun a sandbox of which `runsc` itself does not know.
            left::sandboxes(self.runsc.root(), |found| found == id).iter().for_each(RunscProcess::kill);
            return Err(error.into());
        }
        let pid = self.runsc.state(id).await?.pid;
        let process = SandboxProcess::open(pid, id)?;
        Ok(Blank { id: id.to_owned(), pid, process, group, limits: *limits, template_id: template.id.clone() })
    }

    /// Ends what runs and removes everything of the container; nothing there is fine.
    pub(super) async fn remove_container(&self, id: &str) {
        let deleted = match self.runsc.delete(id, true).await {
            // One that was disturbed has done a part of its work.
            Err(_) => self.runsc.delete(id, true).await,
            deleted => deleted,
        };
        match deleted {
            // What a command that was killed has left, and `runsc` itself does not see.
            Ok(()) => remove_files_of(&self.config.home.run(), id),
            Err(error) => {
                tracing::warn!(sandbox_id = id, %error, "could not delete a container; the next start of the engine tries again");
            }
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

impl Blank {
    /// The bundle it was made from.
    pub(super) fn bundle(&self, engine: &Inner) -> PathBuf {
        engine.sandbox_folder(&self.id).join("bundle")
    }
}

fn make_folder(path: &Path) -> Result<(), RunscError> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(RunscError::file("make", path))
}
