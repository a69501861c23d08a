//! `pandastack engine stop`

use std::process::ExitCode;
use std::time::Duration;

use pandastack_client::{Client, RawRequest};
use pandastack_engine::engine::{Engine, EngineConfig};
use pandastack_engine::runsc;
use serde_json::json;
use tokio::time::Instant;

use super::status;
use crate::api;
use crate::error::{CliError, Result};
use crate::output;
use crate::runtime::{block_on, block_on_with_sandboxes};

/// How long an engine may take to end; with sandboxes to end it takes longer.
const LIMIT: Duration = Duration::from_secs(60);

/// Stops the engine and waits until it is gone. Sandboxes that a dead engine left can be ended too.
pub(crate) fn stop(kill: bool) -> Result<ExitCode> {
    match api::running_engine()? {
        Some(engine) => block_on(stop_running(&engine, kill))?,
        None if kill => block_on_with_sandboxes(kill_leftovers())?,
        None => output::say("the engine is not running"),
    }
    Ok(ExitCode::SUCCESS)
}

async fn stop_running(engine: &Client, kill: bool) -> Result<()> {
    let pid = status::read(engine).await?.pid;
    let call = RawRequest { method: "POST".to_owned(), path: "engine/stop".to_owned(), ..RawRequest::default() };
    let body = json!({"kill": kill}).to_string();
    engine.request(&call, Some((body.into(), "application/json".to_owned()))).await?;
    let deadline = Instant::now() + LIMIT;
    while is_alive(pid) {
        if Instant::now() > deadline {
            let limit = LIMIT.as_secs();
            return Err(CliError::new(format!("the engine has not ended after {limit} s: process `{pid}`")));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    output::say("stopped");
    Ok(())
}

/// A process that has ended may stay in the table until its parent looks.
fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

async fn kill_leftovers() -> Result<()> {
    let home = api::home()?;
    if !home.root().exists() {
        output::say("the engine is not running");
        return Ok(());
    }
    let found = runsc::find(&home).await?;
    let engine = Engine::open(EngineConfig::new(home, found)).await.map_err(CliError::new)?;
    engine.shutdown(true).await.map_err(CliError::new)?;
    output::say("the engine was not running; the sandboxes that it had left are ended");
    Ok(())
}
