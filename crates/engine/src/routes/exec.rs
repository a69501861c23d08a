//! `POST /v1/sandboxes/{id}/exec` and `/exec/stream`.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use pandastack_guest_protocol::exec as guest;
use pandastack_guest_protocol::frame::Kind;
use pandastack_protocol::error::ErrorCode;
use pandastack_protocol::exec::{ExecRequest, ExecResult};

use super::body::JsonBody;
use super::error::ApiError;
use super::exec_stream::ExecEncoder;
use super::limits::{check_environment, seconds_to_ms, show_seconds};
use super::output::{Frames, KeptOutput, Limited, Pump, sse};
use super::path::SandboxId;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::guest::{FrameStream, read_json};
use crate::router::AppState;

/// Longest command and longest sum of arguments, in bytes: what Linux takes for one argument.
const MAX_COMMAND: usize = 128 << 10;

/// Runs a command and answers when it has ended. A client that goes away ends it.
pub(crate) async fn exec(
    State(state): State<AppState>,
    id: SandboxId,
    JsonBody(request): JsonBody<ExecRequest>,
) -> Result<Response, ApiError> {
    let request = to_guest(request)?;
    Ok(Json(run_command(&state.engine, &id.0, &request).await?).into_response())
}

/// Runs a command and streams its output as server-sent events.
pub(crate) async fn exec_stream(
    State(state): State<AppState>,
    id: SandboxId,
    JsonBody(request): JsonBody<ExecRequest>,
) -> Result<Response, ApiError> {
    let request = to_guest(request)?;
    let frames = start(&state.engine, &id.0, &request).await?;
    let headers = [(header::CONTENT_TYPE, sse::CONTENT_TYPE), (header::CACHE_CONTROL, "no-cache")];
    let body = Pump::start(frames, ExecEncoder::new(request.timeout_ms)).into_body();
    Ok((StatusCode::OK, headers, body).into_response())
}

/// Runs a command to its end.
pub(crate) async fn run_command(
    engine: &Engine,
    sandbox_id: &str,
    request: &guest::ExecRequest,
) -> Result<ExecResult, ApiError> {
    let frames = start(engine, sandbox_id, request).await?;
    run_to_end(frames, request.timeout_ms).await
}

async fn start(
    engine: &Engine,
    sandbox_id: &str,
    request: &guest::ExecRequest,
) -> Result<Limited<FrameStream>, EngineError> {
    let bounds = engine.bounds(sandbox_id).await?;
    Ok(Limited::new(engine.guest(sandbox_id).await?.exec(request).await?, bounds))
}

async fn run_to_end(mut frames: impl Frames, timeout_ms: Option<u64>) -> Result<ExecResult, ApiError> {
    let mut stdout = KeptOutput::new(None);
    let mut stderr = KeptOutput::new(None);
    let failure: ApiError = loop {
        match frames.next().await {
            Some(Ok((Kind::Stdout, bytes))) => stdout.push(&bytes),
            Some(Ok((Kind::Stderr, bytes))) => stderr.push(&bytes),
            Some(Ok((Kind::Exit, json))) => match parse_exit(&json) {
                Ok(exit) if exit.timed_out => break ApiError::sandbox_timeout(timeout_text(timeout_ms)),
                Ok(exit) => return Ok(result(stdout, stderr, &exit)),
                Err(error) => break error.into(),
            },
            Some(Ok(_)) => {}
            Some(Err(error)) => break error.into(),
            None => break cut(),
        }
    };
    Err(with_output(failure, stdout, stderr))
}

fn result(stdout: KeptOutput, stderr: KeptOutput, exit: &guest::Exit) -> ExecResult {
    let ((stdout, stdout_cut), (stderr, stderr_cut)) = (stdout.finish(), stderr.finish());
    ExecResult {
        stdout,
        stderr,
        exit_code: exit.exit_code,
        duration_ms: Some(exit.duration_ms),
        truncated: stdout_cut || stderr_cut,
    }
}

fn with_output(mut failure: ApiError, stdout: KeptOutput, stderr: KeptOutput) -> ApiError {
    failure.body.stdout = Some(stdout.finish().0);
    failure.body.stderr = Some(stderr.finish().0);
    failure
}

fn cut() -> ApiError {
    ApiError::new(StatusCode::BAD_GATEWAY, ErrorCode::Interrupted, CUT)
}

/// What is said when the frames stop without a last one.
pub(super) const CUT: &str = "the connection to the sandbox ended before the command did";

pub(super) fn parse_exit(json: &[u8]) -> Result<guest::Exit, EngineError> {
    read_json("exit of the command", json)
}

/// `command timeout after Ns`: by this text the official SDKs know a time limit.
pub(super) fn timeout_text(timeout_ms: Option<u64>) -> String {
    timeout_ms
        .map_or_else(|| "command timeout".to_owned(), |limit| format!("command timeout after {}s", show_seconds(limit)))
}

fn to_guest(request: ExecRequest) -> Result<guest::ExecRequest, ApiError> {
    let argv = request.argv.filter(|argv| !argv.is_empty());
    let command = request.cmd.filter(|command| !command.is_empty());
    if command.is_some() && argv.is_some() {
        return Err(ApiError::bad_request("give either cmd or argv, not both"));
    }
    if command.is_none() && argv.is_none() {
        return Err(ApiError::bad_request("cmd required"));
    }
    if let Some(command) = &command {
        check_argument("cmd", command)?;
    }
    for argument in argv.iter().flatten() {
        check_argument("argv", argument)?;
    }
    let env = request.env.unwrap_or_default();
    check_environment(&env)?;
    for (name, value) in [("cwd", &request.cwd), ("user", &request.user)] {
        check_argument(name, value.as_deref().unwrap_or_default())?;
    }
    let timeout_ms = request.timeout_seconds.map(|limit| seconds_to_ms("timeout_seconds", &limit)).transpose()?;
    Ok(guest::ExecRequest { command, argv, env, cwd: request.cwd, user: request.user, timeout_ms })
}

fn check_argument(name: &str, value: &str) -> Result<(), ApiError> {
    if value.contains('\0') {
        return Err(ApiError::bad_request(format!("{name} must not contain NUL")));
    }
    if value.len() >= MAX_COMMAND {
        return Err(ApiError::too_large(format!(
            "{name} too long: {} bytes, less than {MAX_COMMAND} are possible: write it to a file first",
            value.len()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
