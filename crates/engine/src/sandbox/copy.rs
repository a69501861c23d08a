//! Copying the state of a running sandbox into an image.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::Sandbox;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::image::{ImageRecord, NewImage, packed};
use crate::template::{Template, free_bytes};

/// How long an agent may take to stop its traffic between two records.
const FREEZE_DEADLINE: Duration = Duration::from_secs(10);

/// How long an agent may take to end what the copy need not hold.
const QUIESCE_DEADLINE: Duration = Duration::from_secs(1);

/// What needs the disk space that there is not.
const IMAGE: &str = "an image of a sandbox";

impl Inner {
    /// Writes the state of the sandbox into a new folder at `path`. It goes on; its streams stand still meanwhile.
    pub(super) async fn copy(&self, sandbox: &Sandbox, path: PathBuf) -> Result<NewImage, EngineError> {
        let image = self.freeze_and_copy(sandbox, path).await?;
        sandbox.connection.thaw().await?;
        Ok(image)
    }

    /// As [`Inner::copy`], but on success the sandbox's streams still stand. No byte has left it since the copy, so to everybody outside it
    /// can be replaced by the copy.
    pub(super) async fn freeze_and_copy(&self, sandbox: &Sandbox, path: PathBuf) -> Result<NewImage, EngineError> {
        self.check_disk(&path)?;
        let image = NewImage::make(path.clone()).map_err(|error| failed("make", &path, &error))?;
        let id = sandbox.row().id.clone();
        sandbox.connection.quiesce(QUIESCE_DEADLINE).await;
        sandbox.connection.freeze(FREEZE_DEADLINE).await?;
        let began = Instant::now();
        match self.runsc.checkpoint(&id, image.folder(), true).await {
            Ok(()) => {
                tracing::debug!(sandbox_id = id, copied_ms = began.elapsed().as_millis() as u64, "sandbox was copied");
                Ok(image)
            }
            Err(error) => {
                sandbox.connection.thaw().await?;
                Err(if error.is_disk_full() { EngineError::disk_full(IMAGE) } else { error.into() })
            }
        }
    }

    fn check_disk(&self, path: &Path) -> Result<(), EngineError> {
        match free_bytes(path).map(|free| free >> 20) {
            Some(free) if free < u64::from(self.config.least_free_disk_mb) => {
                Err(EngineError::disk_full(&format!("{IMAGE}: {free} MiB free")))
            }
            _ => Ok(()),
        }
    }

    /// Measures the image, and puts it at `path` for good once all of it is on the disk.
    pub(super) async fn keep_image(&self, image: NewImage, path: PathBuf) -> Result<ImageRecord, EngineError> {
        let version = self.config.runsc.version.as_str().to_owned();
        let kept = tokio::task::spawn_blocking(move || {
            let keep = || {
                let record = ImageRecord::of(image.folder(), &version)?;
                image.keep(&path)?;
                Ok(record)
            };
            keep().map_err(|error| failed("keep", &path, &error))
        });
        kept.await.map_err(|error| EngineError::Internal(format!("keeping an image stopped: {error}")))?
    }

    /// The image at `path`, checked that it can be restored, in a folder of its own: whatever becomes of the original meanwhile. `what` names it
    /// in the error.
    pub(super) async fn open_image(
        &self,
        record: ImageRecord,
        path: PathBuf,
        template: &Template,
        what: String,
    ) -> Result<NewImage, EngineError> {
        let version = self.config.runsc.version.as_str().to_owned();
        let pages = template.checkpoint().join(packed::PAGES);
        let folder = self.snapshot_folder(&format!("{}.new", Uuid::new_v4()));
        let opened = tokio::task::spawn_blocking(move || {
            record.check_fits(&version, &what)?;
            let image = NewImage::open(&path, &pages, folder).map_err(|error| match error.kind() {
                io::ErrorKind::StorageFull => EngineError::disk_full(IMAGE),
                _ => EngineError::Conflict(format!("{what} is damaged: {error}; delete it")),
            })?;
            record.verify(image.folder(), &what)?;
            Ok(image)
        });
        opened.await.map_err(|error| EngineError::Internal(format!("checking an image stopped: {error}")))?
    }
}

fn failed(action: &str, path: &Path, error: &io::Error) -> EngineError {
    match error.kind() {
        io::ErrorKind::StorageFull => EngineError::disk_full(IMAGE),
        _ => EngineError::Internal(format!("cannot {action} an image ({error}): `{}`", path.display())),
    }
}
