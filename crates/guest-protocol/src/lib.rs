//! What the engine and the guest agent (pid 1 in a sandbox) say to each other.
//!
//! Two layers, both over the agent's stdin and stdout:
//! [`record`] carries control records and the bytes of one HTTP/2 connection; inside of that connection the agent serves
//! the routes of [`route`], whose bodies are the types of [`exec`], [`context`], [`file`] and whose streams are [`frame`]s.
//! This crate does no I/O: both ends bring their own.
#![deny(missing_docs)]

pub mod bounded;
pub mod context;
pub mod exec;
pub mod file;
pub mod frame;
pub mod hello;
pub mod record;
pub mod route;
