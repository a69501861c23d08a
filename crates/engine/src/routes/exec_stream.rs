//! The events of `exec/stream`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pandastack_guest_protocol::frame::Kind;
use pandastack_protocol::error::ErrorCode;
use pandastack_protocol::exec::{Chunk, ExitEvent};
use serde_json::json;

use super::exec::{CUT, parse_exit, timeout_text};
use super::output::{Decoder, Encoder, Frame, Piece, sse};
use crate::error::EngineError;

/// Encodes a command's frames as `stdout`, `stderr` and, last, `exit` or `error`.
pub(super) struct ExecEncoder {
    stdout: Decoder,
    stderr: Decoder,
    timeout_ms: Option<u64>,
}

impl ExecEncoder {
    pub(super) fn new(timeout_ms: Option<u64>) -> Self {
        Self { stdout: Decoder::default(), stderr: Decoder::default(), timeout_ms }
    }

    /// The rest of the output comes before the last event.
    fn finish_output(&mut self, out: &mut Vec<u8>) {
        encode_chunk("stdout", self.stdout.finish(), out);
        encode_chunk("stderr", self.stderr.finish(), out);
    }

    fn fail(&mut self, error: &str, code: ErrorCode, out: &mut Vec<u8>) {
        self.finish_output(out);
        sse::encode("error", &json!({"code": code, "error": error}), out);
    }

    fn fail_with(&mut self, error: &EngineError, out: &mut Vec<u8>) {
        self.fail(&error.to_string(), error.code(), out);
    }

    fn exit(&mut self, json: &[u8], out: &mut Vec<u8>) {
        match parse_exit(json) {
            Ok(exit) if exit.timed_out => self.fail(&timeout_text(self.timeout_ms), ErrorCode::SandboxTimeout, out),
            Ok(exit) => {
                self.finish_output(out);
                sse::encode("exit", &ExitEvent { exit_code: exit.exit_code, duration_ms: Some(exit.duration_ms) }, out);
            }
            Err(error) => self.fail_with(&error, out),
        }
    }
}

impl Encoder for ExecEncoder {
    fn encode(&mut self, frame: Frame, out: &mut Vec<u8>) -> bool {
        match frame {
            Ok((Kind::Stdout, bytes)) => encode_chunk("stdout", self.stdout.push(&bytes), out),
            Ok((Kind::Stderr, bytes)) => encode_chunk("stderr", self.stderr.push(&bytes), out),
            Ok((Kind::Exit, json)) => {
                self.exit(&json, out);
                return false;
            }
            Ok(_) => {}
            Err(error) => {
                self.fail_with(&error, out);
                return false;
            }
        }
        true
    }

    fn encode_cut(&mut self, out: &mut Vec<u8>) {
        self.fail(CUT, ErrorCode::Interrupted, out);
    }

    fn keepalive(&self) -> &'static [u8] {
        sse::KEEPALIVE
    }
}

fn encode_chunk(event: &str, piece: Piece, out: &mut Vec<u8>) {
    if !piece.text.is_empty() {
        sse::encode(event, &Chunk { chunk: piece.text, base64: piece.raw.map(|raw| STANDARD.encode(raw)) }, out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::output::Pump;
    use super::super::output::tests::{Scripted, collect, frame};
    use super::*;

    async fn stream(frames: Vec<Frame>) -> String {
        collect(Pump::start(Scripted::new(frames), ExecEncoder::new(Some(1500)))).await
    }

    #[tokio::test]
    async fn output_then_exit() {
        let text = stream(vec![
            frame(Kind::Stdout, b"a\xc3"),
            frame(Kind::Stderr, b"e\xff"),
            frame(Kind::Stdout, b"\xa9\n\xe2\x82"),
            frame(Kind::Exit, r#"{"exit_code":7,"duration_ms":3}"#),
            frame(Kind::Stdout, "never"),
        ]);
        let expected = "event: stdout\ndata: {\"chunk\":\"a\"}\n\n\
            event: stderr\ndata: {\"chunk\":\"e\\ufffd\",\"base64\":\"Zf8=\"}\n\n\
            event: stdout\ndata: {\"chunk\":\"\\u00e9\\n\"}\n\n\
            event: stdout\ndata: {\"chunk\":\"\\ufffd\",\"base64\":\"4oI=\"}\n\n\
            event: exit\ndata: {\"exit_code\":7,\"duration_ms\":3}\n\n";
        assert_eq!(text.await, expected);
    }

    #[tokio::test]
    async fn time_limits_failures_and_cuts_are_errors_after_the_output() {
        let said = || frame(Kind::Stdout, "x");
        for (last, error) in [
            (
                vec![frame(Kind::Exit, r#"{"exit_code":143,"timed_out":true,"duration_ms":1500}"#)],
                "{\"code\":\"sandbox_timeout\",\"error\":\"command timeout after 1.5s\"}",
            ),
            (
                vec![Err(EngineError::SandboxGone { id: "i".into(), reason: "deleted".into() })],
                "{\"code\":\"sandbox_gone\",\"error\":\"sandbox is gone: i: deleted\"}",
            ),
            (
                vec![],
                "{\"code\":\"interrupted\",\"error\":\"the connection to the sandbox ended before the command did\"}",
            ),
        ] {
            let text = stream(std::iter::once(said()).chain(last).collect()).await;
            assert_eq!(text, format!("event: stdout\ndata: {{\"chunk\":\"x\"}}\n\nevent: error\ndata: {error}\n\n"));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_kept_alive() {
        let mut frames = Scripted::new(vec![frame(Kind::Stdout, "x")]);
        frames.hangs = true;
        let mut pump = Pump::start(frames, ExecEncoder::new(None));
        assert!(pump.next_bytes().await.unwrap().starts_with(b"event: stdout"));
        assert_eq!(&pump.next_bytes().await.unwrap()[..], b": ka\n\n");
        assert_eq!(&pump.next_bytes().await.unwrap()[..], b": ka\n\n");
    }
}
