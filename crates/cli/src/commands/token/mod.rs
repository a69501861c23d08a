//! `pandastack token …`

mod create;
mod list;
mod revoke;

use std::process::ExitCode;

use crate::arguments::TokenCommand;
use crate::error::Result;

/// Runs the command.
pub(crate) async fn run(command: TokenCommand) -> Result<ExitCode> {
    match command {
        TokenCommand::Create { server, label } => create::create(&server, label).await,
        TokenCommand::List(server) => list::list(&server).await,
        TokenCommand::Revoke { server, prefix } => revoke::revoke(&server, &prefix).await,
    }
}
