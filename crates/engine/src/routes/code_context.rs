//! `/v1/sandboxes/{id}/repl/sessions` and `/v1/sandboxes/{id}/repl`.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use pandastack_guest_protocol::context::{ContextInfo, CreateContext, RunRequest};
use pandastack_protocol::code_context::{CodeContextInfo, CreateCodeContext, NDJSON, RunCode};

use super::answer;
use super::body::JsonBody;
use super::error::{ApiError, excerpt};
use super::execution::NdjsonEncoder;
use super::limits::check_environment;
use super::output::{Limited, Pump};
use super::path::{ContextId, SandboxId};
use crate::clock;
use crate::error::EngineError;
use crate::router::AppState;

/// Longest code of a cell, in bytes.
const MAX_CODE: usize = 32 << 20;

/// Makes a context, 201.
pub(crate) async fn create(
    State(state): State<AppState>,
    id: SandboxId,
    JsonBody(request): JsonBody<CreateCodeContext>,
) -> Result<Response, ApiError> {
    let language = check_language(request.language.as_deref())?;
    if let Some(cwd) = request.cwd.as_deref().filter(|cwd| !cwd.starts_with('/') || cwd.contains('\0')) {
        return Err(ApiError::bad_request(format!("cwd must be absolute: `{}`", excerpt(cwd))));
    }
    let env = request.env.unwrap_or_default();
    check_environment(&env)?;
    let request = CreateContext { id: None, language, cwd: request.cwd, env, fresh: request.fresh.unwrap_or_default() };
    let context = state.engine.guest(&id.0).await?.create_context(&request).await?;
    Ok((StatusCode::CREATED, Json(info(id.0, context))).into_response())
}

/// All contexts of a sandbox.
pub(crate) async fn list(State(state): State<AppState>, id: SandboxId) -> Result<Json<Vec<CodeContextInfo>>, ApiError> {
    let contexts = state.engine.guest(&id.0).await?.list_contexts().await?;
    Ok(Json(contexts.into_iter().map(|context| info(id.0.clone(), context)).collect()))
}

/// Ends a context, 204.
pub(crate) async fn delete(
    State(state): State<AppState>,
    id: SandboxId,
    session: ContextId,
) -> Result<StatusCode, ApiError> {
    let deleted = state.engine.guest(&id.0).await?.delete_context(&session.0).await;
    deleted.map_err(|error| named(error, &session))?;
    Ok(StatusCode::NO_CONTENT)
}

/// Interrupts the running cell, 204.
pub(crate) async fn interrupt(
    State(state): State<AppState>,
    id: SandboxId,
    session: ContextId,
) -> Result<StatusCode, ApiError> {
    let interrupted = state.engine.guest(&id.0).await?.interrupt_context(&session.0).await;
    interrupted.map_err(|error| named(error, &session))?;
    Ok(StatusCode::NO_CONTENT)
}

/// Gives the context a new kernel under the same id.
pub(crate) async fn restart(
    State(state): State<AppState>,
    id: SandboxId,
    session: ContextId,
) -> Result<Json<CodeContextInfo>, ApiError> {
    let restarted = state.engine.guest(&id.0).await?.restart_context(&session.0).await;
    Ok(Json(info(id.0, restarted.map_err(|error| named(error, &session))?)))
}

/// Runs a cell: a stream of events if the client asks for one, else one answer. A client that goes away interrupts the cell.
///
/// Without `timeout_ms` the sandbox's own limit holds, if it has one: clients that wait for less time end the cell by leaving.
pub(crate) async fn run(
    State(state): State<AppState>,
    id: SandboxId,
    session: ContextId,
    headers: HeaderMap,
    JsonBody(request): JsonBody<RunCode>,
) -> Result<Response, ApiError> {
    let max_output_bytes = request.max_output_bytes;
    let mut request = to_guest(request)?;
    let guest = state.engine.guest(&id.0).await?;
    let bounds = state.engine.bounds(&id.0).await?;
    request.timeout_ms = bounds.cell_ms(request.timeout_ms);
    let frames = guest.run(&session.0, &request).await.map_err(|error| named(error, &session))?;
    let frames = Limited::new(frames, bounds);
    if !wants_stream(&headers) {
        let answer = answer::run_to_end(frames, request.timeout_ms, max_output_bytes).await?;
        return Ok(Json(answer).into_response());
    }
    let headers = [(header::CONTENT_TYPE, NDJSON), (header::CACHE_CONTROL, "no-cache")];
    Ok((headers, Pump::start(frames, NdjsonEncoder::default()).into_body()).into_response())
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .any(|item| item.split(';').next().is_some_and(|mime| mime.trim().eq_ignore_ascii_case(NDJSON)))
}

fn to_guest(request: RunCode) -> Result<RunRequest, ApiError> {
    check_code(&request.code)?;
    let env = request.env.unwrap_or_default();
    check_environment(&env)?;
    if request.timeout_ms == Some(0) {
        return Err(ApiError::bad_request("timeout_ms must be greater than 0: `0`"));
    }
    Ok(RunRequest { code: request.code, env, timeout_ms: request.timeout_ms })
}

/// Code must not be empty, and not longer than [`MAX_CODE`].
pub(super) fn check_code(code: &str) -> Result<(), ApiError> {
    if code.is_empty() {
        return Err(ApiError::bad_request("code required"));
    }
    if code.len() > MAX_CODE {
        let text = format!(
            "code too long: {} bytes, {MAX_CODE} are possible: write data to a file and read it from there",
            code.len()
        );
        return Err(ApiError::too_large(text));
    }
    Ok(())
}

fn check_language(language: Option<&str>) -> Result<String, ApiError> {
    match language.unwrap_or("python").to_ascii_lowercase().as_str() {
        "python" | "python3" | "py" | "" => Ok("python".to_owned()),
        _ => Err(ApiError::bad_request(format!(
            "unsupported language: `{}`, use `python`",
            excerpt(language.unwrap_or_default())
        ))),
    }
}

/// The guest agent knows no sandboxes: what it does not find is the context.
fn named(error: EngineError, session: &ContextId) -> ApiError {
    match ApiError::from(error) {
        error if error.status == StatusCode::NOT_FOUND && !error.body.error.starts_with("sandbox") => {
            ApiError::not_found(format!("session not found: {}", session.0))
        }
        error => error,
    }
}

fn info(sandbox_id: String, context: ContextInfo) -> CodeContextInfo {
    CodeContextInfo {
        session_id: Some(context.id.clone()),
        id: context.id,
        sandbox_id,
        language: context.language,
        created_at: clock::rfc3339_of_ms(context.created_at_ms),
        cells: Some(context.cells),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_checked() {
        let error = |request: RunCode| to_guest(request).unwrap_err().body.error;
        assert_eq!(error(RunCode::default()), "code required");
        assert_eq!(
            error(RunCode { code: "1".into(), timeout_ms: Some(0), ..RunCode::default() }),
            "timeout_ms must be greater than 0: `0`"
        );
        let long = to_guest(RunCode { code: "x".repeat(MAX_CODE + 1), ..RunCode::default() }).unwrap_err();
        assert_eq!(long.status, StatusCode::PAYLOAD_TOO_LARGE);
        assert!(to_guest(RunCode { code: "x".repeat(MAX_CODE), ..RunCode::default() }).is_ok());
    }

    #[test]
    fn languages_have_aliases() {
        for language in [None, Some("py"), Some("Python3"), Some("")] {
            assert_eq!(check_language(language).unwrap(), "python");
        }
        assert_eq!(
            check_language(Some("cobol")).unwrap_err().body.error,
            "unsupported language: `cobol`, use `python`"
        );
    }

    #[test]
    fn a_stream_is_asked_for_by_the_accept_header() {
        let accepts = |value: &str| wants_stream(&HeaderMap::from_iter([(header::ACCEPT, value.parse().unwrap())]));
        assert!(accepts("application/json, Application/X-NDJSON;q=1"));
        assert!(!accepts("application/json"));
        assert!(!accepts("*/*"));
    }
}
