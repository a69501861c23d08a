//! Commands of a build: fenced in, logged, and ended with the build.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use super::{TemplateError, host};

const FENCE: &str = include_str!("../../../../templates/fence.sh");

/// Lines of output that an error shows.
const SHOWN_LINES: usize = 5;

/// Runs the commands of one build.
pub(crate) struct Steps {
    log: PathBuf,
}

impl Steps {
    /// `log` takes everything that the commands print.
    pub(crate) fn new(log: PathBuf) -> Self {
        Self { log }
    }

    /// Runs a command in PID and mount namespaces of its own, which end with it: with this process, too, and if the future is dropped.
    pub(crate) async fn fenced(
        &self,
        step: &'static str,
        command: &[&OsStr],
        environment: &[(&str, String)],
    ) -> Result<(), TemplateError> {
        let mut fenced = Command::new("unshare");
        fenced.args([
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "--propagation",
            "private",
            "sh",
            "-c",
            FENCE,
            "sh",
        ]);
        fenced.args(command).env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
        self.run(step, fenced).await
    }

    async fn run(&self, step: &'static str, mut command: Command) -> Result<(), TemplateError> {
        let open = || {
            OpenOptions::new()
                .create(true)
                .append(true)
                .open(&self.log)
                .map_err(TemplateError::file("open log", &self.log))
        };
        let before = open()?.metadata().map(|metadata| metadata.len()).unwrap_or_default();
        // The fence takes the end of this pipe as the end of the build.
        command.stdin(Stdio::piped()).stdout(open()?).stderr(open()?).kill_on_drop(true);
        let failed = |reason: String| TemplateError::Step { step, reason, log: self.log.clone() };
        let mut child = command.spawn().map_err(|error| failed(format!("cannot start: {error}")))?;
        let stdin = child.stdin.take();
        let status = child.wait().await.map_err(|error| failed(error.to_string()))?;
        drop(stdin);
        if status.success() { Ok(()) } else { Err(failed(format!("{status}: {}", tail(&self.log, before)))) }
    }
}

/// The environment of every command: `PATH` also holds the folders of root's commands.
pub(crate) fn base_environment() -> Vec<(&'static str, String)> {
    let mut environment = vec![
        ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()),
        ("HOME", "/root".to_owned()),
        ("LC_ALL", "C.UTF-8".to_owned()),
    ];
    environment.extend(host::passed_environment());
    environment
}

/// The last lines of what came after `start`.
fn tail(log: &Path, start: u64) -> String {
    let bytes = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(bytes.get(start as usize..).unwrap_or_default()).into_owned();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..].join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[tokio::test]
    async fn a_failed_step_shows_its_own_last_lines() {
        let folder = tempfile::tempdir().unwrap();
        let steps = Steps::new(folder.path().join("log"));
        steps.run("first", shell("echo earlier")).await.unwrap();
        let failing = shell("seq 9; echo broken >&2; exit 3");
        let error = steps.run("making it", failing).await.unwrap_err().to_string();
        assert!(error.contains("making it: exit status: 3: 6 | 7 | 8 | 9 | broken"), "{error}");
        assert!(error.contains("/log`"), "{error}");
        let error = steps.run("starting", Command::new("/nowhere/command")).await.unwrap_err().to_string();
        assert!(error.contains("starting: cannot start"), "{error}");
    }

    #[tokio::test]
    async fn a_dropped_step_takes_its_processes_and_mounts_along() {
        if !host::is_real_root() {
            eprintln!("skipped: mount namespaces need root");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let steps = Steps::new(folder.path().join("log"));
        let (mounted, started) = (folder.path().join("mounted"), folder.path().join("mounted/started"));
        std::fs::create_dir(&mounted).unwrap();
        let marker = folder.path().join("alive");
        let script = format!(
            "mount -t tmpfs tmpfs {0}; touch {1}; (while :; do echo x >> {1}.log; sleep 0.05; done) & touch {2}; wait",
            mounted.display(),
            folder.path().join("seen").display(),
            marker.display()
        );
        let command = ["sh", "-c", &script].map(OsStr::new);
        let environment = base_environment();
        tokio::select! {
            outcome = steps.fenced("waiting", &command, &environment) => panic!("ended: {outcome:?}"),
            () = async { while !marker.exists() { tokio::time::sleep(std::time::Duration::from_millis(10)).await } } => {}
        }
        assert!(!started.exists(), "the mount is visible outside");
        let log = folder.path().join("seen.log");
        let mut before = u64::MAX;
        for _ in 0..100 {
            let length = std::fs::metadata(&log).map_or(0, |metadata| metadata.len());
            if length == before {
                return;
            }
            before = length;
            tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        }
        panic!("the background process still writes");
    }
}
