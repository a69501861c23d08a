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

/// Makes the agent untraceable, and keeps children from inheriting capabilities around the bounding set.
///
/// # Errors
/// What the system said.
pub(crate) fn harden() -> nix::Result<()> {
    nix::sys::prctl::set_dumpable(false)?;
    capability::clear_inheritable()
}
