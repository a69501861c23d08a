//! Requests to the guest agent.

use std::pin::Pin;

use bytes::Bytes;
use futures::Stream;
use pandastack_guest_protocol::context::{ContextInfo, CreateContext, RunRequest};
use pandastack_guest_protocol::exec::ExecRequest;
use pandastack_guest_protocol::file::{FileEntry, FileList, FileWritten};

use super::stream::{EgressStream, FrameStream};
use crate::error::EngineError;

/// A file as it is read.
pub struct FileContent {
    /// Its size in bytes, where the agent tells.
    pub length: Option<u64>,
    /// Its bytes.
    pub bytes: Pin<Box<dyn Stream<Item = Result<Bytes, EngineError>> + Send>>,
}

/// The way into one running sandbox. Clones share the connection.
#[derive(Clone)]
pub struct GuestClient {}

impl GuestClient {
    /// Runs a command.
    pub async fn exec(&self, _request: &ExecRequest) -> Result<FrameStream, EngineError> {
        pending()
    }

    /// Makes a context.
    pub async fn create_context(&self, _request: &CreateContext) -> Result<ContextInfo, EngineError> {
        pending()
    }

    /// All contexts.
    pub async fn list_contexts(&self) -> Result<Vec<ContextInfo>, EngineError> {
        pending()
    }

    /// One context.
    pub async fn context(&self, _id: &str) -> Result<ContextInfo, EngineError> {
        pending()
    }

    /// Ends a context.
    pub async fn delete_context(&self, _id: &str) -> Result<(), EngineError> {
        pending()
    }

    /// Interrupts the running cell, if any.
    pub async fn interrupt_context(&self, _id: &str) -> Result<(), EngineError> {
        pending()
    }

    /// Gives the context a new kernel.
    pub async fn restart_context(&self, _id: &str) -> Result<ContextInfo, EngineError> {
        pending()
    }

    /// Runs a cell.
    pub async fn run(&self, _context_id: &str, _request: &RunRequest) -> Result<FrameStream, EngineError> {
        pending()
    }

    /// Reads a file.
    pub async fn read_file(&self, _path: &str) -> Result<FileContent, EngineError> {
        pending()
    }

    /// Writes a file whole; an error of `body` leaves the old file as it was.
    pub async fn write_file<S, E>(&self, _path: &str, _body: S) -> Result<FileWritten, EngineError>
    where
        S: Stream<Item = Result<Bytes, E>> + Send + 'static,
        E: std::fmt::Display + Send + 'static,
    {
        pending()
    }

    /// Deletes a file or a directory with all that is in it; none is fine.
    pub async fn delete_file(&self, _path: &str) -> Result<(), EngineError> {
        pending()
    }

    /// Lists a directory.
    pub async fn list_files(&self, _path: &str) -> Result<FileList, EngineError> {
        pending()
    }

    /// Describes a file; links are not followed.
    pub async fn stat_file(&self, _path: &str) -> Result<FileEntry, EngineError> {
        pending()
    }

    /// Answers while the agent is alive.
    pub async fn health(&self) -> Result<(), EngineError> {
        pending()
    }

    /// Waits until a program in the sandbox connects to the proxy listener; the stream then carries that connection.
    pub async fn egress_accept(&self) -> Result<EgressStream, EngineError> {
        pending()
    }
}

fn pending<T>() -> Result<T, EngineError> {
    Err(EngineError::Internal("not there yet".to_owned()))
}
