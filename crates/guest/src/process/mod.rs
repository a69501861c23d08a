//! Processes: how they are started in the inner PID namespace, signalled, limited and reaped.

mod capability;
mod children;
mod launch;
mod namespace;
mod program;
mod session;
mod spawner;

pub(crate) use children::{Children, Ended};
pub(crate) use namespace::Namespace;
pub(crate) use program::Program;
pub(crate) use session::kill_session;
pub(crate) use spawner::{Child, Spawner};

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Open files that the agent may have, and the most that any limit of a command or kernel can be. The limit that a sandbox is started with is
/// the host's, and a kernel could not be given more than it has inherited: gVisor asks whether the limited process may raise it, not the
/// limiting one.
const OPEN_FILES: u64 = 1 << 20;

/// Makes the agent untraceable, keeps children from inheriting capabilities around the bounding set, and lifts the agent's own limit of open
/// files: each command and each kernel needs some.
///
/// # Errors
/// What the system said.
pub(crate) fn harden() -> nix::Result<()> {
    nix::sys::prctl::set_dumpable(false)?;
    let (_, inherited) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let most = inherited.max(OPEN_FILES);
    let lifted = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    // Outside of a sandbox the right to it may be missing.
    lifted.or_else(|_| setrlimit(Resource::RLIMIT_NOFILE, inherited, inherited))?;
    capability::clear_inheritable()
}
