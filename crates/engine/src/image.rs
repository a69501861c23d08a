//! Images of sandboxes: what `runsc checkpoint` wrote, and what must be the same for it to be restored.
//!
//! gVisor itself checks nothing: a flipped byte becomes wrong memory without a word.

mod packed;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::error::EngineError;
use crate::template::{self, CHECKPOINT_FILES, hash_file};

/// What is remembered of an image, in the store: so it exists whole or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageRecord {
    /// Version of the `runsc` that wrote it.
    pub runsc_version: String,
    /// Features of the processor that it was taken on.
    pub cpu_features: Vec<String>,
    /// BLAKE3 of each file, by its name.
    pub hashes: BTreeMap<String, String>,
    /// Size of all files, in bytes.
    pub size_bytes: u64,
}

impl ImageRecord {
    /// Makes sure that the files in `folder` outlive a power cut, and measures them.
    pub(crate) fn of(folder: &Path, runsc_version: &str) -> io::Result<Self> {
        let mut hashes = BTreeMap::new();
        let mut size_bytes = 0;
        for name in CHECKPOINT_FILES {
            let path = folder.join(name);
            let file = fs::File::open(&path)?;
            file.sync_all()?;
            size_bytes += file.metadata()?.len();
            hashes.insert(name.to_owned(), hash_file(&path)?);
        }
        fs::File::open(folder)?.sync_all()?;
        Ok(Self { runsc_version: runsc_version.to_owned(), cpu_features: template::cpu_features(), hashes, size_bytes })
    }

    /// Checks that the image in `folder` is what it was and can be restored here. `what` names it in the error.
    ///
    /// # Errors
    /// [`EngineError::Conflict`] says what differs.
    pub(crate) fn verify(&self, folder: &Path, runsc_version: &str, what: &str) -> Result<(), EngineError> {
        let missing = template::missing(&self.cpu_features, &template::cpu_features());
        if self.runsc_version != runsc_version {
            let text =
                format!("{what} does not fit: it was made with runsc {}, here is {runsc_version}", self.runsc_version);
            return Err(EngineError::Conflict(text));
        }
        if !missing.is_empty() {
            let text = format!("{what} does not fit: the processor lacks {}", missing.join(", "));
            return Err(EngineError::Conflict(text));
        }
        for name in CHECKPOINT_FILES {
            let found = hash_file(&folder.join(name)).ok();
            if found.is_none() || found.as_ref() != self.hashes.get(name) {
                let state = if found.is_none() { "missing" } else { "not what it was" };
                return Err(EngineError::Conflict(format!("{what} is damaged: {name} is {state}; delete it")));
            }
        }
        Ok(())
    }
}

/// A folder that an image is written into. It goes away unless it is kept.
pub(crate) struct NewImage {
    folder: PathBuf,
    is_kept: bool,
}

impl NewImage {
    /// Makes the folder; one that was left behind is removed before.
    pub(crate) fn make(folder: PathBuf) -> io::Result<Self> {
        remove_image(&folder)?;
        crate::home::create_private(&folder)?;
        Ok(Self { folder, is_kept: false })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Puts the image, whose files are on the disk, at `path` for good.
    pub(crate) fn keep(mut self, path: &Path) -> io::Result<()> {
        remove_image(path)?;
        fs::rename(&self.folder, path)?;
        self.is_kept = true;
        path.parent().map_or(Ok(()), |parent| fs::File::open(parent)?.sync_all())
    }
}

impl Drop for NewImage {
    fn drop(&mut self) {
        if !self.is_kept
            && let Err(error) = remove_image(&self.folder)
        {
            tracing::warn!(%error, folder = %self.folder.display(), "could not remove an image; the next start of the engine tries again");
        }
    }
}

/// Removes an image; none is fine.
pub(crate) fn remove_image(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(folder: &Path) -> ImageRecord {
        for name in CHECKPOINT_FILES {
            fs::write(folder.join(name), name).unwrap();
        }
        ImageRecord::of(folder, "1").unwrap()
    }

    #[test]
    fn damage_is_found_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let record = image(folder.path());
        record.verify(folder.path(), "1", "snapshot `x`").unwrap();
        let error = |record: &ImageRecord, version| {
            record.verify(folder.path(), version, "snapshot `x`").unwrap_err().to_string()
        };
        assert!(error(&record, "2").contains("made with runsc 1, here is 2"));
        let foreign = ImageRecord { cpu_features: vec!["avx99".to_owned()], ..record.clone() };
        assert!(error(&foreign, "1").contains("lacks avx99"));
        fs::write(folder.path().join("pages.img"), "pages.imG").unwrap();
        assert_eq!(error(&record, "1"), "snapshot `x` is damaged: pages.img is not what it was; delete it");
        fs::remove_file(folder.path().join("checkpoint.img")).unwrap();
        assert_eq!(error(&record, "1"), "snapshot `x` is damaged: checkpoint.img is missing; delete it");
    }

    #[test]
    fn an_image_that_is_not_kept_goes() {
        let folder = tempfile::tempdir().unwrap();
        let (new, kept) = (folder.path().join("a.new"), folder.path().join("a"));
        drop(NewImage::make(new.clone()).unwrap());
        assert!(!new.exists());
        let made = NewImage::make(new.clone()).unwrap();
        image(made.folder());
        made.keep(&kept).unwrap();
        assert!(kept.join("pages.img").exists() && !new.exists());
    }
}
