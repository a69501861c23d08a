//! `pandastack sandbox list`

use std::process::ExitCode;

use crate::api;
use crate::arguments::ServerArguments;
use crate::error::Result;
use crate::output;

/// Prints all sandboxes.
pub(crate) async fn list(server: &ServerArguments) -> Result<ExitCode> {
    output::json(&api::client(server)?.list_sandboxes().await?)?;
    Ok(ExitCode::SUCCESS)
}
