//! The routes, each as thin as can be.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http_body_util::{BodyExt, Limited};
use pandastack_guest_protocol::route;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::refusal::Refusal;
use crate::{egress, exec, file};

/// Longest JSON body, in bytes. Cells are the long ones.
const MAX_JSON: usize = 128 << 20;

type Shared = State<Arc<Agent>>;
type Answer = Result<Response, Refusal>;

/// All routes.
pub(crate) fn router(agent: Arc<Agent>) -> Router {
    Router::new()
        .route(route::HEALTH, get(get_health))
        .route(route::EXEC, post(post_exec))
        .route(route::CONTEXTS, get(list_contexts).post(create_context))
        .route(&route::context("{id}"), get(get_context).delete(delete_context))
        .route(&route::context_run("{id}"), post(run_cell))
        .route(&route::context_interrupt("{id}"), post(interrupt_context))
        .route(&route::context_restart("{id}"), post(restart_context))
        .route(route::QUIESCE, post(quiesce))
        .route(route::FILES, get(read_file).put(write_file).delete(delete_file))
        .route(route::FILE_LIST, get(list_files))
        .route(route::FILE_STAT, get(stat_file))
        .route(route::EGRESS_ACCEPT, post(accept_egress))
        .fallback(refuse_route)
        .method_not_allowed_fallback(refuse_route)
        .with_state(agent)
}

async fn refuse_route(request: Request) -> Refusal {
    Refusal::not_found(format!("no such route: `{} {}`", request.method(), request.uri().path()))
}

async fn get_health(State(agent): Shared) -> Json<Value> {
    Json(json!({"version": env!("CARGO_PKG_VERSION"), "uptime_ms": agent.started.elapsed().as_millis() as u64}))
}

async fn post_exec(State(agent): Shared, body: Body) -> Answer {
    exec::run(&agent, read_json(body).await?).await
}

async fn list_contexts(State(agent): Shared) -> Response {
    Json(agent.contexts.list()).into_response()
}

async fn create_context(State(agent): Shared, body: Body) -> Answer {
    let info = agent.contexts.create(read_json(body).await?).await?;
    Ok((StatusCode::CREATED, Json(info)).into_response())
}

async fn get_context(State(agent): Shared, Path(id): Path<String>) -> Answer {
    Ok(Json(agent.contexts.find(&id)?.info()).into_response())
}

async fn delete_context(State(agent): Shared, Path(id): Path<String>) -> Answer {
    agent.contexts.remove(&id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn run_cell(State(agent): Shared, Path(id): Path<String>, body: Body) -> Answer {
    agent.contexts.find(&id)?.run(read_json(body).await?)
}

async fn interrupt_context(State(agent): Shared, Path(id): Path<String>) -> Answer {
    agent.contexts.find(&id)?.interrupt();
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn restart_context(State(agent): Shared, Path(id): Path<String>) -> Answer {
    let context = agent.contexts.find(&id)?;
    context.restart().await?;
    Ok(Json(context.info()).into_response())
}

async fn quiesce(State(agent): Shared) -> StatusCode {
    agent.quiesce().await;
    StatusCode::NO_CONTENT
}

#[derive(Deserialize)]
struct PathQuery {
    path: String,
}

type PathOf = Result<Query<PathQuery>, axum::extract::rejection::QueryRejection>;

fn path_of(query: PathOf) -> Result<String, Refusal> {
    let Query(PathQuery { path }) = query.map_err(|error| Refusal::bad_request(error.body_text()))?;
    file::check_path(&path)?;
    Ok(path)
}

async fn read_file(query: PathOf) -> Answer {
    file::read(path_of(query)?).await
}

async fn write_file(query: PathOf, body: Body) -> Answer {
    Ok(Json(file::write(path_of(query)?, body).await?).into_response())
}

async fn delete_file(query: PathOf) -> Answer {
    file::delete(path_of(query)?).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn list_files(query: PathOf) -> Answer {
    Ok(Json(file::list(path_of(query)?).await?).into_response())
}

async fn stat_file(query: PathOf) -> Answer {
    Ok(Json(file::stat(path_of(query)?).await?).into_response())
}

async fn accept_egress(State(agent): Shared, body: Body) -> Answer {
    egress::accept(&agent.egress, body).await
}

async fn read_json<T: DeserializeOwned>(body: Body) -> Result<T, Refusal> {
    let body = Limited::new(body, MAX_JSON).collect().await;
    let bytes = body.map_err(|error| Refusal::bad_request(format!("the body cannot be read: {error}")))?.to_bytes();
    serde_json::from_slice(&bytes).map_err(|error| Refusal::bad_request(format!("the body makes no sense: {error}")))
}
