//! `pandastack engine status`

use std::process::ExitCode;

use pandastack_client::{Client, RawRequest};
use pandastack_engine::engine::EngineStatus;
use serde_json::json;

use crate::api;
use crate::error::{CliError, Result};
use crate::output;

/// Exit code when the engine does not run.
const NOT_RUNNING: u8 = 3;

/// Tells whether the engine runs, and what it does.
pub(crate) async fn status(json: bool) -> Result<ExitCode> {
    let Some(engine) = api::running_engine()? else {
        let home = api::home()?.root().display().to_string();
        if json {
            output::json(&json!({"running": false, "home": home}))?;
        } else {
            output::line(&format!("not running (home {home})"))?;
        }
        return Ok(ExitCode::from(NOT_RUNNING));
    };
    let status = read(&engine).await?;
    if json {
        output::json(&status)?
    } else {
        output::line(&describe(&status))?
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks a running engine.
pub(super) async fn read(engine: &Client) -> Result<EngineStatus> {
    let call = RawRequest { method: "GET".to_owned(), path: "engine".to_owned(), ..RawRequest::default() };
    let body = engine.request(&call, None).await?;
    serde_json::from_slice(&body).map_err(|error| CliError::new(format!("the engine's answer makes no sense: {error}")))
}

fn describe(status: &EngineStatus) -> String {
    let EngineStatus { version, pid, home, runsc, uptime_seconds, running, creating, ready, .. } = status;
    format!(
        "running (version {version}, pid {pid}, up {uptime_seconds} s)\nhome      {home}\nrunsc     {runsc}\nsandboxes {running} running, {creating} being made, {ready} kept ready"
    )
}
