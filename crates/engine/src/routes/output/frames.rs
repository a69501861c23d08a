//! Frames of a command or cell, ready for a response.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use pandastack_guest_protocol::frame::Kind;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

use crate::error::EngineError;
use crate::guest::FrameStream;

/// Frames, and bytes of them, that are read ahead of a slow client; then the sandbox has to wait.
const READ_AHEAD: usize = 16;
const READ_AHEAD_BYTES: u32 = 4 << 20;

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
    frames: mpsc::Receiver<Ahead>,
    encoder: E,
    ended: bool,
}

impl<E: Encoder> Pump<E> {
    /// Starts to read.
    pub(crate) fn start(frames: impl Frames, encoder: E) -> Self {
        let (sender, receiver) = mpsc::channel(READ_AHEAD);
        tokio::spawn(async move {
            tokio::select! {
                () = read_ahead(frames, &sender) => {}
                () = sender.closed() => {}
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

    fn encode_all(&mut self, ready: Vec<Ahead>, out: &mut Vec<u8>) {
        let (frames, _room): (Vec<Frame>, Vec<_>) = ready.into_iter().unzip();
        for frame in merge(frames) {
            if !self.encoder.encode(frame, out) {
                self.ended = true;
                return;
            }
        }
    }
}

/// A frame that was read ahead, and the room it takes until it is encoded.
type Ahead = (Frame, Option<OwnedSemaphorePermit>);

async fn read_ahead(mut frames: impl Frames, sender: &mpsc::Sender<Ahead>) {
    let room = Arc::new(Semaphore::new(READ_AHEAD_BYTES as usize));
    while let Some(frame) = frames.next().await {
        // A frame that is longer than all the room waits until it is alone.
        let length = frame.as_ref().map_or(0, |(_, bytes)| u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        let taken = Arc::clone(&room).acquire_many_owned(length.min(READ_AHEAD_BYTES)).await.ok();
        if sender.send((frame, taken)).await.is_err() {
            return;
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

    /// Counts the frames that were taken.
    struct Flood(Arc<std::sync::atomic::AtomicUsize>);

    impl Frames for Flood {
        async fn next(&mut self) -> Option<Frame> {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Some(frame(Kind::Result, vec![b'x'; 3 << 20]))
        }
    }

    #[tokio::test]
    async fn large_frames_are_not_read_ahead_of_a_client_that_does_not_read() {
        let taken = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let (sender, mut receiver) = mpsc::channel(READ_AHEAD);
        let counted = Arc::clone(&taken);
        let reading = tokio::spawn(async move { read_ahead(Flood(counted), &sender).await });
        for expected in 1..4 {
            let (_frame, _room) = receiver.recv().await.unwrap();
            tokio::task::yield_now().await;
            assert!(taken.load(std::sync::atomic::Ordering::Relaxed) <= expected + 1);
        }
        reading.abort();
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
