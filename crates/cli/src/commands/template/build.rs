//! `pandastack template build`

use std::process::ExitCode;

use pandastack_engine::home::Home;
use pandastack_engine::runsc::{self, FoundRunsc};
use pandastack_engine::template::{self, BuildOptions, Definition, RecordWarmUp, Template};

use super::{describe, guest_binary};
use crate::api;
use crate::error::{CliError, Result};
use crate::output;

/// Builds a template and prints what it is.
pub(crate) async fn build(name: &str) -> Result<ExitCode> {
    let definition = Definition::code_interpreter();
    if template::resolve_name(name) != definition.name {
        return Err(
            CliError::new(format!("unknown template: `{name}`")).with_hint(format!("there is `{}`", definition.name))
        );
    }
    let home = api::home()?;
    home.create()?;
    let runsc = runsc::find(&home).await?;
    let built = build_default(&home, &runsc).await?;
    output::json(&describe(&built))?;
    Ok(ExitCode::SUCCESS)
}

/// Builds the default template, or what has changed of it.
pub(crate) async fn build_default(home: &Home, runsc: &FoundRunsc) -> Result<Template> {
    let definition = Definition::code_interpreter();
    let guest = guest_binary()?;
    let options = BuildOptions { home, runsc, definition: &definition, guest: &guest };
    let built =
        template::build(&options, &RecordWarmUp::default(), &|step: &str| output::say(&format!("template: {step}")))
            .await?;
    output::say(&format!("template {}: {}", built.name, built.id));
    Ok(built)
}
