//! Streams of frames, and the pipes whose bytes they carry.

use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream::poll_fn;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::pipe2;
use pandastack_guest_protocol::frame::{self, Kind};
use serde::Serialize;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

/// Capacity asked for pipes of programs, in bytes. Also the most that can be in a pipe when its writer ends.
pub(crate) const PIPE_CAPACITY: usize = 1 << 20;

/// Longest payload of an output frame, in bytes.
const CHUNK: usize = 128 << 10;

/// Chunks that wait for the connection.
const CHUNKS: usize = 4;

/// A streamed answer and the end that feeds it.
pub(crate) fn stream() -> (Outbox, Response) {
    let (sender, mut receiver) = mpsc::channel::<Bytes>(CHUNKS);
    let body = poll_fn(move |context| receiver.poll_recv(context).map(|chunk| chunk.map(Ok::<_, Infallible>)));
    (Outbox { sender, frames: Vec::new() }, Body::from_stream(body).into_response())
}

/// Frames on their way into an answer. While some wait, nothing more should be read: so a slow reader slows the program.
#[derive(Debug)]
pub(crate) struct Outbox {
    sender: mpsc::Sender<Bytes>,
    /// Frames that the connection has not taken yet.
    pub(crate) frames: Vec<u8>,
}

impl Outbox {
    /// True while frames wait for the connection.
    pub(crate) fn is_full(&self) -> bool {
        !self.frames.is_empty()
    }

    /// True once the engine has reset the stream.
    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Hands over what waits, or waits for the stream to be reset. False once it is. Can be cancelled.
    pub(crate) async fn flush(&mut self) -> bool {
        if !self.is_full() {
            self.sender.closed().await;
            return false;
        }
        match self.sender.reserve().await {
            Ok(permit) => {
                permit.send(std::mem::take(&mut self.frames).into());
                true
            }
            Err(_) => false,
        }
    }

    /// Hands over the last frames, however slow the reader, without being waited for.
    pub(crate) fn finish(self) {
        tokio::spawn(async move { self.sender.send(self.frames.into()).await });
    }
}

/// Appends a frame with a JSON payload.
pub(crate) fn append_json(kind: Kind, payload: &impl Serialize, frames: &mut Vec<u8>) {
    match serde_json::to_vec(payload) {
        Ok(payload) => frame::encode(kind, &payload, frames),
        Err(error) => crate::log::line(&format!("cannot encode a frame: {error}")),
    }
}

/// The agent's end of standard output or error of a program.
pub(crate) struct Pipe {
    kind: Kind,
    /// `None` after the end of the stream.
    near: Option<AsyncFd<OwnedFd>>,
    buffer: Box<[u8]>,
    /// Frames that were read but not yet taken.
    frames: Vec<u8>,
}

impl Pipe {
    /// A pipe with a large buffer; gives the program's end too.
    pub(crate) fn new(kind: Kind) -> io::Result<(Self, OwnedFd)> {
        let (near, far) = pipe2(OFlag::O_CLOEXEC)?;
        fcntl(&near, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        // A smaller buffer is slower, not wrong.
        let _ = fcntl(&near, FcntlArg::F_SETPIPE_SZ(PIPE_CAPACITY as i32));
        // SAFETY: an owned descriptor, which is closed only after the registration is gone.
        let near = unsafe { AsyncFd::register_with_interest(near, Interest::READABLE) }?;
        Ok((Self { kind, near: Some(near), buffer: vec![0; CHUNK].into(), frames: Vec::new() }, far))
    }

    pub(crate) fn is_open(&self) -> bool {
        self.near.is_some()
    }

    /// Waits until something was read, or the end came. Waits for ever behind the end. Nothing is lost if it is cancelled.
    pub(crate) async fn fill(&mut self) {
        let Some(near) = &self.near else { return std::future::pending().await };
        loop {
            let Ok(mut ready) = near.readable().await else { break };
            match ready.try_io(|near| read_frame(near.get_ref(), self.kind, &mut self.buffer, &mut self.frames)) {
                Ok(Ok(length)) if length > 0 => return,
                Ok(_) => break,
                Err(_would_block) => {}
            }
        }
        self.near = None;
    }

    /// Moves the frames that were read to the end of `frames`.
    pub(crate) fn take(&mut self, frames: &mut Vec<u8>) {
        if frames.is_empty() {
            std::mem::swap(frames, &mut self.frames);
        } else {
            frames.append(&mut self.frames);
        }
    }

    /// Moves all that was read or is in the pipe to the end of `frames`, without waiting. Asks the pipe itself, not the event queue,
    /// which may not have heard of it yet.
    pub(crate) fn drain(&mut self, frames: &mut Vec<u8>) {
        self.take(frames);
        let Some(near) = &self.near else { return };
        let mut total = 0;
        while total < PIPE_CAPACITY {
            match read_frame(near.get_ref(), self.kind, &mut self.buffer, frames) {
                Ok(0) | Err(_) => return,
                Ok(length) => total += length,
            }
        }
    }
}

/// Reads once and appends the bytes as a frame. Gives their number.
fn read_frame(near: &OwnedFd, kind: Kind, buffer: &mut [u8], frames: &mut Vec<u8>) -> io::Result<usize> {
    let length = loop {
        match nix::unistd::read(near, buffer) {
            Err(Errno::EINTR) => {}
            outcome => break outcome?,
        }
    };
    if let Some(bytes @ [_, ..]) = buffer.get(..length) {
        frame::encode(kind, bytes, frames);
    }
    Ok(length)
}
