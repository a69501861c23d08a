//! `pandastack sandbox kill`

use std::process::ExitCode;

use crate::api;
use crate::arguments::ServerArguments;
use crate::error::{CliError, Result};
use crate::output;

/// Ends sandboxes; goes on to the next after a failure.
pub(crate) async fn kill(server: &ServerArguments, ids: &[String]) -> Result<ExitCode> {
    let client = api::client(server)?;
    let mut code = ExitCode::SUCCESS;
    for id in ids {
        match client.delete_sandbox(id).await {
            Ok(()) => output::line(&format!("deleted {id}"))?,
            Err(error) => {
                output::report(&CliError::from(error));
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}
