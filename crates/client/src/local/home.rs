//! Folder of the local engine, found as the engine itself finds it.

use std::path::PathBuf;

use pandastack_protocol::env_vars;

use super::engine_error;
use crate::environment::Environment;
use crate::error::Result;

/// `$PANDASTACK_HOME`, else `$XDG_STATE_HOME/pandastack`, else `~/.local/state/pandastack`.
pub(super) fn find(environment: &Environment) -> Result<PathBuf> {
    let home = environment
        .path(env_vars::HOME)
        .or_else(|| environment.path("XDG_STATE_HOME").map(|state| state.join("pandastack")))
        .or_else(|| environment.path("HOME").map(|user| user.join(".local/state/pandastack")))
        .ok_or_else(|| engine_error("no home folder for the local engine: set `PANDASTACK_HOME`"))?;
    std::path::absolute(&home)
        .map_err(|error| engine_error(format!("not a usable folder: `{}`", home.display())).with_source(error))
}
