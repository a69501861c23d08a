//! Lines for the operator, on standard error.

use std::io::Write;

use nix::fcntl::{FcntlArg, OFlag, fcntl};

/// Makes standard error non-blocking: a log that nobody reads must not stop the agent.
pub(crate) fn prepare() {
    let _ = fcntl(std::io::stderr(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK | OFlag::O_APPEND));
}

/// Writes one line; drops it if nobody takes it.
pub(crate) fn line(text: &str) {
    let _ = std::io::stderr().write_all(format!("pandastack-guest: {text}\n").as_bytes());
}
