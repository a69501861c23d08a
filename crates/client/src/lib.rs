//! Client of the `/v1` protocol: one noun, one file; every call is a method of [`Client`].
//!
//! The client decides what a call sends, how long it waits, what it sends again and what an answer means. It knows
//! three kinds of server (hosted, self-hosted, local engine) and treats them alike but for how it connects.
#![deny(missing_docs)]

mod code_context;
mod config;
mod environment;
mod error;
mod events;
mod exec;
mod file;
mod health;
mod http;
mod lifecycle;
mod lines;
mod local;
mod retry_hook;
mod sandbox;
mod template;
mod token;
mod upload;

pub use code_context::ExecutionStream;
pub use config::{ClientOptions, Config, Endpoint, HOSTED_URL};
pub use environment::Environment;
pub use error::{Error, Partial, Result};
pub use events::EventStream;
pub use exec::{ExecEvent, ExecStream};
pub use file::{FileDownload, FileUpload};
pub use health::RawRequest;
pub use http::Client;
pub use lines::LineStream;
pub use pandastack_protocol as protocol;
pub use retry_hook::{Retry, RetryHook};
pub use upload::Upload;
