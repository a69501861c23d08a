//! `pandastack engine setup`

use std::process::ExitCode;

use pandastack_engine::runsc;

use crate::api;
use crate::commands::template;
use crate::error::Result;
use crate::output;

/// Finds or installs `runsc`, then builds the default template. Quick when all is there.
pub(crate) async fn setup() -> Result<ExitCode> {
    let home = api::home()?;
    home.create()?;
    let found = runsc::find(&home).await?;
    output::say(&format!("runsc {}: {}", found.version, found.path.display()));
    template::build_default(&home, &found).await?;
    Ok(ExitCode::SUCCESS)
}
