//! The engine on real gVisor. Needs `runsc` and a home with a built template (`PANDASTACK_TEST_HOME`); without them each test says so
//! and passes.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod code_context;
mod connection;
mod crash;
mod crash_state;
mod exec;
mod fork;
mod hibernate;
#[allow(dead_code, reason = "tests of hostile programs use the rest")]
mod home;
mod limits;
mod sandbox;
mod snapshot;
