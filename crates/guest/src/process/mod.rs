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

/// Makes the agent untraceable, keeps children from inheriting capabilities around the bounding set, and lifts the agent's own limit of open
/// files: each command and each kernel needs some.
///
/// # Errors
/// What the system said.
pub(crate) fn harden() -> nix::Result<()> {
    nix::sys::prctl::set_dumpable(false)?;
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most)?;
    capability::clear_inheritable()
}
