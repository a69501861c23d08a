//! `pandastack sandbox …`

mod create;
mod exec;
mod get;
mod kill;
mod list;

use std::process::ExitCode;

use crate::arguments::SandboxCommand;
use crate::error::Result;

/// Runs the command.
pub(crate) async fn run(command: SandboxCommand) -> Result<ExitCode> {
    match command {
        SandboxCommand::Create(arguments) => create::create(arguments).await,
        SandboxCommand::List(server) => list::list(&server).await,
        SandboxCommand::Get { server, id } => get::get(&server, &id).await,
        SandboxCommand::Exec(arguments) => exec::exec(arguments).await,
        SandboxCommand::Kill { server, ids } => kill::kill(&server, &ids).await,
    }
}
