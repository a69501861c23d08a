//! The container of a sandbox: folder, pipes, bundle and `runsc`'s blank sandbox.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use super::process::SandboxProcess;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::runsc::{GuestStdio, SandboxSpec, write_bundle};
use crate::template::Template;

/// A blank sandbox: made, nothing runs in it yet.
pub(crate) struct Container {
    pub(super) id: String,
    pub(super) template_id: String,
    pub(super) process: SandboxProcess,
}

impl Inner {
    pub(super) fn sandbox_folder(&self, id: &str) -> PathBuf {
        self.config.home.sandboxes().join(id)
    }

    pub(super) fn bundle(&self, id: &str) -> PathBuf {
        self.sandbox_folder(id).join("bundle")
    }

    pub(super) fn stdio(&self, id: &str) -> GuestStdio {
        GuestStdio::of(&self.sandbox_folder(id))
    }

    /// Makes the container `id`. If that fails, [`Inner::remove_container`] cleans up.
    pub(super) async fn make_container(&self, id: &str, template: &Template) -> Result<Container, EngineError> {
        let bundle = self.bundle(id);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&bundle).map_err(|error| file_error("make", &bundle, &error))?;
        let stdio = self.stdio(id);
        stdio.make()?;
        let spec = SandboxSpec { hostname: id.to_owned(), ..template.spec() };
        write_bundle(&bundle, &spec)?;
        self.runsc.create(id, &bundle, &stdio).await?;
        let state = self.runsc.state(id).await?;
        Ok(Container { id: id.to_owned(), template_id: template.id.clone(), process: SandboxProcess::open(state.pid, id)? })
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

fn file_error(action: &str, path: &std::path::Path, error: &io::Error) -> EngineError {
    EngineError::Internal(format!("cannot {action} ({error}): `{}`", path.display()))
}
