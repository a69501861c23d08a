//! The agent as the engine sees it: run as pid 1 of a PID and mount namespace of the host.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a harness fails loudly")]

mod context;
mod egress;
mod exec;
mod figures;
mod file;
mod fork;
mod harness;
mod isolation;
mod record;
