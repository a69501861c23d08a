//! The agent's routes as calls.

use std::fmt::Display;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use http::Method;
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use pandastack_guest_protocol::context::{ContextInfo, CreateContext, RunRequest};
use pandastack_guest_protocol::exec::ExecRequest;
use pandastack_guest_protocol::file::{FileEntry, FileList, FileWritten};
use pandastack_guest_protocol::route;

use super::activity::{Activity, InUse};
use super::connection::Connection;
use super::frame_stream::FrameStream;
use super::request::{EgressStream, json_body, streamed, whole};
use crate::error::EngineError;

/// A file as it is read. Dropping it stops the reading.
pub struct FileContent {
    /// Its size in bytes, where the agent tells.
    pub length: Option<u64>,
    /// Its bytes; an error if the file could not be read to its end.
    pub bytes: Pin<Box<dyn Stream<Item = Result<Bytes, EngineError>> + Send>>,
}

/// The way into one running sandbox. Clones share the connection. While a call or a stream lasts, the sandbox is in use.
#[derive(Clone)]
pub struct GuestClient {
    connection: Arc<Connection>,
    activity: Arc<Activity>,
}

impl GuestClient {
    pub(super) fn new(connection: Arc<Connection>, activity: Arc<Activity>) -> Self {
        Self { connection, activity }
    }

    /// Id of the sandbox.
    pub fn sandbox_id(&self) -> &str {
        self.connection.sandbox_id()
    }

    /// Runs a command.
    pub async fn exec(&self, request: &ExecRequest) -> Result<FrameStream, EngineError> {
        let in_use = self.activity.begin();
        let response = self.connection.begin(Method::POST, route::EXEC, json_body(request)?).await?;
        Ok(FrameStream::new(Arc::clone(&self.connection), response.into_body(), in_use))
    }

    /// Makes a context.
    pub async fn create_context(&self, request: &CreateContext) -> Result<ContextInfo, EngineError> {
        let _in_use = self.activity.begin();
        let info: ContextInfo = self.connection.call(Method::POST, route::CONTEXTS, json_body(request)?).await?;
        if is_safe_id(&info.id) {
            Ok(info)
        } else {
            Err(EngineError::Internal("the agent gave a context an unusable id".to_owned()))
        }
    }

    /// All contexts.
    pub async fn list_contexts(&self) -> Result<Vec<ContextInfo>, EngineError> {
        let _in_use = self.activity.begin();
        self.connection.call(Method::GET, route::CONTEXTS, whole(Bytes::new())).await
    }

    /// One context.
    pub async fn context(&self, id: &str) -> Result<ContextInfo, EngineError> {
        let _in_use = self.activity.begin();
        self.connection.call(Method::GET, &route::context(checked_id(id)?), whole(Bytes::new())).await
    }

    /// Ends a context.
    pub async fn delete_context(&self, id: &str) -> Result<(), EngineError> {
        let _in_use = self.activity.begin();
        self.connection.act(Method::DELETE, &route::context(checked_id(id)?)).await
    }

    /// Interrupts the running cell, if any.
    pub async fn interrupt_context(&self, id: &str) -> Result<(), EngineError> {
        let _in_use = self.activity.begin();
        self.connection.act(Method::POST, &route::context_interrupt(checked_id(id)?)).await
    }

    /// Gives the context a new kernel.
    pub async fn restart_context(&self, id: &str) -> Result<ContextInfo, EngineError> {
        let _in_use = self.activity.begin();
        self.connection.call(Method::POST, &route::context_restart(checked_id(id)?), whole(Bytes::new())).await
    }

    /// Runs a cell.
    pub async fn run(&self, context_id: &str, request: &RunRequest) -> Result<FrameStream, EngineError> {
        let in_use = self.activity.begin();
        let response = self
            .connection
            .begin(Method::POST, &route::context_run(checked_id(context_id)?), json_body(request)?)
            .await?;
        Ok(FrameStream::new(Arc::clone(&self.connection), response.into_body(), in_use))
    }

    /// Reads a file.
    pub async fn read_file(&self, path: &str) -> Result<FileContent, EngineError> {
        let in_use = self.activity.begin();
        let response = self.connection.begin(Method::GET, &with_path(route::FILES, path), whole(Bytes::new())).await?;
        let length = response.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        Ok(FileContent {
            length,
            bytes: Box::pin(file_bytes(Arc::clone(&self.connection), response.into_body(), in_use)),
        })
    }

    /// Writes a file whole; an error of `body` leaves the old file as it was.
    pub async fn write_file<S, E>(&self, path: &str, body: S) -> Result<FileWritten, EngineError>
    where
        S: Stream<Item = Result<Bytes, E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        let _in_use = self.activity.begin();
        let cut: Arc<Mutex<Option<String>>> = Arc::default();
        let noted = Arc::clone(&cut);
        let body = body.map(move |piece| {
            piece.map_err(|error| {
                *noted.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
                error.to_string()
            })
        });
        let written = async {
            let response = self.connection.send(Method::PUT, &with_path(route::FILES, path), streamed(body)).await?;
            self.connection.read_json(response).await
        };
        let written = written.await;
        match cut.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(EngineError::BadRequest(format!("upload was cut: {error}"))),
            None => written,
        }
    }

    /// Deletes a file or a directory with all that is in it; none is fine.
    pub async fn delete_file(&self, path: &str) -> Result<(), EngineError> {
        let _in_use = self.activity.begin();
        self.connection.act(Method::DELETE, &with_path(route::FILES, path)).await
    }

    /// Lists a directory.
    pub async fn list_files(&self, path: &str) -> Result<FileList, EngineError> {
        let _in_use = self.activity.begin();
        self.connection.call(Method::GET, &with_path(route::FILE_LIST, path), whole(Bytes::new())).await
    }

    /// Describes a file; links are not followed.
    pub async fn stat_file(&self, path: &str) -> Result<FileEntry, EngineError> {
        let _in_use = self.activity.begin();
        self.connection.call(Method::GET, &with_path(route::FILE_STAT, path), whole(Bytes::new())).await
    }

    /// Answers while the agent is alive, or fails after `deadline`. Does not count as use.
    pub async fn health(&self, deadline: Duration) -> Result<(), EngineError> {
        tokio::time::timeout(deadline, self.connection.act(Method::GET, route::HEALTH))
            .await
            .unwrap_or_else(|_| Err(EngineError::Internal(format!("no heartbeat within {} ms", deadline.as_millis()))))
    }

    /// Waits until a program in the sandbox connects to the proxy listener; the stream then carries that connection. Does not count as use.
    pub async fn egress_accept(&self) -> Result<EgressStream, EngineError> {
        self.connection.accept_egress(route::EGRESS_ACCEPT).await
    }

    /// Waits until the sandbox has ended or was let go, and gives the reason.
    pub async fn closed(&self) -> Arc<str> {
        self.connection.closed().await
    }
}

fn file_bytes(
    connection: Arc<Connection>,
    body: Incoming,
    in_use: InUse,
) -> impl Stream<Item = Result<Bytes, EngineError>> + Send {
    futures::stream::unfold(Some((connection, body, in_use)), |state| async move {
        let (connection, mut body, in_use) = state?;
        loop {
            let piece = tokio::select! {
                biased;
                piece = body.frame() => piece?,
                reason = connection.closed() => return Some((Err(connection.gone(&reason)), None)),
            };
            match piece {
                Ok(piece) => {
                    if let Ok(bytes) = piece.into_data() {
                        return Some((Ok(bytes), Some((connection, body, in_use))));
                    }
                }
                Err(error) => return Some((Err(connection.cut(&error).await), None)),
            }
        }
    })
}

fn with_path(route: &str, path: &str) -> String {
    let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("path", path).finish();
    format!("{route}?{query}")
}

/// Ids go into the path of a request: what is no id cannot be one of a context.
fn checked_id(id: &str) -> Result<&str, EngineError> {
    if is_safe_id(id) {
        Ok(id)
    } else {
        Err(EngineError::NotFound("context not found: the id is malformed".to_owned()))
    }
}

fn is_safe_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_ids_cannot_leave_their_place() {
        assert_eq!(with_path(route::FILES, "/a b&c=é\n"), "/files?path=%2Fa+b%26c%3D%C3%A9%0A");
        assert!(checked_id("0b9a-_Z").is_ok());
        for id in ["", "../health", "a/b", "a?b", "é", &"a".repeat(65)] {
            assert!(checked_id(id).is_err(), "{id}");
        }
    }
}
