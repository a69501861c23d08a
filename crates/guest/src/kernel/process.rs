//! One kernel process, seen from the agent.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use nix::sys::signal::Signal;
use pandastack_guest_protocol::frame::Kind;
use pandastack_guest_protocol::hello::Limits;
use serde::Serialize;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;
use tokio_util::codec::{Decoder, FramedRead, FramedWrite, LengthDelimitedCodec};

use super::message::{Configure, Message, Quiesce, Rehearse, codec, encode, order_codec};
use crate::identity::Environment;
use crate::output::Pipe;
use crate::process::{Namespace, kill_session};

/// How long a kernel may take for its own chores.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a kernel may take to end its helper processes: whoever makes a copy of the sandbox waits.
const QUIESCE_PATIENCE: Duration = Duration::from_millis(300);

/// How long the zygote may take to tell how a kernel ended.
const OBITUARY: Duration = Duration::from_millis(500);

/// Messages to a kernel.
pub(crate) type Orders = FramedWrite<OwnedWriteHalf, LengthDelimitedCodec>;

/// A kernel; killed with its session when dropped.
pub(crate) struct Kernel {
    /// Pid in the inner namespace.
    pid: i32,
    namespace: Arc<Namespace>,
    orders: Orders,
    messages: FramedRead<OwnedReadHalf, LengthDelimitedCodec>,
    pub(crate) stdout: Pipe,
    pub(crate) stderr: Pipe,
    ended: watch::Receiver<Option<i32>>,
}

/// The agent's ends of what a kernel is connected with.
pub(super) struct Ends {
    control: UnixStream,
    stdout: Pipe,
    stderr: Pipe,
}

impl Ends {
    /// The agent's ends, and the kernel's in the order of the protocol: control, standard output, standard error.
    pub(super) fn new() -> io::Result<(Self, [OwnedFd; 3])> {
        let (near, far) = std::os::unix::net::UnixStream::pair()?;
        near.set_nonblocking(true)?;
        let (stdout, stdout_far) = Pipe::new(Kind::Stdout)?;
        let (stderr, stderr_far) = Pipe::new(Kind::Stderr)?;
        let control = UnixStream::from_std(near)?;
        Ok((Self { control, stdout, stderr }, [far.into(), stdout_far, stderr_far]))
    }
}

impl Kernel {
    pub(super) fn new(pid: i32, namespace: Arc<Namespace>, ends: Ends, ended: watch::Receiver<Option<i32>>) -> Self {
        let (read, write) = ends.control.into_split();
        let (messages, orders) = (FramedRead::new(read, codec()), FramedWrite::new(write, order_codec()));
        Self { pid, namespace, orders, messages, stdout: ends.stdout, stderr: ends.stderr, ended }
    }

    /// What a cell needs at once: where orders go, where messages come from, and the pipes.
    pub(crate) fn split(&mut self) -> (&mut Orders, Messages<'_>, &mut Pipe, &mut Pipe) {
        let messages = Messages { messages: &mut self.messages, ended: &mut self.ended };
        (&mut self.orders, messages, &mut self.stdout, &mut self.stderr)
    }

    /// The next message; an error once the kernel is gone or talks nonsense.
    pub(crate) async fn next(&mut self) -> io::Result<Message> {
        self.split().1.next().await
    }

    /// A way to raise `KeyboardInterrupt` in the running cell.
    pub(crate) fn interrupter(&self) -> impl Fn() + Send + use<> {
        let (namespace, pid) = (Arc::clone(&self.namespace), self.pid);
        move || namespace.kill(pid, Signal::SIGINT)
    }

    /// Gives the kernel an identity.
    ///
    /// # Errors
    /// If it does not confirm.
    pub(crate) async fn configure(
        &mut self,
        env: &Environment,
        cwd: Option<&str>,
        reseed: bool,
        limits: &Limits,
    ) -> io::Result<()> {
        let (namespace, pid, limits) = (Arc::clone(&self.namespace), self.pid, *limits);
        let limited = tokio::task::spawn_blocking(move || namespace.limit(pid, &limits));
        limited
            .await
            .map_err(io::Error::other)?
            .map_err(|error| io::Error::other(format!("limits cannot be set: {error}")))?;
        let configure = async {
            send(&mut self.orders, &Configure { env, cwd, reseed }).await?;
            while !matches!(self.messages_next().await?, Message::Configured) {}
            Ok(())
        };
        tokio::time::timeout(PATIENCE, configure).await.unwrap_or(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Asks the kernel to go its usual ways once; there is no answer.
    pub(super) async fn rehearse(&mut self) -> io::Result<()> {
        send(&mut self.orders, &Rehearse {}).await
    }

    /// Lets the kernel end its helper processes. One whose background work does not let it answer keeps them.
    pub(crate) async fn quiesce(&mut self) {
        let quiesced = async {
            send(&mut self.orders, &Quiesce {}).await?;
            while !matches!(self.messages_next().await?, Message::Quiesced) {}
            io::Result::Ok(())
        };
        let _ = tokio::time::timeout(QUIESCE_PATIENCE, quiesced).await;
    }

    /// Kills the kernel and waits until it is gone.
    pub(super) async fn end(mut self) {
        self.namespace.kill(self.pid, Signal::SIGKILL);
        self.exit_code().await;
    }

    /// Waits until the kernel can take cells.
    pub(super) async fn become_ready(&mut self) -> io::Result<()> {
        let ready = async {
            while !matches!(self.messages_next().await?, Message::Ready) {}
            Ok(())
        };
        tokio::time::timeout(PATIENCE, ready).await.unwrap_or(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Like [`Self::next`] over a part of the fields, and with output thrown away: no cell runs.
    async fn messages_next(&mut self) -> io::Result<Message> {
        let mut background = Vec::new();
        let (_, mut messages, stdout, stderr) = self.split();
        loop {
            tokio::select! {
                message = messages.next() => return message,
                () = stdout.fill() => stdout.take(&mut background),
                () = stderr.fill() => stderr.take(&mut background),
            }
            background.clear();
        }
    }

    /// How the kernel ended, if the zygote tells: an exit code, or minus a signal.
    pub(crate) async fn exit_code(&mut self) -> Option<i32> {
        let told = tokio::time::timeout(OBITUARY, self.ended.wait_for(Option::is_some)).await;
        told.ok()?.ok().and_then(|code| *code)
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        let (namespace, pid) = (Arc::clone(&self.namespace), self.pid);
        tokio::task::spawn_blocking(move || kill_session(&namespace, pid));
    }
}

/// Sends one message.
pub(crate) async fn send(orders: &mut Orders, message: &impl Serialize) -> io::Result<()> {
    orders.send(encode(message)?).await
}

/// Where messages of a kernel come from.
pub(crate) struct Messages<'a> {
    messages: &'a mut FramedRead<OwnedReadHalf, LengthDelimitedCodec>,
    ended: &'a mut watch::Receiver<Option<i32>>,
}

impl Messages<'_> {
    /// A message that came together with the one before, if there is one.
    pub(crate) fn next_received(&mut self) -> Option<io::Result<Message>> {
        let mut received = std::mem::take(self.messages.read_buffer_mut());
        let decoded = self.messages.decoder_mut().decode(&mut received);
        *self.messages.read_buffer_mut() = received;
        match decoded {
            Ok(message) => message.map(|message| Message::parse(&message)),
            Err(error) => Some(Err(error)),
        }
    }

    /// The next message. Can be cancelled.
    ///
    /// # Errors
    /// If the kernel is gone or talks nonsense.
    pub(crate) async fn next(&mut self) -> io::Result<Message> {
        tokio::select! {
            biased;
            message = self.messages.next() => match message {
                Some(message) => Message::parse(&message?),
                None => Err(io::ErrorKind::UnexpectedEof.into()),
            },
            // A process that inherited the socket may hold it open. What the kernel wrote before its end came first.
            () = gone(self.ended) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Resolves when the zygote has told the end of the kernel; never if the zygote itself ends.
async fn gone(ended: &mut watch::Receiver<Option<i32>>) {
    if ended.wait_for(Option::is_some).await.is_err() {
        std::future::pending::<()>().await;
    }
}
