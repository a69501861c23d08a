//! The frames of a command or a cell.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use pandastack_guest_protocol::exec::Failure;
use pandastack_guest_protocol::frame::{self, Kind};

use super::activity::InUse;
use super::connection::Connection;
use super::json;
use crate::error::EngineError;

/// Longest text of a failure that is passed on, in bytes.
const MAX_FAILURE: usize = 8 << 10;

/// The frames of a command or a cell. Dropping it ends the command or interrupts the cell.
pub struct FrameStream {
    connection: Arc<Connection>,
    body: Incoming,
    frames: Frames,
    ended: bool,
    _in_use: InUse,
}

impl FrameStream {
    pub(super) fn new(connection: Arc<Connection>, body: Incoming, in_use: InUse) -> Self {
        Self { connection, body, frames: Frames::default(), ended: false, _in_use: in_use }
    }

    /// The next frame. Output may come in several pieces, all other frames are whole. The last one is `Exit` or `End`, then comes
    /// `None`. A `Failure` frame is an [`EngineError::Guest`]; a stream that was cut ends in an error too. Cancel safe.
    pub async fn next(&mut self) -> Option<Result<(Kind, Bytes), EngineError>> {
        if self.ended {
            return None;
        }
        let next = self.next_frame().await;
        self.ended = matches!(next, Err(_) | Ok((Kind::Exit | Kind::End, _)));
        Some(next)
    }

    async fn next_frame(&mut self) -> Result<(Kind, Bytes), EngineError> {
        loop {
            match self
                .frames
                .next()
                .map_err(|error| EngineError::Internal(format!("the agent sent a broken stream: {error}")))?
            {
                Some((Kind::Failure, payload)) => return Err(failure(&payload)),
                Some(frame) => return Ok(frame),
                None => self.read().await?,
            }
        }
    }

    async fn read(&mut self) -> Result<(), EngineError> {
        let piece = tokio::select! {
            biased;
            piece = self.body.frame() => piece,
            reason = self.connection.closed() => return Err(self.connection.gone(&reason)),
        };
        match piece {
            Some(Ok(piece)) => {
                self.frames.push(piece.into_data().unwrap_or_default());
                Ok(())
            }
            Some(Err(error)) => Err(self.connection.cut(&error).await),
            None => Err(self.connection.cut(&"it ended without an outcome").await),
        }
    }
}

fn failure(payload: &[u8]) -> EngineError {
    match json::read::<Failure>("failure of the agent", payload) {
        Ok(mut failure) => {
            failure.error.truncate(failure.error.floor_char_boundary(MAX_FAILURE));
            EngineError::Guest(failure)
        }
        Err(error) => error,
    }
}

/// Cuts bytes into frames. Output is passed on as it comes; other frames are collected, at most [`frame::MAX_PAYLOAD`] bytes.
#[derive(Default)]
struct Frames {
    pending: BytesMut,
    /// Kind and missing bytes of the frame whose header was read.
    current: Option<(Kind, usize)>,
}

impl Frames {
    fn push(&mut self, piece: Bytes) {
        if self.pending.is_empty() {
            self.pending = piece.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
        } else {
            self.pending.extend_from_slice(&piece);
        }
    }

    fn next(&mut self) -> Result<Option<(Kind, Bytes)>, frame::FrameError> {
        loop {
            let Some((kind, missing)) = self.current else {
                let Some(header) = self.pending.first_chunk::<{ frame::HEADER }>() else { return Ok(None) };
                self.current = Some(frame::parse_header(*header)?);
                let _ = self.pending.split_to(frame::HEADER);
                continue;
            };
            let is_output = matches!(kind, Kind::Stdout | Kind::Stderr);
            if is_output && missing == 0 {
                self.current = None;
                continue;
            }
            let ready = if is_output { missing.min(self.pending.len()) } else { missing };
            if self.pending.len() < ready || (is_output && ready == 0) {
                return Ok(None);
            }
            self.current = Some((kind, missing - ready)).filter(|_| ready < missing);
            return Ok(Some((kind, self.pending.split_to(ready).freeze())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joins pieces of output, as a reader would.
    fn collect(bytes: &[u8], step: usize) -> Vec<(Kind, Vec<u8>)> {
        let mut frames = Frames::default();
        let mut all: Vec<(Kind, Vec<u8>)> = Vec::new();
        for piece in bytes.chunks(step) {
            frames.push(Bytes::copy_from_slice(piece));
            while let Some((kind, payload)) = frames.next().unwrap() {
                match all.last_mut() {
                    Some((last, joined)) if *last == kind && matches!(kind, Kind::Stdout) => {
                        joined.extend_from_slice(&payload)
                    }
                    _ => all.push((kind, payload.to_vec())),
                }
            }
        }
        all
    }

    #[test]
    fn frames_survive_any_step() {
        let mut bytes = Vec::new();
        frame::encode(Kind::Stdout, "é😀漢".as_bytes(), &mut bytes);
        frame::encode(Kind::Stderr, b"", &mut bytes);
        frame::encode(Kind::Result, &[b'r'; 300], &mut bytes);
        frame::encode(Kind::Clear, b"", &mut bytes);
        frame::encode(Kind::End, b"{}", &mut bytes);
        let expected = [
            (Kind::Stdout, "é😀漢".as_bytes().to_vec()),
            (Kind::Result, vec![b'r'; 300]),
            (Kind::Clear, Vec::new()),
            (Kind::End, b"{}".to_vec()),
        ];
        for step in [1, 2, 3, 7, 64, 4096] {
            assert_eq!(collect(&bytes, step), expected, "step {step}");
        }
    }

    #[test]
    fn output_is_passed_on_before_its_frame_is_whole() {
        let mut frames = Frames::default();
        frames.push(Bytes::from_static(&[1, 10, 0, 0, 0, b'a', b'b']));
        assert_eq!(frames.next().unwrap(), Some((Kind::Stdout, Bytes::from_static(b"ab"))));
        assert_eq!(frames.next().unwrap(), None);
    }

    #[test]
    fn unknown_kinds_and_absurd_lengths_are_refused() {
        for header in [[99, 0, 0, 0, 0], [4, 255, 255, 255, 255]] {
            let mut frames = Frames::default();
            frames.push(Bytes::copy_from_slice(&header));
            assert!(frames.next().is_err());
        }
    }
}
