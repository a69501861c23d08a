//! `pandastack engine status`

use std::process::ExitCode;

use pandastack_client::{Client, RawRequest};
use pandastack_engine::engine::{EngineStatus, SandboxUse};
use pandastack_protocol::limits::SandboxLimits;
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
    let EngineStatus { version, pid, home, runsc, uptime_seconds, running, creating, ready, most_sandboxes, .. } =
        status;
    let mut lines = vec![
        format!("running (version {version}, pid {pid}, up {uptime_seconds} s)"),
        format!("home      {home}"),
        format!("runsc     {runsc}"),
        format!("sandboxes {running} running, {creating} being made, {ready} kept ready; at most {most_sandboxes}"),
        format!("memory    {} of at most {} MiB", shown(status.memory_mb), status.most_memory_mb),
        format!("each      {}", describe_limits(&status.limits)),
    ];
    if !status.missing_controllers.is_empty() {
        lines.push(format!("not bound {} (no control group can be made)", status.missing_controllers.join(", ")));
    }
    let of_sandbox = |sandbox: &SandboxUse| {
        let SandboxUse { id, memory_mb, host_processes, limits } = sandbox;
        let most = limits.memory_mb.unwrap_or_default();
        format!("  {id} {} MiB for {most} MiB and files, {host_processes} host processes", shown(*memory_mb))
    };
    lines.extend(status.sandboxes.iter().map(of_sandbox));
    lines.join("\n")
}

fn describe_limits(limits: &SandboxLimits) -> String {
    let SandboxLimits { cpu, memory_mb, processes, disk_gb, open_files, cell_seconds, output_bytes, .. } = limits;
    let known = [
        cpu.map(|value| format!("{value} cpu")),
        memory_mb.map(|value| format!("{value} MiB memory")),
        disk_gb.map(|value| format!("{value} GiB disk")),
        processes.map(|value| format!("{value} processes")),
        open_files.map(|value| format!("{value} open files")),
        cell_seconds.map(|value| format!("{value} s a cell")),
        output_bytes.map(|value| format!("{value} bytes of output")),
    ];
    known.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn shown(number: Option<u64>) -> String {
    number.map_or_else(|| "an unknown part".to_owned(), |number| number.to_string())
}
