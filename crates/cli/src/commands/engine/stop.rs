//! `pandastack engine stop`

use std::process::ExitCode;
use std::time::Duration;

use pandastack_client::RawRequest;
use serde_json::json;
use tokio::time::Instant;

use super::status;
use crate::api;
use crate::error::{CliError, Result};
use crate::output;

/// How long an engine may take to end; with sandboxes to end it takes longer.
const LIMIT: Duration = Duration::from_secs(60);

/// Stops the engine and waits until it is gone.
pub(crate) async fn stop(kill: bool) -> Result<ExitCode> {
    let Some(engine) = api::running_engine()? else {
        output::say("the engine is not running");
        if kill {
            output::say("sandboxes that it left behind are ended by `pandastack serve`, then `pandastack engine stop --kill`");
        }
        return Ok(ExitCode::SUCCESS);
    };
    let pid = status::read(&engine).await?.pid;
    let call = RawRequest { method: "POST".to_owned(), path: "engine/stop".to_owned(), ..RawRequest::default() };
    engine.request(&call, Some((json!({"kill": kill}).to_string().into(), "application/json".to_owned()))).await?;
    let process = std::path::PathBuf::from(format!("/proc/{pid}"));
    let deadline = Instant::now() + LIMIT;
    while process.exists() {
        if Instant::now() > deadline {
            return Err(CliError::new(format!("the engine has not ended after {} s: process `{pid}`", LIMIT.as_secs())));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    output::say("stopped");
    Ok(ExitCode::SUCCESS)
}
