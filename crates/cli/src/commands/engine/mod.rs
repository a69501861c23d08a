//! `pandastack engine …`

mod doctor;
mod setup;
mod status;
mod stop;

use std::process::ExitCode;

use crate::arguments::EngineCommand;
use crate::error::Result;
use crate::runtime::{block_on, block_on_with_sandboxes};

/// Runs the command.
pub(crate) fn run(command: EngineCommand) -> Result<ExitCode> {
    match command {
        EngineCommand::Setup => block_on_with_sandboxes(setup::setup()),
        EngineCommand::Doctor { json } => block_on(doctor::doctor(json)),
        EngineCommand::Status { json } => block_on(status::status(json)),
        EngineCommand::Stop { kill } => stop::stop(kill),
    }
}
