//! Frames of a cell as the events a client sees.

use pandastack_guest_protocol::context::{ClearFrame, End, EndStatus, ErrorFrame, ResultFrame};
use pandastack_guest_protocol::frame::Kind;
use pandastack_protocol::code_context::{ExecutionError, ExecutionEvent, ExecutionStatus};
use pandastack_protocol::error::ErrorCode;
use serde::de::DeserializeOwned;

use super::output::{Decoder, Encoder, Frame};
use crate::error::EngineError;
use crate::guest::read_json;

/// What is said when the frames stop without a last one.
pub(super) const CUT: &str = "the connection to the sandbox ended before the cell did";

/// Turns frames into events, in order; text is decoded per stream.
#[derive(Debug, Default)]
pub(super) struct EventReader {
    stdout: Decoder,
    stderr: Decoder,
}

impl EventReader {
    /// The events of a frame.
    pub(super) fn read(&mut self, frame: Frame) -> Vec<ExecutionEvent> {
        match frame {
            Ok((Kind::Stdout, bytes)) => stdout(self.stdout.push(&bytes).text).into_iter().collect(),
            Ok((Kind::Stderr, bytes)) => stderr(self.stderr.push(&bytes).text).into_iter().collect(),
            Ok((Kind::End, json)) => self.last(parse::<End>(&json).map(end)),
            Ok((Kind::Result, json)) => self.one(parse::<ResultFrame>(&json).map(result)),
            Ok((Kind::Clear, json)) => {
                self.one(parse::<ClearFrame>(&json).map(|clear| ExecutionEvent::Clear { wait: clear.wait }))
            }
            Ok((Kind::Error, json)) => self.one(parse::<ErrorFrame>(&json).map(raised)),
            Ok((Kind::Exit | Kind::Failure, _)) => {
                self.last(Err(EngineError::Internal("the sandbox broke the protocol".to_owned())))
            }
            Err(error) => self.last(Err(error)),
        }
    }

    /// The events of a stream that was cut.
    pub(super) fn cut(&mut self) -> Vec<ExecutionEvent> {
        self.finish(ExecutionEvent::Failure { code: ErrorCode::Interrupted, error: CUT.to_owned() })
    }

    fn one(&mut self, event: Result<ExecutionEvent, EngineError>) -> Vec<ExecutionEvent> {
        match event {
            Ok(event) => vec![event],
            Err(_) => self.last(event),
        }
    }

    fn last(&mut self, event: Result<ExecutionEvent, EngineError>) -> Vec<ExecutionEvent> {
        self.finish(
            event.unwrap_or_else(|error| ExecutionEvent::Failure { code: error.code(), error: error.to_string() }),
        )
    }

    fn finish(&mut self, last: ExecutionEvent) -> Vec<ExecutionEvent> {
        let rest = [stdout(self.stdout.finish().text), stderr(self.stderr.finish().text), Some(last)];
        rest.into_iter().flatten().collect()
    }
}

/// True for the last event of a cell.
pub(super) fn is_last(event: &ExecutionEvent) -> bool {
    matches!(event, ExecutionEvent::End { .. } | ExecutionEvent::Failure { .. })
}

fn stdout(text: String) -> Option<ExecutionEvent> {
    (!text.is_empty()).then_some(ExecutionEvent::Stdout { text })
}

fn stderr(text: String) -> Option<ExecutionEvent> {
    (!text.is_empty()).then_some(ExecutionEvent::Stderr { text })
}

fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, EngineError> {
    read_json("frame of the sandbox", json)
}

fn result(frame: ResultFrame) -> ExecutionEvent {
    ExecutionEvent::Result {
        data: frame.data,
        is_main: frame.is_main,
        display_id: frame.display_id,
        update: frame.update,
    }
}

fn raised(frame: ErrorFrame) -> ExecutionEvent {
    let error = ExecutionError { name: frame.name, value: frame.value, traceback: frame.traceback, line: frame.line };
    ExecutionEvent::Error { text: frame.text, error }
}

fn end(frame: End) -> ExecutionEvent {
    let status = match frame.status {
        EndStatus::Ok => ExecutionStatus::Ok,
        EndStatus::Error => ExecutionStatus::Error,
        EndStatus::Interrupted => ExecutionStatus::Interrupted,
        EndStatus::TimedOut => ExecutionStatus::TimedOut,
        EndStatus::KernelDied => ExecutionStatus::KernelDied,
    };
    let End { execution_count, exit_code, duration_ms, restarted, .. } = frame;
    // A stream carries all of the output; clients keep what they want of it.
    ExecutionEvent::End { status, execution_count, exit_code, duration_ms, restarted, truncated: false }
}

/// Encodes events as lines of JSON.
#[derive(Debug, Default)]
pub(super) struct NdjsonEncoder {
    reader: EventReader,
}

impl Encoder for NdjsonEncoder {
    fn encode(&mut self, frame: Frame, out: &mut Vec<u8>) -> bool {
        let events = self.reader.read(frame);
        append(&events, out);
        !events.last().is_some_and(is_last)
    }

    fn encode_cut(&mut self, out: &mut Vec<u8>) {
        append(&self.reader.cut(), out);
    }

    fn keepalive(&self) -> &'static [u8] {
        b"{\"type\":\"keepalive\"}\n"
    }
}

fn append(events: &[ExecutionEvent], out: &mut Vec<u8>) {
    for event in events {
        // Events are maps of strings and numbers: they always serialise, and a vector always takes them.
        if serde_json::to_writer(&mut *out, event).is_ok() {
            out.push(b'\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::output::Pump;
    use super::super::output::tests::{Scripted, collect, frame};
    use super::*;

    async fn lines(frames: Vec<Frame>) -> Vec<serde_json::Value> {
        let text = collect(Pump::start(Scripted::new(frames), NdjsonEncoder::default())).await;
        assert!(text.ends_with('\n'));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[tokio::test]
    async fn every_frame_becomes_a_line() {
        let lines = lines(vec![
            frame(Kind::Stdout, b"a\xc3"),
            frame(Kind::Result, r#"{"data":{"text/plain":"1"},"is_main":true,"display_id":"d"}"#),
            frame(Kind::Clear, r#"{"wait":true}"#),
            frame(Kind::Error, r#"{"name":"E","value":"v","text":"E: v","traceback":["E: v"],"line":3}"#),
            frame(Kind::End, r#"{"status":"error","execution_count":4,"exit_code":1,"duration_ms":5}"#),
        ]);
        let expected = serde_json::json!([
            {"type": "stdout", "text": "a"},
            {"type": "result", "data": {"text/plain": "1"}, "is_main": true, "display_id": "d", "update": false},
            {"type": "clear", "wait": true},
            {"type": "error", "text": "E: v", "name": "E", "value": "v", "traceback": ["E: v"], "line": 3},
            {"type": "stdout", "text": "\u{fffd}"},
            {"type": "end", "status": "error", "execution_count": 4, "exit_code": 1, "duration_ms": 5, "restarted": false, "truncated": false},
        ]);
        assert_eq!(serde_json::Value::from(lines.await), expected);
    }

    #[tokio::test]
    async fn a_stream_always_ends_in_end_or_failure() {
        let cut = lines(vec![frame(Kind::Stdout, "x")]).await;
        assert_eq!(cut[1], serde_json::json!({"type": "failure", "code": "interrupted", "error": CUT}));
        let broken = lines(vec![frame(Kind::Result, "{"), frame(Kind::Stdout, "never")]).await;
        assert_eq!((broken.len(), &broken[0]["code"]), (1, &serde_json::json!("server")));
        let gone = lines(vec![Err(EngineError::SandboxGone { id: "i".into(), reason: "deleted".into() })]).await;
        assert_eq!(
            gone[0],
            serde_json::json!({"type": "failure", "code": "sandbox_gone", "error": "sandbox is gone: i: deleted"})
        );
    }
}
