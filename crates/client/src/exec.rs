//! Commands.

use std::time::Duration;

use pandastack_protocol::error::ErrorCode;
pub use pandastack_protocol::exec::ExecEvent;
use pandastack_protocol::exec::{Chunk, ExecRequest, ExecResult, ExitEvent};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::events::{Decoder, EventStream, Item, pump};
use crate::http::request::{Limit, Request, Rule};
use crate::http::sse::{SseItem, SseReader};
use crate::http::{Client, answer};

/// How much longer than a command's own time limit the client waits for the answer.
pub(crate) const MARGIN: Duration = Duration::from_secs(10);

/// How long a command without a time limit may be silent before the server begins its answer.
const FIRST_OUTPUT: Duration = Duration::from_secs(300);

/// Output of a running command; its last event is [`ExecEvent::Exit`].
pub type ExecStream = EventStream<ExecEvent>;

impl Client {
    /// Runs a command and waits for its end. A non-zero exit code is a result.
    ///
    /// # Errors
    /// `sandbox_timeout` with the output so far if the command reached its own limit.
    pub async fn exec(&self, sandbox: &str, command: &ExecRequest) -> Result<ExecResult> {
        let limit = own_limit(command)?.map_or(Limit::Client, |own| Limit::AtLeast(own.saturating_add(MARGIN)));
        let request = Request::post(&["sandboxes", sandbox, "exec"]).json(command)?;
        self.json(request.rule(Rule::WarmUp).limit(limit).runs_code()).await
    }

    /// Runs a command and streams its output.
    ///
    /// # Errors
    /// As [`Self::exec`] before the first event; later the stream's last item is the error.
    pub async fn exec_stream(&self, sandbox: &str, command: &ExecRequest) -> Result<ExecStream> {
        let limit = own_limit(command)?.map(|own| self.config().timeout.max(own.saturating_add(MARGIN)));
        let request = Request::post(&["sandboxes", sandbox, "exec", "stream"]).json(command)?;
        let request = request.accept("text/event-stream").rule(Rule::WarmUp).runs_code();
        let deadline = self.stream_deadline(limit);
        // A server may begin its answer only with the first output.
        let response = self.send(request.limit(Limit::Exactly(limit.unwrap_or(FIRST_OUTPUT)))).await?;
        Ok(pump(self, response, ExecDecoder::default(), deadline))
    }
}

fn own_limit(command: &ExecRequest) -> Result<Option<Duration>> {
    let Some(seconds) = &command.timeout_seconds else { return Ok(None) };
    let limit =
        seconds.as_f64().filter(|seconds| *seconds > 0.0).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    limit
        .map(Some)
        .ok_or_else(|| Error::option(format!("a time limit must be a positive number of seconds: `{seconds}`")))
}

#[derive(Default)]
struct ExecDecoder(SseReader);

impl Decoder for ExecDecoder {
    type Event = ExecEvent;

    fn push(&mut self, piece: &[u8]) -> Result<()> {
        self.0.push(piece)
    }

    fn next(&mut self) -> Option<Result<Item<ExecEvent>>> {
        loop {
            let item = self.0.next()?;
            if let Some(item) = item_of(item) {
                return Some(item);
            }
        }
    }

    fn finish(&mut self) -> Option<Result<Item<ExecEvent>>> {
        // An event that the end of the stream cut is none: half of its data would pass for output.
        self.0.finish().filter(is_whole).and_then(item_of)
    }
}

fn is_whole(item: &SseItem) -> bool {
    matches!(item, SseItem::Event { data, .. } if serde_json::from_str::<serde_json::Map<String, Value>>(data).is_ok())
}

/// None for events that this version does not know.
fn item_of(item: SseItem) -> Option<Result<Item<ExecEvent>>> {
    let (name, data) = match item {
        SseItem::Comment => return Some(Ok(Item::Alive)),
        SseItem::Event { name, data } => (name, data),
    };
    Some(match name.as_str() {
        "stdout" => Ok(Item::Event(output(data, |text, base64| ExecEvent::Stdout { text, base64 }))),
        "stderr" => Ok(Item::Event(output(data, |text, base64| ExecEvent::Stderr { text, base64 }))),
        "exit" => exit(&data).map(Item::Last),
        "error" => Err(failure(&data)),
        _ => return None,
    })
}

/// Data that is no JSON object is the text itself.
fn output(data: String, make: impl FnOnce(String, Option<String>) -> ExecEvent) -> ExecEvent {
    match serde_json::from_str::<Chunk>(&data) {
        Ok(Chunk { chunk, base64 }) => make(chunk, base64),
        Err(_) => make(data, None),
    }
}

fn exit(data: &str) -> Result<ExecEvent> {
    let exit: ExitEvent = serde_json::from_str(data).map_err(|error| {
        Error::new(ErrorCode::Interrupted, "the exit event cannot be understood").with_source(error)
    })?;
    Ok(ExecEvent::Exit { exit_code: exit.exit_code, duration_ms: exit.duration_ms })
}

fn failure(data: &str) -> Error {
    let body: Value = serde_json::from_str(data).unwrap_or(Value::Null);
    let message = body["error"].as_str().unwrap_or(data);
    let told = serde_json::from_value(body["code"].clone()).ok();
    let guessed = if answer::speaks_of_timeout(message) { ErrorCode::SandboxTimeout } else { ErrorCode::Server };
    Error::new(told.unwrap_or(guessed), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str) -> (Vec<ExecEvent>, Option<ErrorCode>) {
        let mut decoder = ExecDecoder::default();
        decoder.push(text.as_bytes()).unwrap();
        let mut events = Vec::new();
        while let Some(item) = decoder.next().or_else(|| decoder.finish()) {
            match item {
                Ok(Item::Event(event) | Item::Last(event)) => events.push(event),
                Ok(Item::Alive | Item::End) => {}
                Err(error) => return (events, Some(error.code())),
            }
        }
        (events, None)
    }

    #[test]
    fn chunks_as_json_or_bare_text_and_the_exit() {
        let (events, _) = items(
            "event: stdout\ndata: {\"chunk\":\"a\\n\"}\n\nevent: x\ndata: 1\n\nevent: stderr\ndata: bare\n\nevent: exit\ndata: {\"exit_code\":7}\n",
        );
        let stdout = ExecEvent::Stdout { text: "a\n".into(), base64: None };
        let stderr = ExecEvent::Stderr { text: "bare".into(), base64: None };
        assert_eq!(events, [stdout, stderr, ExecEvent::Exit { exit_code: 7, duration_ms: None }]);
    }

    #[test]
    fn an_event_that_is_cut_is_no_output() {
        for text in [
            "event: stdout\ndata: {\"chunk\":\"ab",
            "event: stdout\ndata: wor",
            "event: stdout\ndata: 12",
            "event: error\ndata: {\"err",
        ] {
            assert_eq!(items(text), (vec![], None), "{text}");
        }
    }

    #[test]
    fn failures_have_the_right_kind() {
        assert_eq!(
            items("event: error\ndata: {\"error\":\"command timeout after 1s\"}\n\n").1,
            Some(ErrorCode::SandboxTimeout)
        );
        assert_eq!(
            items("event: error\ndata: {\"error\":\"x\",\"code\":\"sandbox_gone\"}\n\n").1,
            Some(ErrorCode::SandboxGone)
        );
        assert_eq!(items("event: error\ndata: lost\n\n").1, Some(ErrorCode::Server));
        assert_eq!(items("event: exit\ndata: 7\n\n").1, Some(ErrorCode::Interrupted));
    }
}
