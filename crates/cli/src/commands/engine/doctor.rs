//! `pandastack engine doctor`

use std::process::ExitCode;

use pandastack_engine::runsc;
use pandastack_engine::template;

use crate::api;
use crate::error::Result;
use crate::output;

/// Prints each requirement with `ok`, or with what to do.
pub(crate) async fn doctor() -> Result<ExitCode> {
    let home = api::home()?;
    let mut healthy = true;
    match runsc::find(&home).await {
        Ok(found) => output::line(&format!("ok    runsc {}: {}", found.version, found.path.display()))?,
        Err(error) => {
            healthy = false;
            output::line(&format!("FAIL  runsc: {error}"))?;
        }
    }
    match template::find(&home, "code-interpreter") {
        Ok(found) => output::line(&format!("ok    template {}: {}", found.name, found.id))?,
        Err(error) => {
            healthy = false;
            output::line(&format!("FAIL  template: {error}"))?;
        }
    }
    Ok(if healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
