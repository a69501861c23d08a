//! `pandastack engine setup`

use std::process::ExitCode;

use pandastack_engine::engine;
use pandastack_engine::home::Home;
use pandastack_engine::runsc::{self, FoundRunsc, InstallOptions, RunscError};

use crate::api;
use crate::commands::template;
use crate::error::Result;
use crate::output;

/// Finds or installs `runsc`, then builds the default template. Quick when all is there.
pub(crate) async fn setup() -> Result<ExitCode> {
    let home = api::home()?;
    home.create()?;
    let found = find_or_install(&home).await?;
    output::say(&format!("runsc {}: {}", found.version, found.path.display()));
    template::build_default(&home, &found).await?;
    remove_unused_templates(&home).await?;
    Ok(ExitCode::SUCCESS)
}

/// Where it is not known what is needed, nothing is removed.
async fn remove_unused_templates(home: &Home) -> Result<()> {
    match engine::templates_in_use(home).await {
        Ok(used) => {
            let deleted = pandastack_engine::template::prune(home, &used)?;
            deleted.iter().for_each(|id| output::say(&format!("template {id}: removed, nothing needs it any more")));
        }
        Err(error) => output::say(&format!("warning: templates that nothing needs any more are kept: {error}")),
    }
    Ok(())
}

async fn find_or_install(home: &Home) -> Result<FoundRunsc> {
    match runsc::find(home).await {
        Err(RunscError::NotFound { rejected }) => {
            let say = |step: &str| output::say(&format!("runsc: {step}"));
            rejected.iter().for_each(|reason| say(&format!("not usable: {reason}")));
            Ok(runsc::install(home, &InstallOptions::default(), &say).await?)
        }
        found => Ok(found?),
    }
}
