//! Code contexts and the cells that run in them.

mod decode;

use std::time::Duration;

use pandastack_protocol::code_context::{
    CodeContextInfo, CreateCodeContext, ExecutionAnswer, ExecutionEvent, NDJSON, RunCode,
};
use pandastack_protocol::error::ErrorCode;
use reqwest::header;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::error::{Error, Result};
use crate::events::{EventStream, pump};
use crate::exec::MARGIN;
use crate::http::Client;
use crate::http::request::{Limit, Request, Rule};
use decode::{ExecutionDecoder, events_of, normalised};

/// What a cell shows; its last event is [`ExecutionEvent::End`].
pub type ExecutionStream = EventStream<ExecutionEvent>;

/// Time limit that servers set for a cell when none is asked for.
const SERVER_LIMIT: Duration = Duration::from_secs(30);

/// Servers without a stream answer at the end, in one piece.
const EITHER: &str = "application/x-ndjson, application/json;q=0.5";

impl Client {
    /// Creates a context. If the returned future is dropped, the server is heard to the end in the background, and a context that it
    /// made is deleted.
    ///
    /// # Errors
    /// `not_found` for an unknown sandbox, `bad_request` for an unknown language.
    pub async fn create_code_context(&self, sandbox: &str, options: &CreateCodeContext) -> Result<CodeContextInfo> {
        let request = Request::post(&["sandboxes", sandbox, "repl", "sessions"]).json(options)?;
        // A first kernel may have to start.
        let request = request.rule(Rule::WarmUp).limit(Limit::AtLeast(Duration::from_secs(60)));
        let (hand_over, arrival) = oneshot::channel();
        let (client, sandbox) = (self.clone(), sandbox.to_owned());
        tokio::spawn(async move { client.create_context_and_hand_over(&sandbox, request, hand_over).await });
        arrival.await.map_err(|_| Error::new(ErrorCode::Network, "the client was shut down"))?
    }

    async fn create_context_and_hand_over(
        self,
        sandbox: &str,
        request: Request,
        mut hand_over: oneshot::Sender<Result<CodeContextInfo>>,
    ) {
        let abandoned = request.abandoned.clone();
        let mut creation = std::pin::pin!(self.json::<CodeContextInfo>(request));
        let created = loop {
            tokio::select! {
                biased;
                created = &mut creation => break created,
                () = hand_over.closed(), if !abandoned.is_cancelled() => abandoned.cancel(),
            }
        };
        let created = created.and_then(|mut info| complete(&mut info, sandbox).map(|()| info));
        if let Err(Ok(unwanted)) = hand_over.send(created) {
            let _ = self.delete_code_context(sandbox, &unwanted.id).await;
        }
    }

    /// The contexts of a sandbox.
    ///
    /// # Errors
    /// `not_found` for an unknown sandbox.
    pub async fn list_code_contexts(&self, sandbox: &str) -> Result<Vec<CodeContextInfo>> {
        let answer: Value = self.json(Request::get(&["sandboxes", sandbox, "repl", "sessions"])).await?;
        let mut contexts: Vec<CodeContextInfo> = crate::sandbox::items(answer, &["items", "sessions"])?;
        for context in &mut contexts {
            complete(context, sandbox)?;
        }
        Ok(contexts)
    }

    /// Ends a context and its kernel.
    ///
    /// # Errors
    /// `not_found` if there is no such context.
    pub async fn delete_code_context(&self, sandbox: &str, context: &str) -> Result<()> {
        self.empty(Request::delete(&["sandboxes", sandbox, "repl", "sessions", context])).await
    }

    /// Interrupts the running cell; variables are kept.
    ///
    /// # Errors
    /// `not_found` if there is no such context; `not_supported` or `not_found` by servers that cannot.
    pub async fn interrupt_code_context(&self, sandbox: &str, context: &str) -> Result<()> {
        self.empty(Request::post(&["sandboxes", sandbox, "repl", "sessions", context, "interrupt"]).rule(Rule::Safe))
            .await
    }

    /// Replaces the kernel; variables are lost.
    ///
    /// # Errors
    /// As [`Self::interrupt_code_context`].
    pub async fn restart_code_context(&self, sandbox: &str, context: &str) -> Result<()> {
        let request = Request::post(&["sandboxes", sandbox, "repl", "sessions", context, "restart"]);
        self.empty(request.limit(Limit::AtLeast(Duration::from_secs(60)))).await
    }

    /// Runs a cell and streams what it shows. A cell is never sent twice.
    ///
    /// # Errors
    /// Before the first event; later the stream's last item is the error. A Python exception is an event, not an error.
    pub async fn run_code(&self, sandbox: &str, context: &str, cell: &RunCode) -> Result<ExecutionStream> {
        if cell.code.is_empty() {
            return Err(Error::option("there is no code to run"));
        }
        let own = cell.timeout_ms.map(Duration::from_millis);
        let patience = own.unwrap_or(SERVER_LIMIT).saturating_add(MARGIN);
        let deadline = self.stream_deadline(own.map(|_| self.config().timeout.max(patience)));
        let request = Request::post(&["sandboxes", sandbox, "repl", "sessions", context, "run"]).json(cell)?;
        let request = request.accept(EITHER).runs_code().limit(Limit::AtLeast(patience));
        let response = self.send(request.clone()).await?;
        if is_ndjson(&response) {
            return Ok(pump(self, response, ExecutionDecoder::default(), deadline));
        }
        let answer =
            self.rest_as_json(&request, response, Instant::now() + patience.max(self.config().timeout)).await?;
        let answer = normalised(answer).ok_or_else(|| not_understood(None))?;
        Ok(EventStream::of(events_of(understood(answer)?)))
    }
}

fn is_ndjson(response: &reqwest::Response) -> bool {
    let content_type = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|text| text.to_ascii_lowercase().starts_with(NDJSON))
}

fn understood(answer: Value) -> Result<ExecutionAnswer> {
    serde_json::from_value(answer).map_err(|error| not_understood(Some(error)))
}

fn not_understood(cause: Option<serde_json::Error>) -> Error {
    let error = Error::new(ErrorCode::Network, "the server's answer cannot be understood");
    match cause {
        Some(cause) => error.with_source(cause),
        None => error,
    }
}

/// Servers name a context `id`, `session_id` or both.
fn complete(info: &mut CodeContextInfo, sandbox: &str) -> Result<()> {
    if info.id.is_empty() {
        info.id = info.session_id.clone().unwrap_or_default();
    }
    if info.id.is_empty() {
        return Err(Error::new(ErrorCode::Network, "the server's answer names no code context"));
    }
    if info.sandbox_id.is_empty() {
        info.sandbox_id = sandbox.to_owned();
    }
    Ok(())
}
