//! The kernels, which are embedded in the binary.

use std::fs;
use std::path::Path;

use super::TemplateError;

/// Path below the kernels' folder and content of each file.
pub(crate) const KERNELS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// Writes the kernels below `folder`.
pub(crate) fn write_kernels(folder: &Path) -> Result<(), TemplateError> {
    for (name, content) in KERNELS {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(TemplateError::file("make folder", parent))?;
        fs::write(&path, content).map_err(TemplateError::file("write", &path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zygote_is_embedded_and_caches_are_not() {
        let folder = tempfile::tempdir().unwrap();
        write_kernels(folder.path()).unwrap();
        assert!(folder.path().join("pandastack_kernel/zygote.py").is_file());
        assert!(KERNELS.iter().all(|(name, _)| name.ends_with(".py")));
    }
}
