//! What can go wrong with `runsc`.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

/// A failure of `runsc` or of finding it.
#[derive(Debug, Error)]
pub enum RunscError {
    /// No usable binary in any of the places that are searched.
    #[error("no usable runsc found{}; run `pandastack engine setup`, or set PANDASTACK_RUNSC to a runsc binary", list(.rejected))]
    NotFound {
        /// Why each candidate was refused.
        rejected: Vec<String>,
    },
    /// `PANDASTACK_RUNSC` names a binary that cannot be used.
    #[error("PANDASTACK_RUNSC is not usable: {reason}")]
    Refused {
        /// Names the path, the version and what is missing.
        reason: String,
    },
    /// The binary could not be started.
    #[error("cannot start runsc: `{}`", path.display())]
    Spawn {
        /// The binary.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A call did not end in time; its process was killed.
    #[error("runsc {command} did not finish within {} ms: `{id}`", deadline.as_millis())]
    Deadline {
        /// The command word, such as `create`.
        command: &'static str,
        /// The container.
        id: String,
        /// How long it was given.
        deadline: Duration,
    },
    /// A call failed.
    #[error("runsc {command} failed for `{id}`: {reason}")]
    Failed {
        /// The command word, such as `create`.
        command: &'static str,
        /// The container.
        id: String,
        /// The last thing that `runsc` said, on one line.
        reason: String,
    },
    /// `runsc` does not know the container.
    #[error("sandbox does not exist: `{id}`")]
    UnknownContainer {
        /// The container.
        id: String,
    },
    /// Output of `runsc` that cannot be read.
    #[error("runsc {command} printed something unexpected: `{output}`")]
    Output {
        /// The command word.
        command: &'static str,
        /// The first part of the output.
        output: String,
    },
    /// Installing failed.
    #[error("cannot install runsc {version}: {reason}")]
    Install {
        /// The version that was wanted.
        version: String,
        /// What was tried, and what to do.
        reason: String,
    },
    /// A file or a folder of the engine.
    #[error("cannot {action}: `{}`", path.display())]
    File {
        /// What was tried, such as `write`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl RunscError {
    /// True if there was no room on the disk for what was to be written.
    pub(crate) fn is_disk_full(&self) -> bool {
        match self {
            Self::Failed { reason, .. } => reason.contains("no space left on device"),
            Self::File { source, .. } => source.kind() == io::ErrorKind::StorageFull,
            _ => false,
        }
    }

    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { action, path, source }
    }
}

fn list(rejected: &[String]) -> String {
    if rejected.is_empty() { String::new() } else { format!(" ({})", rejected.join("; ")) }
}
