//! The commands of `runsc`, each a call with a deadline and one clear error.

use std::fs::{File, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use std::{fs, io};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde::Deserialize;
use tokio::process::Command;

use super::RunscError;
use crate::cgroup::Group;
use crate::template::free_bytes;

/// On a disk with less room, in bytes, a command may not even have been able to write down why it failed.
const ROOM_FOR_A_REASON: u64 = 1 << 20;

/// Longest reason taken from what `runsc` prints, in bytes.
const MAX_REASON: usize = 500;

/// One `runsc` binary with one root folder: everything about the sandboxes of one engine.
#[derive(Debug, Clone)]
pub struct Runsc {
    path: PathBuf,
    root: PathBuf,
    deadlines: Deadlines,
}

/// How long each kind of call may take before its process is killed.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    /// `create`, `start`, `state`, `kill`, `pause`, `resume`, `delete`. Default 20 s.
    pub quick: Duration,
    /// `checkpoint` and `restore`, which move all memory of a sandbox. Default 120 s.
    pub image: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self { quick: Duration::from_secs(20), image: Duration::from_secs(120) }
    }
}

/// What `runsc` says about a container.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ContainerState {
    /// Where it is in its life.
    pub status: ContainerStatus,
    /// Process id of the sandbox on the host; 0 once it has ended.
    #[serde(default)]
    pub pid: i32,
}

/// Where a container is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContainerStatus {
    /// Being made.
    Creating,
    /// Made, not started: can be started or restored into.
    Created,
    /// Running.
    Running,
    /// All processes stand still.
    Paused,
    /// Ended; its files are still there.
    Stopped,
}

/// The three named pipes that are a sandbox's stdin, stdout and stderr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestStdio {
    /// The engine writes, the sandbox reads.
    pub stdin: PathBuf,
    /// The sandbox writes, the engine reads.
    pub stdout: PathBuf,
    /// The sandbox writes, the engine reads. A pipe as well: a regular file could be read back and rewritten from inside.
    pub stderr: PathBuf,
}

impl GuestStdio {
    /// The pipes of the sandbox whose folder is `folder`.
    pub fn of(folder: &Path) -> Self {
        Self { stdin: folder.join("stdin"), stdout: folder.join("stdout"), stderr: folder.join("stderr") }
    }

    /// Makes the pipes, mode 0600.
    ///
    /// # Errors
    /// If one exists already or cannot be made.
    pub fn make(&self) -> Result<(), RunscError> {
        for path in [&self.stdin, &self.stdout, &self.stderr] {
            mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR)
                .map_err(|errno| RunscError::file("make pipe", path)(errno.into()))?;
        }
        Ok(())
    }

    /// Opens stdin, stdout and stderr anew, each for reading and writing: so no end ever sees the end of the file, whoever comes and goes.
    /// Every call gives descriptions of its own, as the sandbox makes those it inherits non-blocking.
    ///
    /// # Errors
    /// If a pipe cannot be opened.
    pub fn open(&self) -> Result<[File; 3], RunscError> {
        let open = |path: &PathBuf| {
            OpenOptions::new().read(true).write(true).open(path).map_err(RunscError::file("open pipe", path))
        };
        Ok([open(&self.stdin)?, open(&self.stdout)?, open(&self.stderr)?])
    }
}

impl Runsc {
    /// `path` is the binary, `root` its folder for state files and sockets.
    pub fn new(path: impl Into<PathBuf>, root: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), root: root.into(), deadlines: Deadlines::default() }
    }

    /// Replaces the deadlines.
    #[must_use]
    pub fn with_deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// The binary.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder for state files and sockets.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Makes a blank sandbox from the bundle: it can be started, or restored into. It lives on when this process ends. All its processes are
    /// members of `group`, if one is given.
    ///
    /// # Errors
    /// If `runsc` refuses, or the group is not there; nothing of the container is left then.
    pub async fn create(
        &self,
        id: &str,
        bundle: &Path,
        stdio: &GuestStdio,
        group: Option<&Group>,
    ) -> Result<(), RunscError> {
        let mut command = self.command();
        if let Some(group) = group {
            group.enter(command.as_std_mut()).map_err(RunscError::file("enter", bundle))?;
        }
        command.arg("--log").arg(log_file(bundle)).arg("--log-format=json");
        command.arg("create").arg("--bundle").arg(bundle).arg(id);
        let made = self.with_guest_stdio("create", id, bundle, command, stdio, self.deadlines.quick).await;
        self.delete_if_failed(id, made).await
    }

    /// Starts pid 1 of a blank sandbox.
    ///
    /// # Errors
    /// If there is none.
    pub async fn start(&self, id: &str) -> Result<(), RunscError> {
        self.captured("start", id, &[id.into()], self.deadlines.quick).await.map(drop)
    }

    /// Restores `image` into a blank sandbox that [`Runsc::create`] made with the same bundle.
    ///
    /// # Errors
    /// If the image is damaged, or was taken from a sandbox of another shape. The blank sandbox is deleted then.
    pub async fn restore_into(&self, id: &str, bundle: &Path, image: &Path) -> Result<(), RunscError> {
        let restored = self.captured("restore", id, &restore_arguments(id, bundle, image), self.deadlines.image).await;
        self.delete_if_failed(id, restored.map(drop)).await
    }

    /// Makes a sandbox from `image` in one call. It lives on when this process ends.
    ///
    /// # Errors
    /// As [`Runsc::restore_into`].
    pub async fn restore(&self, id: &str, bundle: &Path, image: &Path, stdio: &GuestStdio) -> Result<(), RunscError> {
        let mut command = self.command();
        command.arg("--log").arg(log_file(bundle)).arg("--log-format=json");
        command.arg("restore").args(restore_arguments(id, bundle, image));
        let restored = self.with_guest_stdio("restore", id, bundle, command, stdio, self.deadlines.image).await;
        self.delete_if_failed(id, restored).await
    }

    /// Writes the state of a sandbox into the empty folder `image`. The sandbox ends, or goes on if `leave_running`.
    ///
    /// # Errors
    /// If it fails, for example because the disk is full: the sandbox goes on, and a part of the image may be left in `image`.
    pub async fn checkpoint(&self, id: &str, image: &Path, leave_running: bool) -> Result<(), RunscError> {
        let mut arguments = vec!["--image-path".into(), PathBuf::from(image)];
        if leave_running {
            arguments.push("-leave-running".into());
        }
        arguments.push(id.into());
        self.captured("checkpoint", id, &arguments, self.deadlines.image).await.map(drop)
    }

    /// Sends a signal, such as `KILL`, to pid 1 of the sandbox.
    ///
    /// # Errors
    /// If the sandbox is unknown or has ended.
    pub async fn kill(&self, id: &str, signal: &str) -> Result<(), RunscError> {
        self.captured("kill", id, &[id.into(), signal.into()], self.deadlines.quick).await.map(drop)
    }

    /// Removes what `runsc` keeps about a sandbox; with `force` also ends one that runs, and an unknown id is no error.
    ///
    /// # Errors
    /// If the sandbox runs and `force` is false.
    pub async fn delete(&self, id: &str, force: bool) -> Result<(), RunscError> {
        let mut arguments = vec![PathBuf::from(id)];
        if force {
            arguments.insert(0, "-force".into());
        }
        self.captured("delete", id, &arguments, self.deadlines.quick).await.map(drop)
    }

    /// Tells where a sandbox is in its life.
    ///
    /// # Errors
    /// [`RunscError::UnknownContainer`] if there is none.
    pub async fn state(&self, id: &str) -> Result<ContainerState, RunscError> {
        let output = self.captured("state", id, &[id.into()], self.deadlines.quick).await?;
        serde_json::from_slice(&output).map_err(|_| RunscError::Output { command: "state", output: shorten(&output) })
    }

    /// Lets all processes of a sandbox stand still.
    ///
    /// # Errors
    /// If the sandbox does not run.
    pub async fn pause(&self, id: &str) -> Result<(), RunscError> {
        self.captured("pause", id, &[id.into()], self.deadlines.quick).await.map(drop)
    }

    /// Lets a paused sandbox go on.
    ///
    /// # Errors
    /// If the sandbox is not paused.
    pub async fn resume(&self, id: &str) -> Result<(), RunscError> {
        self.captured("resume", id, &[id.into()], self.deadlines.quick).await.map(drop)
    }

    /// The global flags; the platform is always systrap.
    fn command(&self) -> Command {
        let mut command = std::process::Command::new(&self.path);
        command.arg("--root").arg(&self.root).args(["--network=none", "--ignore-cgroups", "--platform=systrap"]);
        // Signals of a terminal that are meant for the engine must not reach sandboxes.
        command.process_group(0);
        let mut command = Command::from(command);
        command.kill_on_drop(true);
        command
    }

    /// For calls whose own stdio is not the sandbox's.
    async fn captured(
        &self,
        name: &'static str,
        id: &str,
        arguments: &[PathBuf],
        deadline: Duration,
    ) -> Result<Vec<u8>, RunscError> {
        let mut command = self.command();
        command.arg(name).args(arguments).stdin(Stdio::null());
        let output = self.finish(name, id, deadline, command.output()).await?;
        if output.status.success() { Ok(output.stdout) } else { Err(failure(name, id, &output.stderr)) }
    }

    /// For calls that hand their stdio on to the sandbox: what `runsc` itself has to say goes to a log file.
    async fn with_guest_stdio(
        &self,
        name: &'static str,
        id: &str,
        bundle: &Path,
        mut command: Command,
        stdio: &GuestStdio,
        deadline: Duration,
    ) -> Result<(), RunscError> {
        let log = log_file(bundle);
        let [stdin, stdout, stderr] = stdio.open()?;
        command.stdin(stdin).stdout(stdout).stderr(stderr);
        let outcome = self.finish(name, id, deadline, command.status()).await;
        let said = fs::read(&log).unwrap_or_default();
        let _ = fs::remove_file(&log);
        if outcome?.success() {
            return Ok(());
        }
        Err(failure(name, id, reason_in(&said, free_bytes(bundle)).as_bytes()))
    }

    async fn finish<T>(
        &self,
        name: &'static str,
        id: &str,
        deadline: Duration,
        call: impl Future<Output = io::Result<T>>,
    ) -> Result<T, RunscError> {
        let began = Instant::now();
        let finished = tokio::time::timeout(deadline, call).await;
        tracing::debug!(command = name, id, took_ms = began.elapsed().as_secs_f64() * 1000.0, "runsc");
        match finished {
            Ok(outcome) => outcome.map_err(|source| RunscError::Spawn { path: self.path.clone(), source }),
            Err(_) => Err(RunscError::Deadline { command: name, id: id.to_owned(), deadline }),
        }
    }

    async fn delete_if_failed(&self, id: &str, outcome: Result<(), RunscError>) -> Result<(), RunscError> {
        if outcome.is_err()
            && let Err(error) = self.delete(id, true).await
        {
            tracing::warn!(id, %error, "leftovers of a failed start stay");
        }
        outcome
    }
}

/// Where `runsc` says what went wrong while its own stdio is the sandbox's.
fn log_file(bundle: &Path) -> PathBuf {
    bundle.join("runsc.log")
}

fn restore_arguments(id: &str, bundle: &Path, image: &Path) -> [PathBuf; 6] {
    ["--detach".into(), "--bundle".into(), bundle.into(), "--image-path".into(), image.into(), id.into()]
}

/// Why a command failed, by its log and by the room that is left for one.
fn reason_in(log: &[u8], free_bytes: Option<u64>) -> String {
    if log.is_empty() && free_bytes.is_some_and(|free| free < ROOM_FOR_A_REASON) {
        return "no space left on device".to_owned();
    }
    last_logged(log)
}

/// The message of the last error in a log of JSON lines.
fn last_logged(log: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Line {
        msg: String,
    }
    let text = String::from_utf8_lossy(log);
    let message = text.lines().rev().find_map(|line| serde_json::from_str::<Line>(line).ok());
    message.map_or_else(|| text.into_owned(), |line| line.msg)
}

fn failure(command: &'static str, id: &str, said: &[u8]) -> RunscError {
    let reason = shorten(said);
    if reason.ends_with("loading container: file does not exist") {
        RunscError::UnknownContainer { id: id.to_owned() }
    } else {
        RunscError::Failed { command, id: id.to_owned(), reason }
    }
}

/// One line without the trace of a Go panic, or a word that there was nothing. Of a long one both ends, as the cause comes last.
fn shorten(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let text = text.split("\ngoroutine ").next().unwrap_or_default();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.trim_end_matches(':');
    if line.is_empty() {
        return "no reason given".to_owned();
    }
    if line.len() <= MAX_REASON {
        return line.to_owned();
    }
    let (begin, end) = (line.floor_char_boundary(MAX_REASON / 2), line.ceil_char_boundary(line.len() - MAX_REASON / 2));
    format!("{} … {}", &line[..begin], &line[end..])
}

#[cfg(test)]
mod tests;
