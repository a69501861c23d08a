//! Images at rest: the pages of a sandbox as a zstd patch against those of its template, most of which they share.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::{cmp, fs};

use memmap2::Mmap;
use zstd::stream::{read::Decoder, write::Encoder};

/// The file that holds the memory of a sandbox, by far the largest.
pub(crate) const PAGES: &str = "pages.img";

/// The same, packed.
const PACKED: &str = "pages.img.zst";

/// The fastest level: the patch finds what is common, and higher ones find hardly more in the rest.
const LEVEL: i32 = 1;

/// Distances that zstd can look back to, as powers of two: at most 2 GiB.
const MIN_WINDOW: u32 = 20;
const MAX_WINDOW: u32 = 31;

/// Packs the pages of the image in `folder`, beside the pages themselves. Gives the size of the packed file, which outlives a power cut.
///
/// # Errors
/// If a file cannot be read or written; the image is as before.
pub(crate) fn pack(folder: &Path, template: &Path) -> io::Result<u64> {
    let (packed, new) = (folder.join(PACKED), folder.join(format!("{PACKED}.new")));
    let written = write_packed(&folder.join(PAGES), template, &new);
    let length = written.inspect_err(|_| drop(fs::remove_file(&new)))?;
    fs::rename(&new, &packed)?;
    File::open(folder)?.sync_all()?;
    Ok(length)
}

/// True if the image in `folder` is there in packed form only.
pub(crate) fn is_packed(folder: &Path) -> bool {
    !folder.join(PAGES).exists() && folder.join(PACKED).exists()
}

/// Removes the pages of an image that is packed.
pub(crate) fn remove_unpacked(folder: &Path) -> io::Result<()> {
    if folder.join(PACKED).exists() { fs::remove_file(folder.join(PAGES)) } else { Ok(()) }
}

/// Writes the pages of the packed image in `folder` to the folder `target`.
///
/// # Errors
/// If the packed file is damaged, or was made against other pages; a part of the pages may be left in `target`.
pub(crate) fn unpack(folder: &Path, template: &Path, target: &Path) -> io::Result<()> {
    let prefix = Pages::open(template)?;
    let packed = io::BufReader::new(File::open(folder.join(PACKED))?);
    let mut decoder = Decoder::with_ref_prefix(packed, prefix.bytes())?;
    decoder.window_log_max(MAX_WINDOW)?;
    io::copy(&mut decoder, &mut File::create(target.join(PAGES))?).map(drop)
}

fn write_packed(pages: &Path, template: &Path, target: &Path) -> io::Result<u64> {
    let (prefix, mut pages) = (Pages::open(template)?, File::open(pages)?);
    let length = pages.metadata()?.len();
    let mut encoder = Encoder::with_ref_prefix(File::create(target)?, LEVEL, prefix.bytes())?;
    encoder.long_distance_matching(true)?;
    encoder.window_log(window(length + prefix.bytes().len() as u64))?;
    encoder.set_pledged_src_size(Some(length))?;
    encoder.include_checksum(true)?;
    io::copy(&mut pages, &mut encoder)?;
    let mut file = encoder.finish()?;
    file.flush()?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

/// The distance from the last byte of the pages to the first of the template's.
fn window(length: u64) -> u32 {
    cmp::min(length.max(1).next_power_of_two().ilog2(), MAX_WINDOW).max(MIN_WINDOW)
}

/// The pages of a template.
struct Pages(Mmap);

impl Pages {
    fn open(path: &Path) -> io::Result<Self> {
        // SAFETY: templates are immutable files of the engine's private home, which nobody shortens.
        unsafe { Mmap::map(&File::open(path)?) }.map(Self)
    }

    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that no compressor can shorten.
    fn noise(length: usize, seed: u64) -> Vec<u8> {
        let mut bytes = vec![0; length];
        fastrand::Rng::with_seed(seed).fill(&mut bytes);
        bytes
    }

    #[test]
    fn what_the_template_has_costs_nothing_and_comes_back_exactly() {
        let folder = tempfile::tempdir().unwrap();
        let (image, target) = (folder.path().join("image"), folder.path().join("target"));
        let template = folder.path().join("template.img");
        fs::create_dir(&image).unwrap();
        fs::create_dir(&target).unwrap();
        let common = noise(40 << 20, 1);
        fs::write(&template, &common).unwrap();
        // The same pages in another order, and some that are new.
        let pages = [&common[20 << 20..], &noise(1 << 20, 2), &common[..20 << 20]].concat();
        fs::write(image.join(PAGES), &pages).unwrap();

        assert!(!is_packed(&image));
        let length = pack(&image, &template).unwrap();
        assert!(length > 1 << 20 && length < (1 << 20) + (1 << 18), "{length}");
        assert!(!is_packed(&image), "the pages are still there");
        remove_unpacked(&image).unwrap();
        assert!(is_packed(&image));
        unpack(&image, &template, &target).unwrap();
        assert!(fs::read(target.join(PAGES)).unwrap() == pages);
    }

    #[test]
    fn damage_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let template = folder.path().join("template.img");
        fs::write(&template, noise(1 << 20, 1)).unwrap();
        fs::write(folder.path().join(PAGES), noise(1 << 20, 2)).unwrap();
        pack(folder.path(), &template).unwrap();
        let target = tempfile::tempdir().unwrap();
        let mut bytes = fs::read(folder.path().join(PACKED)).unwrap();
        bytes.truncate(bytes.len() / 2);
        fs::write(folder.path().join(PACKED), bytes).unwrap();
        unpack(folder.path(), &template, target.path()).unwrap_err();
    }

    #[test]
    fn pages_are_never_removed_where_there_is_no_packed_form() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(PAGES), "pages").unwrap();
        remove_unpacked(folder.path()).unwrap();
        assert!(folder.path().join(PAGES).exists());
    }
}
