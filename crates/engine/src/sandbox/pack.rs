//! Packing the images of snapshots and hibernated sandboxes that are no longer fresh: from then on they take little room, and longer to restore.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::engine::Inner;
use crate::error::EngineError;
use crate::image::{ImageRecord, packed};
use crate::store::RowStatus;

/// Time between two looks at all images.
const SCAN_INTERVAL: Duration = Duration::from_secs(5);

/// Whose image is packed.
enum Owner {
    Snapshot(String),
    Sandbox(String),
}

/// An image that is not packed yet.
struct Unpacked {
    owner: Owner,
    template_id: String,
    record: ImageRecord,
    folder: PathBuf,
}

impl Inner {
    /// Packs until the engine closes.
    pub(crate) fn start_packer(self: &Arc<Self>) {
        let engine = Arc::clone(self);
        self.tasks.spawn(async move {
            let scan = async {
                loop {
                    tokio::time::sleep(SCAN_INTERVAL).await;
                    engine.pack_images().await;
                }
            };
            tokio::select! {
                () = engine.closing.cancelled() => {}
                () = scan => {}
            }
        });
    }

    /// Packs one after another what has lain for long enough.
    async fn pack_images(self: &Arc<Self>) {
        let images = match self.unpacked_images().await {
            Ok(images) => images,
            Err(error) => return tracing::error!(%error, "could not look for images to pack"),
        };
        for image in images {
            let folder = image.folder.display().to_string();
            if let Err(error) = self.pack_image(image).await {
                tracing::warn!(folder, %error, "could not pack an image; it stays as it is");
            }
        }
    }

    async fn unpacked_images(&self) -> Result<Vec<Unpacked>, EngineError> {
        let snapshots = self.store.snapshots().await?.into_iter().filter_map(|row| {
            let folder = self.snapshot_folder(&row.id);
            Some(Unpacked { owner: Owner::Snapshot(row.id), template_id: row.template_id, record: row.image?, folder })
        });
        let sandboxes = self.store.sandboxes().await?.into_iter().filter(|row| row.status == RowStatus::Hibernated);
        let sandboxes = sandboxes.filter_map(|row| {
            let folder = self.hibernated_folder(&row.id);
            Some(Unpacked { owner: Owner::Sandbox(row.id), template_id: row.template_id, record: row.image?, folder })
        });
        let age = Duration::from_secs(self.config.pack_after_seconds);
        Ok(snapshots.chain(sandboxes).filter(|image| is_older(&image.folder, age)).collect())
    }

    /// The row says that the image is packed before its pages go: until then both can be restored.
    async fn pack_image(self: &Arc<Self>, image: Unpacked) -> Result<(), EngineError> {
        let Unpacked { owner, template_id, mut record, folder } = image;
        let _turn = match &owner {
            Owner::Sandbox(id) => Some(self.turns.wait(id).await),
            Owner::Snapshot(_) => None,
        };
        if record.packed_bytes.is_none() {
            let template = self.find_template(&template_id).await?.checkpoint().join(packed::PAGES);
            let packing = folder.clone();
            record.packed_bytes = Some(blocking(move || packed::pack(&packing, &template)).await?);
            match &owner {
                Owner::Snapshot(id) => self.store.set_snapshot_image(id, &record).await?,
                Owner::Sandbox(id) => self.store.set_sandbox_image(id, &record).await?,
            }
            tracing::debug!(folder = %folder.display(), bytes = record.packed_bytes, "image packed");
        }
        blocking(move || packed::remove_unpacked(&folder)).await
    }
}

/// True if there are unpacked pages that were written longer ago than `age`.
fn is_older(folder: &Path, age: Duration) -> bool {
    let written = std::fs::metadata(folder.join(packed::PAGES)).and_then(|pages| pages.modified());
    written.is_ok_and(|written| SystemTime::now().duration_since(written).is_ok_and(|since| since >= age))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, EngineError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| EngineError::Internal(format!("packing stopped: {error}")))?
        .map_err(|error| EngineError::Internal(format!("cannot pack an image: {error}")))
}
