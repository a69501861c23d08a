//! `pandastack template …`

mod build;
mod import;
mod list;

use std::path::PathBuf;
use std::process::ExitCode;

use pandastack_engine::template::Template;
use pandastack_protocol::env_vars;
use serde_json::{Value, json};

use crate::arguments::TemplateCommand;
use crate::error::{CliError, Result};
use crate::runtime::block_on_with_sandboxes;

pub(crate) use build::build_default;

/// Runs the command.
pub(crate) fn run(command: TemplateCommand) -> Result<ExitCode> {
    match command {
        TemplateCommand::Build { name } => block_on_with_sandboxes(build::build(&name)),
        TemplateCommand::List => list::list(),
        TemplateCommand::Import { path } => block_on_with_sandboxes(import::import(&path)),
    }
}

/// What is shown of a template.
fn describe(template: &Template) -> Value {
    json!({
        "name": template.name,
        "id": template.id,
        "folder": template.folder,
        "rootfs_bytes": template.rootfs_bytes,
        "checkpoint_bytes": template.checkpoint_bytes,
        "boot_ms": template.boot_ms,
        "runsc_version": template.runsc_version,
    })
}

/// The guest agent: `PANDASTACK_GUEST`, else `pandastack-guest` beside this binary.
fn guest_binary() -> Result<PathBuf> {
    if let Some(chosen) = std::env::var_os(env_vars::GUEST).filter(|chosen| !chosen.is_empty()) {
        return Ok(chosen.into());
    }
    let own =
        std::env::current_exe().map_err(|error| CliError::new(format!("this binary cannot be found: {error}")))?;
    Ok(own.with_file_name("pandastack-guest"))
}
