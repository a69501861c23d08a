//! `pandastack token list`

use std::process::ExitCode;

use crate::api;
use crate::arguments::ServerArguments;
use crate::error::Result;
use crate::output;

/// Prints all keys, without their secrets.
pub(crate) async fn list(server: &ServerArguments) -> Result<ExitCode> {
    output::json(&api::client(server)?.list_tokens().await?)?;
    Ok(ExitCode::SUCCESS)
}
