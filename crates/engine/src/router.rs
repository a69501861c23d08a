//! The `/v1` API as one axum router.

use std::sync::Arc;

use axum::routing::{any, delete, get, post};
use axum::{Extension, Router, middleware};
use tokio::sync::watch;

use crate::access::{self, Access};
use crate::engine::Engine;
use crate::request;
use crate::routes::{
    code_context, egress, engine, event, exec, file, fork, health, lifecycle, log, one_shot, sandbox, snapshot,
    template, token, unknown,
};
use crate::usage::Usage;

/// How the engine is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// True: ends all sandboxes too.
    pub kill: bool,
}

/// What every handler can reach.
#[derive(Clone)]
pub struct AppState {
    /// The engine.
    pub engine: Engine,
    /// Who uses it.
    pub usage: Arc<Usage>,
    stop: watch::Sender<Option<Stop>>,
}

impl AppState {
    /// State for one engine; the receiver tells when it is asked to stop.
    pub fn new(engine: Engine) -> (Self, watch::Receiver<Option<Stop>>) {
        let (stop, stopped) = watch::channel(None);
        (Self { engine, usage: Arc::new(Usage::default()), stop }, stopped)
    }

    /// Asks the engine to stop.
    pub fn stop(&self, stop: Stop) {
        self.stop.send_replace(Some(stop));
    }
}

/// All routes, guarded by `access`.
pub fn router(state: AppState, access: Access) -> Router {
    let v1 = Router::new()
        .merge(sandboxes())
        .merge(account())
        .merge(about())
        .route("/engine", get(engine::status))
        .route("/engine/stop", post(engine::stop));
    Router::new()
        .nest("/v1", v1)
        .merge(about())
        .fallback(unknown::not_found)
        .method_not_allowed_fallback(unknown::method_not_allowed)
        .layer(middleware::from_fn_with_state(state.clone(), access::check))
        .layer(Extension(access))
        .layer(middleware::from_fn_with_state(state.clone(), request::track))
        .with_state(state)
}

fn sandboxes() -> Router<AppState> {
    let of_one = Router::new()
        .route("/", get(sandbox::get).delete(sandbox::delete))
        .route("/lifecycle", get(lifecycle::get).patch(lifecycle::update))
        .route("/egress", get(egress::get).put(egress::update))
        .route("/events", get(event::list))
        .route("/logs", get(log::show))
        .route("/pause", post(lifecycle::pause))
        .route("/resume", post(lifecycle::resume))
        .route("/hibernate", post(lifecycle::hibernate))
        .route("/stop", post(lifecycle::hibernate))
        .route("/wake", post(lifecycle::wake))
        .route("/start", post(lifecycle::wake))
        .route("/snapshots", get(snapshot::list_of_one).post(snapshot::create))
        .route("/fork", post(fork::fork))
        .route("/fork-tree", post(fork::fork_tree))
        .route("/promote", post(fork::promote))
        .route("/exec", post(exec::exec))
        .route("/exec/stream", post(exec::exec_stream))
        .route("/repl", post(one_shot::run))
        .route("/repl/languages", get(one_shot::languages))
        .route("/repl/sessions", get(code_context::list).post(code_context::create))
        .route("/repl/sessions/{session}", delete(code_context::delete))
        .route("/repl/sessions/{session}/run", post(code_context::run))
        .route("/repl/sessions/{session}/interrupt", post(code_context::interrupt))
        .route("/repl/sessions/{session}/restart", post(code_context::restart))
        .route("/fs", get(file::read).put(file::write).delete(file::delete))
        .route("/fs/dir", get(file::list))
        .route("/fs/stat", get(file::stat));
    Router::new().route("/sandboxes", get(sandbox::list).post(sandbox::create)).nest("/sandboxes/{id}", of_one)
}

fn account() -> Router<AppState> {
    Router::new()
        .route("/snapshots", get(snapshot::list))
        .route("/snapshots/{id}", get(snapshot::get).delete(snapshot::delete))
        .route("/templates", get(template::list))
        .route("/templates/build", any(unknown::not_found))
        .route("/templates/builds", any(unknown::not_found))
        .route("/templates/{name}", get(template::get).delete(unknown::not_found))
        .route("/me", get(health::me))
        .route("/me/tokens", get(token::list).post(token::create))
        .route("/me/tokens/{prefix}", delete(token::revoke))
}

fn about() -> Router<AppState> {
    Router::new().route("/healthz", get(health::health)).route("/version", get(health::version))
}

#[cfg(test)]
mod tests;
