//! Handlers of the `/v1` routes: one noun, one module. They read a request, call the engine, and say what came of it.

mod answer;
pub(crate) mod body;
pub(crate) mod code_context;
pub(crate) mod egress;
pub(crate) mod engine;
pub mod error;
pub(crate) mod event;
pub(crate) mod exec;
mod exec_stream;
mod execution;
pub(crate) mod file;
pub(crate) mod fork;
pub(crate) mod health;
pub(crate) mod lifecycle;
mod limits;
pub(crate) mod log;
pub(crate) mod one_shot;
mod output;
mod path;
pub(crate) mod sandbox;
pub(crate) mod snapshot;
pub(crate) mod template;
pub(crate) mod token;
pub(crate) mod unknown;
