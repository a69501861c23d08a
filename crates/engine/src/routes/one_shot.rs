//! `POST /v1/sandboxes/{id}/repl`: code that runs in a process of its own and leaves no state.

use axum::Json;
use axum::extract::State;
use pandastack_guest_protocol::exec::ExecRequest;
use serde::{Deserialize, Serialize};

use super::body::JsonBody;
use super::code_context::check_code;
use super::error::{ApiError, excerpt};
use super::exec::run_command;
use super::path::SandboxId;
use crate::router::AppState;

/// Longest code, in bytes: it is an argument of the interpreter.
const MAX_CODE: usize = (128 << 10) - 1;

/// Languages, with the interpreters that take the code as their next argument.
const LANGUAGES: [(&str, &[&str]); 5] = [
    ("python", &["python3", "-c"]),
    ("py", &["python3", "-c"]),
    ("bash", &["bash", "-c"]),
    ("sh", &["sh", "-c"]),
    ("shell", &["bash", "-c"]),
];

/// Body of the request.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct RunOnce {
    /// Default `python`.
    #[serde(default)]
    language: Option<String>,
    #[serde(default)]
    code: String,
}

/// Answer.
#[derive(Debug, Serialize)]
pub(crate) struct RanOnce {
    language: String,
    stdout: String,
    stderr: String,
    exit_code: i32,
}

/// Runs the code.
pub(crate) async fn run(
    State(state): State<AppState>,
    id: SandboxId,
    JsonBody(request): JsonBody<RunOnce>,
) -> Result<Json<RanOnce>, ApiError> {
    let language = request.language.unwrap_or_else(|| "python".to_owned());
    let Some((_, interpreter)) = LANGUAGES.iter().find(|(name, _)| *name == language.to_ascii_lowercase()) else {
        return Err(ApiError::bad_request(format!(
            "unsupported language: `{}`, use one of python, bash, sh",
            excerpt(&language)
        )));
    };
    check_code(&request.code)?;
    if request.code.contains('\0') {
        return Err(ApiError::bad_request("code must not contain NUL"));
    }
    if request.code.len() > MAX_CODE {
        return Err(ApiError::too_large(format!(
            "code too long: {} bytes, {MAX_CODE} are possible: use a session",
            request.code.len()
        )));
    }
    let argv = interpreter.iter().map(|part| (*part).to_owned()).chain([request.code]).collect();
    let result = run_command(&state.engine, &id.0, &ExecRequest { argv: Some(argv), ..ExecRequest::default() }).await?;
    Ok(Json(RanOnce { language, stdout: result.stdout, stderr: result.stderr, exit_code: result.exit_code }))
}

/// The languages.
pub(crate) async fn languages() -> Json<[&'static str; 3]> {
    Json(["python", "bash", "sh"])
}
