//! Where the agent lives: namespaces of the host, or a gVisor sandbox.
//!
//! With `PANDASTACK_TEST_ROOTFS` (a Debian root folder with python3) the tests run in gVisor, with the `runsc` of `PANDASTACK_RUNSC` or
//! of the path, and with the agent of `PANDASTACK_TEST_AGENT` if it is set.

use std::path::{Path, PathBuf};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::process::Command;

const CAPABILITIES: [&str; 17] = [
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
    "CAP_SYS_NICE",
    "CAP_SYS_PTRACE",
    "CAP_SYS_RESOURCE",
];

/// One or the other.
pub(super) enum Home {
    Namespaces,
    /// A folder with the bundle and the state of runsc.
    Sandbox(tempfile::TempDir),
}

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels")
}

fn runsc() -> String {
    std::env::var("PANDASTACK_RUNSC").unwrap_or_else(|_| "runsc".into())
}

impl Home {
    /// A home whose inhabitants see `shared`.
    pub(super) fn chosen(shared: &Path) -> Self {
        let Ok(rootfs) = std::env::var("PANDASTACK_TEST_ROOTFS") else { return Self::Namespaces };
        let bundle = tempfile::tempdir().unwrap();
        let config = serde_json::to_vec(&config(&rootfs, shared)).unwrap();
        std::fs::write(bundle.path().join("config.json"), config).unwrap();
        Self::Sandbox(bundle)
    }

    fn runsc(bundle: &Path) -> std::process::Command {
        let mut command = std::process::Command::new(runsc());
        command.arg("--root").arg(bundle.join("state"));
        command.args(["--network=none", "--ignore-cgroups", "--platform=systrap", "--overlay2=root:memory"]);
        command
    }

    /// Runs the agent in the foreground.
    pub(super) fn command(&self) -> Command {
        match self {
            Self::Namespaces => {
                let mut command = Command::new("unshare");
                let script = "ip link set lo up; exec \"$AGENT\"";
                command.args(["--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "--net", "sh", "-c", script]);
                command.env("AGENT", env!("CARGO_BIN_EXE_pandastack-guest")).env("PANDASTACK_KERNELS", kernels());
                command
            }
            Self::Sandbox(bundle) => {
                let mut command = Self::runsc(bundle.path());
                command.arg("run").arg("--bundle").arg(bundle.path()).arg("guest");
                command.into()
            }
        }
    }

    /// Sends SIGUSR1 to the agent.
    pub(super) fn signal(&self, started: u32) {
        match self {
            Self::Namespaces => {
                let children = std::fs::read_to_string(format!("/proc/{started}/task/{started}/children")).unwrap();
                kill(Pid::from_raw(children.trim().parse().unwrap()), Signal::SIGUSR1).unwrap();
            }
            Self::Sandbox(bundle) => assert!(Self::runsc(bundle.path()).args(["kill", "guest", "USR1"]).status().unwrap().success()),
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Self::Sandbox(bundle) = self {
            let _ = Self::runsc(bundle.path()).args(["delete", "--force", "guest"]).output();
        }
    }
}

fn config(rootfs: &str, shared: &Path) -> Value {
    let agent = std::env::var("PANDASTACK_TEST_AGENT").unwrap_or_else(|_| env!("CARGO_BIN_EXE_pandastack-guest").into());
    let bind = |from: &Path, to: &Path| json!({"destination": to, "type": "bind", "source": from, "options": ["rbind", "rw"]});
    let folder = Path::new(&agent).parent().unwrap();
    let program = Path::new("/agent").join(Path::new(&agent).file_name().unwrap());
    json!({
        "ociVersion": "1.0.0",
        "process": {
            "user": {"uid": 0, "gid": 0},
            "args": [program],
            "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "PANDASTACK_KERNELS=/kernels"],
            "cwd": "/",
            "capabilities": {"bounding": CAPABILITIES, "effective": CAPABILITIES, "permitted": CAPABILITIES},
            "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 65536, "soft": 65536}],
        },
        "root": {"path": rootfs},
        "hostname": "sandbox",
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
            {"destination": "/sys", "type": "sysfs", "source": "sysfs"},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"},
            bind(folder, Path::new("/agent")),
            bind(&kernels(), Path::new("/kernels")),
            bind(shared, shared),
        ],
        "linux": {"namespaces": [{"type": "pid"}, {"type": "mount"}, {"type": "network"}, {"type": "ipc"}, {"type": "uts"}]},
    })
}
