//! Frames of a command or cell, ready for a response.

use std::future::Future;
use std::time::Duration;

use axum::body::{Body, Bytes};
use pandastack_guest_protocol::frame::Kind;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::error::EngineError;
use crate::guest::FrameStream;

/// Frames that are read ahead of a slow client; then the sandbox has to wait.
const READ_AHEAD: usize = 16;

/// Idle time after which a sign of life is sent.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// A frame, or why there are no more.
pub(crate) type Frame = Result<(Kind, Bytes), EngineError>;

/// Where frames come from.
pub(crate) trait Frames: Send + 'static {
    /// The next frame; `None` after the last.
    fn next(&mut self) -> impl Future<Output = Option<Frame>> + Send;
}

impl Frames for FrameStream {
    async fn next(&mut self) -> Option<Frame> {
        FrameStream::next(self).await
    }
}

/// Turns frames into the bytes of a response.
pub(crate) trait Encoder: Send + 'static {
    /// Appends what a frame says. False: it was the last.
    fn encode(&mut self, frame: Frame, out: &mut Vec<u8>) -> bool;

    /// Appends the end of a stream that was cut.
    fn encode_cut(&mut self, out: &mut Vec<u8>);

    /// What says that all is well.
    fn keepalive(&self) -> &'static [u8];
}

/// Reads frames in a task of its own, so that waiting for one can be given up without losing any. Dropping it drops the frames.
pub(crate) struct Pump<E> {
    frames: mpsc::Receiver<Frame>,
    encoder: E,
    ended: bool,
}

impl<E: Encoder> Pump<E> {
    /// Starts to read.
    pub(crate) fn start(mut frames: impl Frames, encoder: E) -> Self {
        let (sender, receiver) = mpsc::channel(READ_AHEAD);
        tokio::spawn(async move {
            loop {
                let next = tokio::select! {
                    next = frames.next() => next,
                    () = sender.closed() => return,
                };
                let Some(frame) = next else { return };
                if sender.send(frame).await.is_err() {
                    return;
                }
            }
        });
        Self { frames: receiver, encoder, ended: false }
    }

    /// The body of the response.
    pub(crate) fn into_body(self) -> Body {
        Body::from_stream(futures::stream::unfold(self, |mut pump| async move {
            let bytes = pump.next_bytes().await?;
            Some((Ok::<_, std::convert::Infallible>(bytes), pump))
        }))
    }

    /// All that is there, encoded; a sign of life if nothing comes for a while.
    pub(crate) async fn next_bytes(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        let mut out = Vec::new();
        while out.is_empty() && !self.ended {
            let mut ready = Vec::new();
            match timeout(KEEPALIVE, self.frames.recv_many(&mut ready, READ_AHEAD)).await {
                Err(_) => out.extend_from_slice(self.encoder.keepalive()),
                Ok(0) => {
                    self.encoder.encode_cut(&mut out);
                    self.ended = true;
                }
                Ok(_) => self.encode_all(ready, &mut out),
            }
        }
        Some(out.into())
    }

    fn encode_all(&mut self, ready: Vec<Frame>, out: &mut Vec<u8>) {
        for frame in merge(ready) {
            if !self.encoder.encode(frame, out) {
                self.ended = true;
                return;
            }
        }
    }
}

/// Joins pieces of output that follow each other.
fn merge(ready: Vec<Frame>) -> Vec<Frame> {
    let mut merged: Vec<Frame> = Vec::with_capacity(ready.len());
    for frame in ready {
        match (merged.last_mut(), &frame) {
            (Some(Ok((last, before))), Ok((kind, bytes)))
                if last == kind && is_output(*kind) && before.len() + bytes.len() <= 64 << 10 =>
            {
                *before = [&before[..], &bytes[..]].concat().into();
            }
            _ => merged.push(frame),
        }
    }
    merged
}

fn is_output(kind: Kind) -> bool {
    matches!(kind, Kind::Stdout | Kind::Stderr)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Frames from a list; then the end, or nothing at all.
    pub(crate) struct Scripted {
        pub frames: std::vec::IntoIter<Frame>,
        pub hangs: bool,
    }

    impl Scripted {
        pub(crate) fn new(frames: Vec<Frame>) -> Self {
            Self { frames: frames.into_iter(), hangs: false }
        }
    }

    impl Frames for Scripted {
        async fn next(&mut self) -> Option<Frame> {
            match self.frames.next() {
                None if self.hangs => std::future::pending().await,
                next => next,
            }
        }
    }

    pub(crate) fn frame(kind: Kind, payload: impl AsRef<[u8]>) -> Frame {
        Ok((kind, Bytes::copy_from_slice(payload.as_ref())))
    }

    /// Everything a client would read.
    pub(crate) async fn collect(mut pump: Pump<impl Encoder>) -> String {
        let mut text = Vec::new();
        while let Some(bytes) = pump.next_bytes().await {
            text.extend_from_slice(&bytes);
        }
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn only_neighbours_of_one_stream_are_joined() {
        let frames = vec![
            frame(Kind::Stdout, "a"),
            frame(Kind::Stdout, "b"),
            frame(Kind::Stderr, "c"),
            frame(Kind::Stdout, "d"),
            frame(Kind::Exit, "{}"),
        ];
        let merged: Vec<_> = merge(frames).into_iter().map(Result::unwrap).collect();
        assert_eq!(merged.iter().map(|(_, bytes)| &bytes[..]).collect::<Vec<_>>(), [&b"ab"[..], b"c", b"d", b"{}"]);
    }
}
