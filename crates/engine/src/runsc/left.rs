//! Processes of `runsc` that nobody answers for any more: commands that a killed engine had under way, and sandboxes of which `runsc` itself does not
//! know, because the command that was making them was killed.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// How long commands of a killed engine are given to come to their end. Most take some 50 ms, a copy of much memory seconds.
const COMMAND_DEADLINE: Duration = Duration::from_secs(60);

/// Time between two looks.
const POLL: Duration = Duration::from_millis(10);

/// A process of `runsc` for one of the sandboxes under a root folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunscProcess {
    pid: Pid,
    /// The sandbox.
    pub(crate) id: String,
    /// True for the sandbox itself, false for a command about it.
    is_sandbox: bool,
}

impl RunscProcess {
    /// What the command line of the process says. The id is the last argument, or the one before a signal.
    fn read(pid: i32, root: &Path, is_id: impl Fn(&str) -> bool) -> Option<Self> {
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let arguments: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        let root = root.as_os_str().as_bytes();
        let names_root = arguments.windows(2).any(|pair| pair[0] == b"--root" && pair[1] == root)
            || arguments.iter().any(|argument| argument.strip_prefix(b"--root=") == Some(root));
        if !names_root {
            return None;
        }
        let mut ids = arguments.iter().rev().take(3).filter_map(|argument| std::str::from_utf8(argument).ok());
        let id = ids.find(|id| is_id(id))?.to_owned();
        Some(Self { pid: Pid::from_raw(pid), id, is_sandbox: arguments.contains(&b"boot".as_slice()) })
    }

    /// Ends it at once.
    pub(crate) fn kill(&self) {
        let _ = kill(self.pid, Signal::SIGKILL);
    }
}

/// Waits until no command about a sandbox under `root` is under way any more: what the engine then sees does not change under its hands. One that
/// does not come to its end is killed.
pub(crate) async fn wait_for_commands(root: &Path, is_id: impl Fn(&str) -> bool + Copy) {
    let began = Instant::now();
    loop {
        let commands: Vec<_> = processes(root, is_id).into_iter().filter(|process| !process.is_sandbox).collect();
        if commands.is_empty() {
            return;
        }
        if began.elapsed() > COMMAND_DEADLINE {
            tracing::warn!(?commands, "commands of an earlier engine do not end and are killed");
            commands.iter().for_each(RunscProcess::kill);
        }
        tokio::time::sleep(POLL).await;
    }
}

/// The sandboxes under `root`, whether or not `runsc` knows of them.
pub(crate) fn sandboxes(root: &Path, is_id: impl Fn(&str) -> bool + Copy) -> Vec<RunscProcess> {
    processes(root, is_id).into_iter().filter(|process| process.is_sandbox).collect()
}

fn processes(root: &Path, is_id: impl Fn(&str) -> bool + Copy) -> Vec<RunscProcess> {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    let pids = names.filter_map(|name| name.to_str()?.parse().ok());
    pids.filter_map(|pid| RunscProcess::read(pid, root, is_id)).collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    const ID: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";

    /// A process with these arguments that does nothing. They are not those of its shell, which ends at the end of its input.
    fn idle(arguments: &[&str]) -> Child {
        let mut command = Command::new("bash");
        command.args(["-c", "read"]).args(arguments).stdin(std::process::Stdio::piped());
        command.spawn().unwrap()
    }

    fn is_id(text: &str) -> bool {
        text == ID
    }

    #[tokio::test]
    async fn commands_are_waited_for_and_sandboxes_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_str().unwrap();
        let mut command = idle(&["--root", root, "kill", ID, "USR1"]);
        let mut sandbox = idle(&[&format!("--root={root}"), "boot", ID]);
        let mut other = idle(&["--root", "/elsewhere", "state", ID]);
        // A child takes a moment to become what it is.
        while processes(folder.path(), is_id).len() < 2 {
            tokio::time::sleep(POLL).await;
        }
        let found = sandboxes(folder.path(), is_id);
        assert_eq!(found.iter().map(|found| found.pid.as_raw()).collect::<Vec<_>>(), [sandbox.id() as i32]);
        let mut waiting = Box::pin(wait_for_commands(folder.path(), is_id));
        assert!(tokio::time::timeout(Duration::from_millis(100), &mut waiting).await.is_err());
        drop(command.stdin.take());
        command.wait().unwrap();
        waiting.await;
        found[0].kill();
        sandbox.wait().unwrap();
        assert_eq!(other.try_wait().unwrap(), None);
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
