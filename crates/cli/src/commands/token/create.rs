//! `pandastack token create`

use std::process::ExitCode;

use pandastack_protocol::token::CreateToken;

use crate::api;
use crate::arguments::ServerArguments;
use crate::error::Result;
use crate::output;

/// Makes a key and prints it, the only time that its secret is shown.
pub(crate) async fn create(server: &ServerArguments, label: Option<String>) -> Result<ExitCode> {
    output::json(&api::client(server)?.create_token(&CreateToken { label }).await?)?;
    Ok(ExitCode::SUCCESS)
}
