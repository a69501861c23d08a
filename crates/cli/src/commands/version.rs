//! `pandastack version`

use std::process::ExitCode;

use crate::error::Result;
use crate::output;

/// Prints the version.
pub(crate) fn version() -> Result<ExitCode> {
    output::line(env!("CARGO_PKG_VERSION"))?;
    Ok(ExitCode::SUCCESS)
}
