//! The root image: the base with the guest agent, the kernels and the host's certificates.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::base::{BUNDLE_PATH, in_root, remove};
use super::step::{Steps, base_environment};
use super::{TemplateError, certificates, kernels};
use crate::runsc::{GUEST_PATH, KERNELS_PATH};

/// Where an EROFS image says that it is one, and what it says.
const EROFS_MAGIC_OFFSET: u64 = 1024;
const EROFS_MAGIC: [u8; 4] = 0xE0F5_E1E2_u32.to_le_bytes();

/// What is added to a base.
pub(crate) struct Additions {
    /// The guest agent's binary.
    pub(crate) guest: PathBuf,
    /// Certificates that the host trusts and Debian does not, in PEM.
    pub(crate) certificates: Vec<String>,
}

impl Additions {
    /// The agent at `guest`, and what the host trusts beyond the base in `rootfs`.
    pub(crate) fn for_base(rootfs: &Path, guest: PathBuf) -> Result<Self, TemplateError> {
        let own = rootfs.join(BUNDLE_PATH);
        let own = fs::read_to_string(&own).map_err(TemplateError::file("read", &own))?;
        let host = certificates::host_bundle().and_then(|path| fs::read(path).ok()).unwrap_or_default();
        let certificates = certificates::extra_certificates(&own, &String::from_utf8_lossy(&host));
        Ok(Self { guest, certificates })
    }
}

/// Makes the image `image` of `base` and `additions`; `work` is a folder for it on the same disk as `base`.
pub(crate) async fn build_image(
    base: &Path,
    additions: &Additions,
    work: &Path,
    image: &Path,
    steps: &Steps,
) -> Result<(), TemplateError> {
    let rootfs = work.join("rootfs");
    // Hard links: files are replaced, never written to, so the base stays as it is.
    let copy = ["cp".as_ref(), "-al".as_ref(), base.as_os_str(), rootfs.as_os_str()];
    steps.fenced("copying the base", &copy, &base_environment()).await?;
    add(&rootfs, additions)?;
    in_root(&rootfs, &["python3", "-m", "compileall", "-q", KERNELS_PATH], &[], steps, "compiling the kernels").await?;
    let path = format!("PYTHONPATH={KERNELS_PATH}");
    let bundle = ["env", &path, "python3", "-m", "pandastack_kernel.write_bundle"];
    in_root(&rootfs, &bundle, &[], steps, "bundling what the kernels import").await?;
    let options = ["mkfs.erofs", "--quiet", "-Enoinline_data", "--all-root"].map(OsStr::new);
    let pack = [&options[..], &[image.as_os_str(), rootfs.as_os_str()]].concat();
    steps.fenced("packing the image", &pack, &base_environment()).await?;
    verify_erofs(image)
}

fn add(rootfs: &Path, additions: &Additions) -> Result<(), TemplateError> {
    let guest = inside(rootfs, GUEST_PATH);
    remove(&guest)?;
    fs::copy(&additions.guest, &guest).map_err(TemplateError::file("copy", &additions.guest))?;
    fs::set_permissions(&guest, fs::Permissions::from_mode(0o755))
        .map_err(TemplateError::file("change mode of", &guest))?;
    let kernels_folder = inside(rootfs, KERNELS_PATH);
    remove(&kernels_folder)?;
    kernels::write_kernels(&kernels_folder)?;
    trust(rootfs, &additions.certificates)
}

/// Adds certificates to the bundle, and where a later `update-ca-certificates` finds them.
fn trust(rootfs: &Path, certificates: &[String]) -> Result<(), TemplateError> {
    if certificates.is_empty() {
        return Ok(());
    }
    let bundle = rootfs.join(BUNDLE_PATH);
    let own = fs::read_to_string(&bundle).map_err(TemplateError::file("read", &bundle))?;
    remove(&bundle)?;
    fs::write(&bundle, own + &certificates.concat()).map_err(TemplateError::file("write", &bundle))?;
    let folder = rootfs.join("usr/local/share/ca-certificates");
    fs::create_dir_all(&folder).map_err(TemplateError::file("make folder", &folder))?;
    for (number, certificate) in certificates.iter().enumerate() {
        let path = folder.join(format!("host-{number}.crt"));
        remove(&path)?;
        fs::write(&path, certificate).map_err(TemplateError::file("write", &path))?;
    }
    Ok(())
}

fn inside(rootfs: &Path, path: &str) -> PathBuf {
    rootfs.join(path.trim_start_matches('/'))
}

/// Refuses a file that is not an EROFS image.
pub(crate) fn verify_erofs(image: &Path) -> Result<(), TemplateError> {
    let mut file = fs::File::open(image).map_err(TemplateError::file("open", image))?;
    let mut magic = [0; 4];
    let found = file.seek(SeekFrom::Start(EROFS_MAGIC_OFFSET)).and_then(|_| file.read_exact(&mut magic));
    if found.is_ok() && magic == EROFS_MAGIC { Ok(()) } else { Err(TemplateError::NotErofs(image.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_told_by_its_magic() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        fs::write(&path, [vec![0; 1024], EROFS_MAGIC.to_vec()].concat()).unwrap();
        verify_erofs(&path).unwrap();
        for content in [vec![0; 2000], vec![0; 10]] {
            fs::write(&path, content).unwrap();
            assert!(verify_erofs(&path).unwrap_err().to_string().contains("not an EROFS image"));
        }
    }

    #[test]
    fn additions_replace_files_and_leave_the_base_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (base, copy) = (folder.path().join("base"), folder.path().join("copy"));
        for root in [&base, &copy] {
            fs::create_dir_all(root.join("etc/ssl/certs")).unwrap();
            fs::create_dir_all(root.join("sbin")).unwrap();
        }
        fs::write(base.join(BUNDLE_PATH), "own\n").unwrap();
        fs::hard_link(base.join(BUNDLE_PATH), copy.join(BUNDLE_PATH)).unwrap();
        let guest = folder.path().join("guest");
        fs::write(&guest, "agent").unwrap();

        let additions = Additions { guest, certificates: vec!["extra\n".to_owned()] };
        add(&copy, &additions).unwrap();
        add(&copy, &Additions { certificates: Vec::new(), ..additions }).unwrap();

        assert_eq!(fs::read_to_string(base.join(BUNDLE_PATH)).unwrap(), "own\n");
        assert_eq!(fs::read_to_string(copy.join(BUNDLE_PATH)).unwrap(), "own\nextra\n");
        assert_eq!(fs::read_to_string(copy.join("usr/local/share/ca-certificates/host-0.crt")).unwrap(), "extra\n");
        assert_eq!(fs::metadata(copy.join("sbin/pandastack-guest")).unwrap().permissions().mode() & 0o777, 0o755);
        assert!(copy.join("opt/pandastack/kernels/pandastack_kernel/zygote.py").is_file());
    }
}
