//! `pandastack token revoke`

use std::process::ExitCode;

use crate::api;
use crate::arguments::ServerArguments;
use crate::error::Result;
use crate::output;

/// Revokes a key.
pub(crate) async fn revoke(server: &ServerArguments, prefix: &str) -> Result<ExitCode> {
    api::client(server)?.revoke_token(prefix).await?;
    output::line(&format!("revoked token {prefix}"))?;
    Ok(ExitCode::SUCCESS)
}
