//! `pandastack template list`

use std::process::ExitCode;

use pandastack_engine::template;
use serde_json::Value;

use super::describe;
use crate::api;
use crate::error::Result;
use crate::output;

/// Prints the templates of this home.
pub(crate) fn list() -> Result<ExitCode> {
    let found = template::list(&api::home()?)?;
    output::json(&found.iter().map(describe).collect::<Vec<Value>>())?;
    Ok(ExitCode::SUCCESS)
}
