//! What a template knows about itself: `template.json`, written last, makes the folder a template.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::hash::hash_file;
use super::{TemplateError, cpu};
use crate::runsc::SandboxSpec;

const METADATA_FILE: &str = "template.json";

/// Files of a checkpoint.
pub(crate) const CHECKPOINT_FILES: [&str; 3] = ["checkpoint.img", "pages.img", "pages_meta.img"];

/// A template that sandboxes can be made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    /// Hash of all that went in.
    pub id: String,
    /// Name by which sandboxes are made from it.
    pub name: String,
    /// Hash of the recipe; for an imported image, the hash of the image.
    pub base_id: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Environment of every program in its sandboxes.
    pub environment: BTreeMap<String, String>,
    /// Version of the `runsc` that took the checkpoint.
    pub runsc_version: String,
    /// Features of the processor that the checkpoint was taken on.
    pub cpu_features: Vec<String>,
    /// Size of the root image, in bytes.
    pub rootfs_bytes: u64,
    /// Size of the checkpoint's files together, in bytes.
    pub checkpoint_bytes: u64,
    /// From the start of the sandbox to a warm kernel, in milliseconds.
    pub boot_ms: u64,
    /// When it was made, in seconds since 1970.
    pub created_at: u64,
    /// BLAKE3 of each file, by its path in the folder.
    pub hashes: BTreeMap<String, String>,
}

impl Template {
    /// The EROFS root image.
    pub fn rootfs(&self) -> PathBuf {
        self.folder.join("rootfs.erofs")
    }

    /// The folder of the checkpoint, as `runsc restore` takes it.
    pub fn checkpoint(&self) -> PathBuf {
        self.folder.join("checkpoint")
    }

    /// The shape of its sandboxes.
    pub fn spec(&self) -> SandboxSpec {
        SandboxSpec { env: self.environment.clone(), ..SandboxSpec::new(self.rootfs()) }
    }

    /// Reads the template in `folder`; `None` if there is none.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, TemplateError> {
        let path = folder.join(METADATA_FILE);
        let text = match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(TemplateError::file("read", &path))?,
        };
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        serde_json::from_slice(&text).map(Some).map_err(|_| TemplateError::Damaged { name, path })
    }

    /// Writes `template.json` in one go.
    pub(crate) fn write(&self) -> Result<(), TemplateError> {
        let (path, new) = (self.folder.join(METADATA_FILE), self.folder.join("template.json.new"));
        let text = serde_json::to_vec_pretty(self).unwrap_or_default();
        fs::write(&new, text).map_err(TemplateError::file("write", &new))?;
        sync(&new)?;
        fs::rename(&new, &path).map_err(TemplateError::file("write", &path))?;
        sync(&self.folder)
    }

    /// Checks that its checkpoint can be restored here, with this `runsc`.
    ///
    /// # Errors
    /// [`TemplateError::Unfit`] says what differs.
    pub fn verify_fits(&self, folder: &Path, runsc_version: &str) -> Result<(), TemplateError> {
        let missing = cpu::missing(&self.cpu_features, &cpu::cpu_features());
        let reason = if self.runsc_version != runsc_version {
            format!("it was made with runsc {}, here is {runsc_version}", self.runsc_version)
        } else if !is_same_folder(&self.folder, folder) {
            format!("it was made at `{}`", self.folder.display())
        } else if !missing.is_empty() {
            format!("the processor lacks {}", missing.join(", "))
        } else {
            return Ok(());
        };
        Err(TemplateError::Unfit { name: self.name.clone(), reason })
    }

    /// Compares the checkpoint's files with their hashes: `runsc` itself would restore wrong memory without a word. Takes some 30 ms.
    ///
    /// # Errors
    /// [`TemplateError::Damaged`] names the first file that differs.
    pub fn verify_checkpoint(&self) -> Result<(), TemplateError> {
        self.verify_files(|name| name != "rootfs.erofs")
    }

    /// Compares every file with its hash. Takes a second or more.
    ///
    /// # Errors
    /// [`TemplateError::Damaged`] names the first file that differs.
    pub fn verify(&self) -> Result<(), TemplateError> {
        self.verify_files(|_| true)
    }

    fn verify_files(&self, wanted: impl Fn(&str) -> bool) -> Result<(), TemplateError> {
        for (name, expected) in self.hashes.iter().filter(|(name, _)| wanted(name)) {
            let path = self.folder.join(name);
            if hash_file(&path).ok().as_ref() != Some(expected) {
                return Err(TemplateError::Damaged { name: self.name.clone(), path });
            }
        }
        Ok(())
    }
}

/// Hash and size of each file of the template in `folder`.
pub(crate) fn measure(folder: &Path) -> Result<(BTreeMap<String, String>, u64, u64), TemplateError> {
    let mut hashes = BTreeMap::new();
    let mut checkpoint_bytes = 0;
    let size =
        |path: &Path| fs::metadata(path).map(|metadata| metadata.len()).map_err(TemplateError::file("read", path));
    for name in CHECKPOINT_FILES.map(|name| format!("checkpoint/{name}")) {
        let path = folder.join(&name);
        checkpoint_bytes += size(&path)?;
        hashes.insert(name, hash_file(&path).map_err(TemplateError::file("read", &path))?);
    }
    let rootfs = folder.join("rootfs.erofs");
    hashes.insert("rootfs.erofs".to_owned(), hash_file(&rootfs).map_err(TemplateError::file("read", &rootfs))?);
    Ok((hashes, size(&rootfs)?, checkpoint_bytes))
}

/// True for two paths of one folder, such as one through a linked `templates`.
fn is_same_folder(one: &Path, other: &Path) -> bool {
    one == other || matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}

/// Makes sure that a file or a folder's entries outlive a power cut.
pub(crate) fn sync(path: &Path) -> Result<(), TemplateError> {
    fs::File::open(path).and_then(|file| file.sync_all()).map_err(TemplateError::file("sync", path))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A template of a few bytes in `folder`.
    pub(crate) fn small(folder: &Path, id: &str, name: &str) -> Template {
        fs::create_dir_all(folder.join("checkpoint")).unwrap();
        fs::write(folder.join("rootfs.erofs"), "image").unwrap();
        for file in CHECKPOINT_FILES {
            fs::write(folder.join("checkpoint").join(file), file).unwrap();
        }
        let (hashes, rootfs_bytes, checkpoint_bytes) = measure(folder).unwrap();
        let template = Template {
            id: id.to_owned(),
            name: name.to_owned(),
            base_id: "base".to_owned(),
            folder: folder.to_owned(),
            environment: BTreeMap::from([("LANG".to_owned(), "C.UTF-8".to_owned())]),
            runsc_version: "20260905.0".to_owned(),
            cpu_features: Vec::new(),
            rootfs_bytes,
            checkpoint_bytes,
            boot_ms: 1,
            created_at: 1,
            hashes,
        };
        template.write().unwrap();
        template
    }

    #[test]
    fn what_was_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Template::read(folder.path()).unwrap(), None);
        let template = small(folder.path(), "id", "name");
        assert_eq!(Template::read(folder.path()).unwrap(), Some(template.clone()));
        assert_eq!(template.rootfs_bytes, 5);
        fs::write(folder.path().join(METADATA_FILE), "{").unwrap();
        assert!(matches!(Template::read(folder.path()), Err(TemplateError::Damaged { .. })));
    }

    #[test]
    fn a_flipped_byte_is_found_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let template = small(folder.path(), "id", "name");
        template.verify().unwrap();
        fs::write(template.rootfs(), "imagE").unwrap();
        template.verify_checkpoint().unwrap();
        assert!(template.verify().unwrap_err().to_string().contains("rootfs.erofs"));
        fs::write(template.checkpoint().join("pages.img"), "pages.imG").unwrap();
        assert!(template.verify_checkpoint().unwrap_err().to_string().contains("pages.img"));
        fs::remove_file(template.checkpoint().join("checkpoint.img")).unwrap();
        assert!(template.verify_checkpoint().unwrap_err().to_string().contains("checkpoint.img"));
    }

    #[test]
    fn another_runsc_place_or_processor_does_not_fit() {
        let folder = tempfile::tempdir().unwrap();
        let mut template = small(folder.path(), "id", "name");
        template.verify_fits(folder.path(), "20260905.0").unwrap();
        let reason = |outcome: Result<(), TemplateError>| outcome.unwrap_err().to_string();
        assert!(
            reason(template.verify_fits(folder.path(), "20270101.0"))
                .contains("made with runsc 20260905.0, here is 20270101.0")
        );
        assert!(reason(template.verify_fits(Path::new("/elsewhere"), "20260905.0")).contains("made at"));
        let link = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(folder.path(), link.path().join("linked")).unwrap();
        template.verify_fits(&link.path().join("linked"), "20260905.0").unwrap();
        template.cpu_features = vec!["avx99".to_owned()];
        assert!(reason(template.verify_fits(folder.path(), "20260905.0")).contains("lacks avx99"));
    }
}
