//! One module for each word of the command line.

mod engine;
mod run;
mod sandbox;
mod serve;
mod template;
mod token;
mod version;

use std::process::ExitCode;

use crate::arguments::{Arguments, Command};
use crate::error::Result;
use crate::runtime::block_on;

/// Runs the command and gives the exit code.
pub(crate) fn run(arguments: Arguments) -> Result<ExitCode> {
    match arguments.command {
        Command::Serve(arguments) => serve::serve(arguments),
        Command::Engine(command) => engine::run(command),
        Command::Template(command) => template::run(command),
        Command::Sandbox(command) => block_on(sandbox::run(command)),
        Command::Token(command) => block_on(token::run(command)),
        Command::Run(arguments) => block_on(run::run(arguments)),
        Command::Version => version::version(),
    }
}

/// An exit code as the shell knows it.
fn exit_code(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
