//! `pandastack run`

mod charts;

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use pandastack_client::Client;
use pandastack_protocol::code_context::{CreateCodeContext, ExecutionEvent, ExecutionStatus, RunCode};
use pandastack_protocol::sandbox::CreateSandbox;

use crate::api;
use crate::arguments::RunArguments;
use crate::commands::exit_code;
use crate::error::{CliError, Result};
use crate::output;
use charts::Charts;

/// Runs one cell in a sandbox of its own, prints what it shows, and ends with its exit code. The sandbox is always ended.
pub(crate) async fn run(arguments: RunArguments) -> Result<ExitCode> {
    let code = read_code(&arguments)?;
    let timeout_ms = arguments.timeout.map(milliseconds).transpose()?;
    let mut charts = Charts::new(arguments.out.as_deref())?;
    let client = api::client(&arguments.server)?;
    let request = CreateSandbox { template: arguments.template, ttl_seconds: Some(600), ..CreateSandbox::default() };
    let sandbox = client.create_sandbox(&request).await?;
    let cell = RunCode { code, timeout_ms, ..RunCode::default() };
    let outcome = tokio::select! {
        outcome = run_cell(&client, &sandbox.id, &cell, &mut charts) => outcome,
        _ = tokio::signal::ctrl_c() => Ok(ExitCode::from(130)),
    };
    let deleted = client.delete_sandbox(&sandbox.id).await;
    let code = outcome?;
    deleted?;
    Ok(code)
}

fn read_code(arguments: &RunArguments) -> Result<String> {
    if let Some(code) = &arguments.code {
        return Ok(code.clone());
    }
    let path = arguments.file.as_deref().unwrap_or(Path::new("-"));
    let mut code = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut code)
    } else {
        std::fs::File::open(path).and_then(|mut file| file.read_to_string(&mut code))
    };
    read.map_err(|error| CliError::new(format!("cannot read the code ({error}): `{}`", path.display())))?;
    Ok(code)
}

fn milliseconds(seconds: f64) -> Result<u64> {
    if seconds > 0.0 && seconds.is_finite() {
        Ok(((seconds * 1000.0) as u64).max(1))
    } else {
        Err(CliError::new(format!("the time limit must be greater than 0: `{seconds}`")))
    }
}

async fn run_cell(client: &Client, sandbox: &str, cell: &RunCode, charts: &mut Charts) -> Result<ExitCode> {
    let context = client.create_code_context(sandbox, &CreateCodeContext::default()).await?;
    let mut events = client.run_code(sandbox, &context.id, cell).await?;
    while let Some(event) = events.next().await {
        match event? {
            ExecutionEvent::Stdout { text } => output::bytes(text.as_bytes())?,
            ExecutionEvent::Stderr { text } => output::stderr(&text),
            ExecutionEvent::Result { data, .. } => {
                if !charts.save(&data)?
                    && let Some(text) = data.get("text/plain")
                {
                    output::line(text)?;
                }
            }
            // The exit code tells it, and a text is in stderr, as outside of a sandbox.
            ExecutionEvent::Error { error, .. } if error.name == "SystemExit" => {}
            ExecutionEvent::Error { text, .. } => output::say(&text),
            ExecutionEvent::End { status, exit_code: code, .. } => return end(status, code, cell.timeout_ms),
            ExecutionEvent::Failure { error, .. } => return Err(CliError::new(error)),
            _ => {}
        }
    }
    Err(CliError::new("the output was cut"))
}

fn end(status: ExecutionStatus, code: i32, timeout_ms: Option<u64>) -> Result<ExitCode> {
    match status {
        ExecutionStatus::TimedOut => {
            Err(CliError::new(format!("time limit reached: {} s", timeout_ms.unwrap_or_default() as f64 / 1000.0)))
        }
        ExecutionStatus::KernelDied => Err(CliError::new("the Python process died")),
        ExecutionStatus::Interrupted => Err(CliError::new("interrupted")),
        ExecutionStatus::Ok | ExecutionStatus::Error => Ok(exit_code(code)),
    }
}
