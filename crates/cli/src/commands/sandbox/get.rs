//! `pandastack sandbox get`

use std::process::ExitCode;

use crate::api;
use crate::arguments::ServerArguments;
use crate::error::Result;
use crate::output;

/// Prints one sandbox.
pub(crate) async fn get(server: &ServerArguments, id: &str) -> Result<ExitCode> {
    output::json(&api::client(server)?.get_sandbox(id).await?)?;
    Ok(ExitCode::SUCCESS)
}
