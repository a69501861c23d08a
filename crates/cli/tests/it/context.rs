//! A private home, and the binary in it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What a command did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Exit code.
    pub(crate) code: i32,
    /// What it wrote to stdout.
    pub(crate) stdout: String,
    /// What it wrote to stderr, with the home's path replaced by `HOME`.
    pub(crate) stderr: String,
}

/// A private home.
pub(crate) struct Context {
    folder: tempfile::TempDir,
}

impl Context {
    pub(crate) fn new() -> Self {
        let context = Self { folder: tempfile::Builder::new().prefix("ps").tempdir().unwrap() };
        let script = "#!/bin/sh\necho runsc version release-20260905.0\necho ' -leave-running -compression -direct'\n";
        // Written by another process: a descriptor of this one could be inherited by a child, and the script be busy.
        let mut shell = Command::new("sh")
            .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
            .arg(context.folder.path().join("runsc"))
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        shell.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        assert!(shell.wait().unwrap().success());
        context
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.home().join("engine.sock")
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pandastack"));
        command.args(arguments).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.folder.path());
        command.env("PANDASTACK_HOME", self.home()).env("PANDASTACK_RUNSC", self.folder.path().join("runsc"));
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        self.run_with(arguments, &[])
    }

    /// Runs a command with more environment.
    pub(crate) fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Outcome {
        let output = self.command(arguments).envs(environment.iter().copied()).output().unwrap();
        let text =
            |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&*self.folder.path().to_string_lossy(), "HOME");
        Outcome { code: output.status.code().unwrap(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// Starts the daemon and waits until it listens.
    pub(crate) fn serve(&self, arguments: &[&str]) -> Daemon {
        let mut command = self.command(&["serve"]);
        let mut child = command.args(arguments).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let wanted = if arguments.contains(&"--listen") { "listening on http://" } else { "listening on unix:" };
        let said = lines.by_ref().map(Result::unwrap).find(|line| line.starts_with(wanted)).unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        Daemon { child, address: said.trim_start_matches(wanted).to_owned() }
    }
}

/// A daemon, killed at the end of the test.
pub(crate) struct Daemon {
    child: Child,
    /// Where it listens.
    pub(crate) address: String,
}

impl Daemon {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("sh").args(["-c", &format!("kill -{signal} {}", self.child.id())]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for its end, but not for ever.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the daemon does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Files in a folder, by name.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
