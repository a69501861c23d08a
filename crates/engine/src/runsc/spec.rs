//! The OCI bundle of a sandbox.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::RunscError;
use crate::limits::BAKED_DISK_GB;

/// Where the guest agent lies in a template.
pub const GUEST_PATH: &str = "/sbin/pandastack-guest";

/// Where the kernels lie in a template.
pub const KERNELS_PATH: &str = "/opt/pandastack/kernels";

/// Mount point, mode and size in bytes of each tmpfs.
pub const TMPFS_MOUNTS: [(&str, &str, u64); 3] =
    [("/tmp", "1777", 2 << 30), ("/dev/shm", "1777", 512 << 20), ("/run", "755", 64 << 20)];

/// What pid 1 needs to start, limit and fence in the programs of the user, who get fewer.
const CAPABILITIES: [&str; 16] = [
    "CAP_AUDIT_WRITE",
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_MKNOD",
    "CAP_NET_BIND_SERVICE",
    "CAP_SETFCAP",
    "CAP_SETGID",
    "CAP_SETPCAP",
    "CAP_SETUID",
    "CAP_SYS_ADMIN",
    "CAP_SYS_CHROOT",
    "CAP_SYS_PTRACE",
    "CAP_SYS_RESOURCE",
];

/// What a sandbox is made of. Between checkpoint and restore only `hostname` and `env` may differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSpec {
    /// Absolute path of the EROFS root image. Part of the sandbox's identity: an image that was moved no longer fits its checkpoints.
    pub rootfs: PathBuf,
    /// Host name inside.
    pub hostname: String,
    /// Environment of pid 1; `PATH` and `HOME` are set if missing.
    pub env: BTreeMap<String, String>,
    /// Size of the writable layer over the root image, in bytes. It lies in memory; when it is full, writers see ENOSPC.
    pub disk_bytes: u64,
}

impl SandboxSpec {
    /// A sandbox over `rootfs` with the host name `sandbox`, no extra environment and the disk that templates are baked with.
    pub fn new(rootfs: impl Into<PathBuf>) -> Self {
        let disk_bytes = u64::from(BAKED_DISK_GB) << 30;
        Self { rootfs: rootfs.into(), hostname: "sandbox".to_owned(), env: BTreeMap::new(), disk_bytes }
    }

    /// Everything that must be equal between checkpoint and restore, as text for hashing. Sorted, because whether JSON keeps the order of
    /// keys depends on what else is built.
    pub fn fingerprint(&self) -> String {
        let mut fixed = Self::new(&self.rootfs).config();
        fixed.sort_all_objects();
        fixed.to_string()
    }

    /// The `config.json`.
    pub fn config(&self) -> Value {
        json!({
            "ociVersion": "1.2.0",
            "hostname": self.hostname,
            "root": {"path": "rootfs", "readonly": false},
            "process": {
                "terminal": false,
                "user": {"uid": 0, "gid": 0},
                "args": [GUEST_PATH],
                "env": self.environment(),
                "cwd": "/",
                "noNewPrivileges": false,
                "capabilities": {
                    "bounding": CAPABILITIES,
                    "effective": CAPABILITIES,
                    "permitted": CAPABILITIES,
                    "inheritable": [],
                    "ambient": [],
                },
            },
            "mounts": mounts(),
            "linux": {"namespaces": (["pid", "network", "ipc", "uts", "mount"]).map(|kind| json!({"type": kind}))},
            "annotations": {
                "dev.gvisor.spec.rootfs.source": self.rootfs,
                "dev.gvisor.spec.rootfs.type": "erofs",
                "dev.gvisor.spec.rootfs.overlay": "memory",
                "dev.gvisor.spec.rootfs.options": format!("size={}", self.disk_bytes),
            },
        })
    }

    fn environment(&self) -> Vec<String> {
        let defaults = [("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"), ("HOME", "/root")];
        let mut env: BTreeMap<&str, &str> = BTreeMap::from(defaults);
        env.extend(self.env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        env.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }
}

fn mounts() -> Vec<Value> {
    let mount = |kind: &str, destination: &str, options: Vec<String>| json!({"type": kind, "source": kind, "destination": destination, "options": options});
    let words = |options: &[&str]| options.iter().map(|option| (*option).to_owned()).collect::<Vec<_>>();
    let mut mounts = vec![
        mount("proc", "/proc", words(&["nosuid", "nodev", "noexec"])),
        mount("tmpfs", "/dev", words(&["nosuid"])),
        mount("sysfs", "/sys", words(&["nosuid", "nodev", "noexec", "ro"])),
    ];
    mounts.extend(TMPFS_MOUNTS.map(|(path, mode, size)| {
        mount("tmpfs", path, vec!["nosuid".into(), "nodev".into(), format!("mode={mode}"), format!("size={size}")])
    }));
    mounts
}

/// Writes the bundle of a sandbox into `folder`, which must exist: `config.json` and the empty folder `rootfs`.
///
/// # Errors
/// If a file cannot be written.
pub fn write_bundle(folder: &Path, spec: &SandboxSpec) -> Result<(), RunscError> {
    let rootfs = folder.join("rootfs");
    fs::create_dir_all(&rootfs).map_err(RunscError::file("make folder", &rootfs))?;
    let config = folder.join("config.json");
    fs::write(&config, spec.config().to_string()).map_err(RunscError::file("write", &config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_name_and_environment_are_no_part_of_the_fingerprint() {
        let plain = SandboxSpec::new("/image.erofs");
        let mut named = plain.clone();
        named.hostname = "other".into();
        named.env.insert("A".into(), "1".into());
        assert_ne!(named.config(), plain.config());
        assert_eq!(named.fingerprint(), plain.fingerprint());
        assert_ne!(SandboxSpec::new("/moved.erofs").fingerprint(), plain.fingerprint());
    }

    #[test]
    fn given_environment_wins_over_the_defaults() {
        let mut spec = SandboxSpec::new("/image.erofs");
        spec.env.insert("HOME".into(), "/workspace".into());
        let env = spec.environment();
        assert!(
            env.contains(&"HOME=/workspace".to_owned()) && env.iter().any(|entry| entry.starts_with("PATH=")),
            "{env:?}"
        );
        assert_eq!(env.len(), 2);
    }

    #[test]
    fn every_place_that_can_be_written_has_a_size() {
        let config = SandboxSpec::new("/image.erofs").config();
        assert_eq!(config["annotations"]["dev.gvisor.spec.rootfs.options"], "size=4294967296");
        for (path, _, size) in TMPFS_MOUNTS {
            let mount = config["mounts"].as_array().unwrap().iter().find(|mount| mount["destination"] == path).unwrap();
            assert!(mount["options"].as_array().unwrap().contains(&json!(format!("size={size}"))), "{mount}");
        }
    }
}
