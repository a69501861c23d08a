//! The `pandastack` command: the local engine and a client of any server.
//!
//! Data goes to stdout and nothing else does; what is said to people goes to stderr. Exit code 1 for an error, 2 for a wrong command line.

mod api;
mod arguments;
mod commands;
mod error;
mod output;
mod runtime;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Arguments;

fn main() -> ExitCode {
    match commands::run(Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            output::report(&error);
            ExitCode::FAILURE
        }
    }
}
