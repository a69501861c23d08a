//! Images of sandboxes: what `runsc checkpoint` wrote, and what must be the same for it to be restored.
//!
//! gVisor itself checks nothing: a flipped byte becomes wrong memory without a word.

pub(crate) mod packed;

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
    /// Size of the packed pages, in bytes, once they are packed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packed_bytes: Option<u64>,
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
        Ok(Self {
            runsc_version: runsc_version.to_owned(),
            cpu_features: template::cpu_features(),
            hashes,
            size_bytes,
            packed_bytes: None,
        })
    }

    /// What the image takes on the disk, in bytes. Of a packed one that is the packed pages; the rest is small.
    pub(crate) fn stored_bytes(&self) -> u64 {
        self.packed_bytes.unwrap_or(self.size_bytes)
    }

    /// Checks that an image of this kind can be restored here. `what` names it in the error.
    ///
    /// # Errors
    /// [`EngineError::Conflict`] says what differs.
    pub(crate) fn check_fits(&self, runsc_version: &str, what: &str) -> Result<(), EngineError> {
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
        Ok(())
    }

    /// Checks that the image in `folder` is what it was. `what` names it in the error.
    ///
    /// # Errors
    /// [`EngineError::Conflict`] says what differs.
    pub(crate) fn verify(&self, folder: &Path, what: &str) -> Result<(), EngineError> {
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

    /// Makes a folder with the files of the image in `source`, which share their blocks; packed pages are unpacked against `template`, the pages of
    /// its template. What happens to `source` from then on does not matter.
    pub(crate) fn open(source: &Path, template: &Path, folder: PathBuf) -> io::Result<Self> {
        let image = Self::make(folder)?;
        for name in CHECKPOINT_FILES {
            match fs::hard_link(source.join(name), image.folder.join(name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    // Whatever else is missing shows when the image is verified.
                    if packed::is_packed(source) {
                        packed::unpack(source, template, &image.folder)?;
                    }
                }
                linked => linked?,
            }
        }
        Ok(image)
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
        let unfit = |record: &ImageRecord, version| record.check_fits(version, "snapshot `x`").unwrap_err().to_string();
        record.check_fits("1", "snapshot `x`").unwrap();
        assert!(unfit(&record, "2").contains("made with runsc 1, here is 2"));
        let foreign = ImageRecord { cpu_features: vec!["avx99".to_owned()], ..record.clone() };
        assert!(unfit(&foreign, "1").contains("lacks avx99"));

        record.verify(folder.path(), "snapshot `x`").unwrap();
        let damage = || record.verify(folder.path(), "snapshot `x`").unwrap_err().to_string();
        fs::write(folder.path().join("pages.img"), "pages.imG").unwrap();
        assert_eq!(damage(), "snapshot `x` is damaged: pages.img is not what it was; delete it");
        fs::remove_file(folder.path().join("checkpoint.img")).unwrap();
        assert_eq!(damage(), "snapshot `x` is damaged: checkpoint.img is missing; delete it");
    }

    #[test]
    fn an_opened_image_outlives_the_original_packed_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let (source, template) = (folder.path().join("source"), folder.path().join("template.img"));
        fs::create_dir(&source).unwrap();
        fs::write(&template, "pages of a template").unwrap();
        let record = image(&source);
        let raw = NewImage::open(&source, &template, folder.path().join("raw.new")).unwrap();
        packed::pack(&source, &template).unwrap();
        packed::remove_unpacked(&source).unwrap();
        let unpacked = NewImage::open(&source, &template, folder.path().join("unpacked.new")).unwrap();
        remove_image(&source).unwrap();
        for opened in [raw, unpacked] {
            record.verify(opened.folder(), "snapshot `x`").unwrap();
        }
        let gone = NewImage::open(&source, &template, folder.path().join("gone.new")).unwrap();
        assert!(record.verify(gone.folder(), "it").unwrap_err().to_string().contains("is missing"));
        drop(gone);
        assert!(!folder.path().join("gone.new").exists());
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
