//! Starting `pandastack serve` so that it outlives its starter.

use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use pandastack_protocol::env_vars;

use super::engine_error;
use crate::error::{Error, Result};

/// Most bytes of the log's end that an error shows.
const SHOWN_LOG: u64 = 2000;

/// Most bytes of an old log that is kept and appended to.
const KEPT_LOG: u64 = 8 << 20;

pub(super) struct Spawned {
    child: Child,
    binary: PathBuf,
    log: PathBuf,
    from: u64,
}

impl Spawned {
    pub(super) fn start(binary: &Path, home: &Path, exit_when_idle: u32) -> Result<Self> {
        let log = home.join("engine.log");
        let failed = |error: std::io::Error| {
            engine_error(format!("the local engine cannot be started: `{}`", binary.display())).with_source(error)
        };
        let large = std::fs::metadata(&log).is_ok_and(|log| log.len() > KEPT_LOG);
        let mut options = OpenOptions::new();
        let options = if large { options.write(true).truncate(true) } else { options.append(true) };
        let output = options.create(true).mode(0o600).open(&log).map_err(failed)?;
        let from = output.metadata().map_err(failed)?.len();
        let child = Command::new(binary)
            .args(["serve", "--exit-when-idle", &exit_when_idle.to_string()])
            .env(env_vars::HOME, home)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(output.try_clone().map_err(failed)?)
            .stderr(output)
            // Not in the starter's process group: Ctrl-C in its terminal must not end the engine.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        Ok(Self { child, binary: binary.to_owned(), log, from })
    }

    /// Lets the engine go. Should it end before this process, it must not stay behind as a zombie; a thread waits for it, because a
    /// handler of SIGCHLD would interfere with that of the host program.
    pub(super) fn release(mut self) {
        let _ = std::thread::Builder::new().name("pandastack-reaper".to_owned()).spawn(move || self.child.wait());
    }

    /// Why the engine ended, if it has.
    pub(super) fn failure(&mut self) -> Option<Error> {
        let status = self.child.try_wait().ok().flatten()?;
        // The log speaks of the command by its name, and who installed the package does not have it in the PATH.
        let command = self.binary.display();
        Some(engine_error(format!(
            "the local engine ended as it started ({status}): {}\n`pandastack` is here: `{command}`",
            self.said()
        )))
    }

    pub(super) fn too_slow(&mut self, limit: Duration) -> Error {
        engine_error(format!("the local engine does not listen after {} s: {}", limit.as_secs(), self.said()))
    }

    /// The end of what this start wrote into the log.
    fn said(&self) -> String {
        let text = self.read_log().unwrap_or_default();
        let text = String::from_utf8_lossy(&text).trim().to_owned();
        match text.is_empty() {
            true => format!("nothing was written to `{}`", self.log.display()),
            false => text,
        }
    }

    fn read_log(&self) -> std::io::Result<Vec<u8>> {
        let mut log = std::fs::File::open(&self.log)?;
        let from = self.from.max(log.metadata()?.len().saturating_sub(SHOWN_LOG));
        log.seek(SeekFrom::Start(from))?;
        let mut text = Vec::new();
        log.take(SHOWN_LOG).read_to_end(&mut text)?;
        Ok(text)
    }
}
