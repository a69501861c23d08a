//! What can go wrong with templates.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::runsc::RunscError;

/// A failure to build, find or check a template.
#[derive(Debug, Error)]
pub enum TemplateError {
    /// No template of this name or id.
    #[error(
        "unknown template: `{0}`; run `pandastack template list`, or `pandastack engine setup` for the default one"
    )]
    Unknown(String),
    /// A name that no template can have.
    #[error("invalid template name: `{0}`; use lower-case letters, digits, `.` and `-`")]
    Name(String),
    /// The template was made by or for something else than what is here.
    #[error("template `{name}` does not fit this machine: {reason}; run `pandastack template build`")]
    Unfit {
        /// Its name.
        name: String,
        /// What differs.
        reason: String,
    },
    /// A file of the template is not what it was.
    #[error("template `{name}` is damaged: `{}`; delete its folder and run `pandastack template build`", path.display())]
    Damaged {
        /// Its name.
        name: String,
        /// The file.
        path: PathBuf,
    },
    /// The build needs root.
    #[error(
        "building a template needs root for: {commands}; build it as root, then `pandastack template import` its image"
    )]
    NeedsRoot {
        /// The commands.
        commands: String,
    },
    /// Commands that the build needs are not installed.
    #[error("commands are missing: {commands}; install them (Debian, Ubuntu: `apt-get install {packages}`)")]
    MissingCommands {
        /// The commands.
        commands: String,
        /// The Debian packages that hold them.
        packages: String,
    },
    /// No room.
    #[error("not enough disk space for the template: `{}` has {free_mb} MB free, {needed_mb} MB are needed", folder.display())]
    DiskSpace {
        /// The folder that was asked.
        folder: PathBuf,
        /// What it has, in MB.
        free_mb: u64,
        /// What the build needs, in MB.
        needed_mb: u64,
    },
    /// A command of the build failed.
    #[error("template build failed: {step}: {reason}; see `{}`", log.display())]
    Step {
        /// What was being done.
        step: &'static str,
        /// The last lines that it printed, or why it did not start.
        reason: String,
        /// Everything that it printed.
        log: PathBuf,
    },
    /// Not an EROFS image.
    #[error("not an EROFS image: `{}`", .0.display())]
    NotErofs(PathBuf),
    /// The sandbox did not get warm.
    #[error("template could not be warmed up: {reason}{}", said(.stderr))]
    WarmUp {
        /// Why not.
        reason: String,
        /// The end of what the agent printed on its stderr.
        stderr: String,
    },
    /// The guest agent's binary is missing.
    #[error("guest agent not found: `{}`; set PANDASTACK_GUEST to the pandastack-guest binary", .0.display())]
    NoGuest(PathBuf),
    /// `runsc` failed.
    #[error(transparent)]
    Runsc(#[from] RunscError),
    /// A file or a folder.
    #[error("cannot {action}: `{}`: {source}", path.display())]
    File {
        /// What was tried, such as `write`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl TemplateError {
    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { action, path, source }
    }
}

fn said(stderr: &str) -> String {
    let stderr = stderr.trim();
    if stderr.is_empty() { String::new() } else { format!("; the agent said: {stderr}") }
}
