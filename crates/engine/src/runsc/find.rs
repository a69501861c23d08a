//! Finding a `runsc` that can do what the engine needs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, io};

use pandastack_protocol::env_vars;
use tokio::process::Command;

use super::{RunscError, Version};
use crate::home::Home;

/// How long a probe may take.
const PROBE_DEADLINE: Duration = Duration::from_secs(10);

/// Time between two tries to run a binary that somebody has open for writing.
const BUSY_POLL: Duration = Duration::from_millis(20);

/// What `runsc checkpoint` must offer.
const CHECKPOINT_FLAGS: [&str; 3] = ["-leave-running", "-compression", "-direct"];

/// A binary that passed every probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundRunsc {
    /// The binary.
    pub path: PathBuf,
    /// What it calls itself.
    pub version: Version,
}

/// Looks at `PANDASTACK_RUNSC`, then at `runsc` on `PATH`, then in the home, and gives the first that can be used.
///
/// # Errors
/// [`RunscError::Refused`] if `PANDASTACK_RUNSC` is set and cannot be used: an explicit choice is never replaced by another.
/// [`RunscError::NotFound`] with what is wrong with each candidate otherwise.
pub async fn find(home: &Home) -> Result<FoundRunsc, RunscError> {
    find_in(env::var_os(env_vars::RUNSC), env::var_os("PATH"), home).await
}

pub(crate) async fn find_in(
    chosen: Option<OsString>,
    path: Option<OsString>,
    home: &Home,
) -> Result<FoundRunsc, RunscError> {
    if let Some(chosen) = chosen.filter(|chosen| !chosen.is_empty()) {
        let path = PathBuf::from(chosen);
        return probe(&path).await.map_err(|reason| RunscError::Refused { reason });
    }
    let mut rejected = Vec::new();
    for candidate in env::split_paths(&path.unwrap_or_default()).chain([home.bin()]).map(|folder| folder.join("runsc"))
    {
        if !candidate.is_file() {
            continue;
        }
        match probe(&candidate).await {
            Ok(found) => return Ok(found),
            Err(reason) => rejected.push(reason),
        }
    }
    Err(RunscError::NotFound { rejected })
}

/// Checks version and abilities of one binary.
///
/// # Errors
/// A sentence that names the path and what is wrong.
pub async fn probe(path: &Path) -> Result<FoundRunsc, String> {
    let refuse = |reason: String| format!("{reason}: `{}`", path.display());
    let said = run(path, &["--version"]).await.map_err(|error| refuse(format!("cannot run it ({error})")))?;
    let version = Version::parse(&said).ok_or_else(|| refuse("does not say that it is runsc".to_owned()))?;
    if let Some(objection) = version.objection() {
        return Err(refuse(objection));
    }
    let help = run(path, &["help", "checkpoint"]).await.map_err(|error| refuse(format!("cannot run it ({error})")))?;
    let missing: Vec<_> =
        CHECKPOINT_FLAGS.into_iter().filter(|flag| !help.split_whitespace().any(|word| word == *flag)).collect();
    if !missing.is_empty() {
        return Err(refuse(format!("version `{version}` lacks checkpoint {}", missing.join(", "))));
    }
    Ok(FoundRunsc { path: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()), version })
}

/// Standard output and standard error, whatever the exit code.
async fn run(path: &Path, arguments: &[&str]) -> io::Result<String> {
    let mut command = Command::new(path);
    command.args(arguments).stdin(std::process::Stdio::null()).kill_on_drop(true);
    // A program that was just being started when the binary was written has it open for a moment, until it has replaced its image.
    let answered = async {
        loop {
            match command.output().await {
                Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => tokio::time::sleep(BUSY_POLL).await,
                outcome => return outcome,
            }
        }
    };
    let output = tokio::time::timeout(PROBE_DEADLINE, answered).await.map_err(|_| {
        io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {} s", PROBE_DEADLINE.as_secs()))
    })??;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
}

#[cfg(test)]
mod tests;
