//! Where the agent lives: namespaces of the host, or a gVisor sandbox.
//!
//! With `PANDASTACK_TEST_ROOTFS` (a Debian root folder with python3) the tests run in gVisor, with the `runsc` of `PANDASTACK_RUNSC` or
//! of the path, and with the agent of `PANDASTACK_TEST_AGENT` if it is set.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

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

/// Where bytes for the agent go.
pub(super) type Stdin = Box<dyn AsyncWrite + Send + Unpin>;
/// Where bytes of the agent come from.
pub(super) type Stdout = Box<dyn AsyncRead + Send + Unpin>;

/// One or the other.
pub(super) enum Home {
    Namespaces(Child),
    /// A folder with the bundle and the state of runsc.
    Sandbox(tempfile::TempDir),
}

/// The kernels of the tests, or those of `PANDASTACK_TEST_KERNELS`.
fn kernels() -> PathBuf {
    std::env::var_os("PANDASTACK_TEST_KERNELS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels"), PathBuf::from)
}

fn rootfs() -> Option<String> {
    std::env::var("PANDASTACK_TEST_ROOTFS").ok()
}

fn log() -> Stdio {
    if std::env::var_os("PANDASTACK_TEST_LOG").is_some() { Stdio::inherit() } else { Stdio::null() }
}

impl Home {
    /// Starts an agent that sees `shared`.
    pub(super) fn start(shared: &Path) -> (Self, Stdin, Stdout) {
        match rootfs() {
            Some(_) => {
                let (home, stdin, stdout) = Self::create(shared);
                home.run(&["start", "guest"]);
                (home, stdin, stdout)
            }
            None => Self::unshare(),
        }
    }

    fn unshare() -> (Self, Stdin, Stdout) {
        let script = "ip link set lo up; exec \"$AGENT\"";
        let mut child = Command::new("unshare")
            .args(["--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "--net", "sh", "-c", script])
            .env("AGENT", env!("CARGO_BIN_EXE_pandastack-guest"))
            .env("PANDASTACK_KERNELS", kernels())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log())
            .kill_on_drop(true)
            .spawn()
            .expect("root, and unshare of util-linux, are needed");
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        (Self::Namespaces(child), Box::new(stdin), Box::new(stdout))
    }

    /// A sandbox in which nothing runs yet, with named pipes as standard input and output.
    fn create(shared: &Path) -> (Self, Stdin, Stdout) {
        let bundle = tempfile::tempdir().unwrap();
        let config = serde_json::to_vec(&config(&rootfs().unwrap(), shared)).unwrap();
        std::fs::write(bundle.path().join("config.json"), config).unwrap();
        let pipes = ["stdin", "stdout"].map(|name| {
            let path = bundle.path().join(name);
            nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
            path
        });
        let open = |path| std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
        let stdin = pipe::OpenOptions::new().read_write(true).open_sender(&pipes[0]).unwrap();
        let stdout = pipe::OpenOptions::new().read_write(true).open_receiver(&pipes[1]).unwrap();
        let home = Self::Sandbox(bundle);
        let mut create = home.runsc(&["create", "--bundle", home.bundle().to_str().unwrap(), "guest"]);
        assert!(create.stdin(open(&pipes[0])).stdout(open(&pipes[1])).stderr(log()).status().unwrap().success());
        (home, Box::new(stdin), Box::new(stdout))
    }

    /// A sandbox made of an image of [`Self::checkpoint`].
    pub(super) fn restore(shared: &Path, image: &Path) -> (Self, Stdin, Stdout) {
        let (home, stdin, stdout) = Self::create(shared);
        home.run(&[
            "restore",
            "--detach",
            "--bundle",
            home.bundle().to_str().unwrap(),
            "--image-path",
            image.to_str().unwrap(),
            "guest",
        ]);
        (home, stdin, stdout)
    }

    /// Writes an image of the sandbox, which goes on.
    pub(super) fn checkpoint(&self, image: &Path) {
        self.run(&["checkpoint", "--image-path", image.to_str().unwrap(), "-leave-running", "guest"]);
    }

    pub(super) fn is_sandbox(&self) -> bool {
        matches!(self, Self::Sandbox(_))
    }

    /// Sends SIGUSR1 to the agent.
    pub(super) fn signal(&self) {
        match self {
            Self::Namespaces(child) => {
                let unshare = child.id().unwrap();
                let children = std::fs::read_to_string(format!("/proc/{unshare}/task/{unshare}/children")).unwrap();
                kill(Pid::from_raw(children.trim().parse().unwrap()), Signal::SIGUSR1).unwrap();
            }
            Self::Sandbox(_) => self.run(&["kill", "guest", "USR1"]),
        }
    }

    fn bundle(&self) -> &Path {
        match self {
            Self::Namespaces(_) => unreachable!("only sandboxes have a bundle"),
            Self::Sandbox(bundle) => bundle.path(),
        }
    }

    fn runsc(&self, arguments: &[&str]) -> std::process::Command {
        let mut command =
            std::process::Command::new(std::env::var("PANDASTACK_RUNSC").unwrap_or_else(|_| "runsc".into()));
        command.arg("--root").arg(self.bundle().join("state"));
        command
            .args(["--network=none", "--ignore-cgroups", "--platform=systrap", "--overlay2=root:memory"])
            .args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) {
        let output = self.runsc(arguments).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "runsc {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Self::Sandbox(_) = self {
            let _ = self.runsc(&["delete", "--force", "guest"]).output();
        }
    }
}

fn config(rootfs: &str, shared: &Path) -> Value {
    let agent =
        std::env::var("PANDASTACK_TEST_AGENT").unwrap_or_else(|_| env!("CARGO_BIN_EXE_pandastack-guest").into());
    let bind =
        |from: &Path, to: &Path| json!({"destination": to, "type": "bind", "source": from, "options": ["rbind", "rw"]});
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
            "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 4096, "soft": 4096}],
        },
        "root": {"path": rootfs},
        "hostname": "sandbox",
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
            {"destination": "/sys", "type": "sysfs", "source": "sysfs"},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"},
            {"destination": "/small", "type": "tmpfs", "source": "tmpfs", "options": ["size=4m"]},
            bind(folder, Path::new("/agent")),
            bind(&kernels(), Path::new("/kernels")),
            bind(shared, shared),
        ],
        "linux": {"namespaces": [{"type": "pid"}, {"type": "mount"}, {"type": "network"}, {"type": "ipc"}, {"type": "uts"}]},
    })
}
