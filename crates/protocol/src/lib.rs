//! Wire types of the `/v1` protocol: what a request may say and what an answer looks like. No I/O.
//!
//! One noun, one module; client and engine use the same types, so they cannot drift. Answers keep what they do not know in
//! `extra`, so that fields of a newer server reach the caller.
#![deny(missing_docs)]

pub mod code_context;
pub mod egress;
pub mod env_vars;
pub mod error;
pub mod event;
pub mod exec;
pub mod file;
pub mod fork;
pub mod health;
pub mod lifecycle;
pub mod limits;
pub mod sandbox;
pub mod snapshot;
pub mod template;
pub mod token;

/// Fields that this version does not know.
pub type Extra = serde_json::Map<String, serde_json::Value>;
