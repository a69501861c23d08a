//! The agent as the engine sees it: run as pid 1 of a PID and mount namespace of the host.

mod context;
mod egress;
mod exec;
mod file;
mod fork;
mod harness;
mod isolation;
mod record;
