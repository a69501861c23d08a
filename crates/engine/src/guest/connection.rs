//! One sandbox's connection: its pipes, its epochs, and the HTTP/2 connection of the current one.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use nix::fcntl::{FcntlArg, fcntl};
use pandastack_guest_protocol::hello::{Hello, HelloAck};
use pandastack_guest_protocol::record::Decoder;
use tokio::io::DuplexStream;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use super::activity::Activity;
use super::client::GuestClient;
use super::request::RequestBody;
use super::stderr::LastWords;
use super::transport::{self, Command};
use crate::error::EngineError;
use crate::runsc::GuestStdio;

/// Bytes of one stream that may be under way, by HTTP/2's flow control.
const STREAM_WINDOW: u32 = 1 << 20;

/// Bytes of all streams together: large, so that streams which nobody reads do not stop the others. What can really pile up is bounded by the
/// window of each stream that the engine opened.
const CONNECTION_WINDOW: u32 = 512 << 20;

/// Longest HTTP/2 frame, in bytes.
const FRAME_SIZE: u32 = 1 << 20;

/// Size asked of the kernel for the sandbox's stdout, in bytes.
const STDOUT_SIZE: i32 = 1 << 20;

/// Size asked of the kernel for the sandbox's stdin, in bytes. Smaller, as an ordinary user's pipes share 64 MiB.
const STDIN_SIZE: i32 = 256 << 10;

/// Time between two `Hello`s while the agent does not answer.
const HELLO_INTERVAL: Duration = Duration::from_secs(3);

/// The requests of one epoch.
pub(super) type Requests = http2::SendRequest<RequestBody>;

/// The engine's end of one sandbox. Closes when dropped; the sandbox stays as it is.
pub struct Connection {
    sandbox_id: String,
    epoch: Arc<AtomicU64>,
    commands: mpsc::Sender<Command>,
    requests: Mutex<Option<Requests>>,
    closed: watch::Sender<Option<Arc<str>>>,
    last_words: LastWords,
    tasks: Mutex<JoinSet<()>>,
}

impl Connection {
    /// Opens the pipes. `in_step` is false if the agent has already spoken to someone else, so that it is not known where in a record it stands.
    /// The first epoch is begun by [`Connection::hello`] and gets a number above `epoch`.
    ///
    /// # Errors
    /// If a pipe cannot be opened.
    pub fn open(sandbox_id: &str, stdio: &GuestStdio, epoch: u64, in_step: bool) -> Result<Arc<Self>, EngineError> {
        let from_guest = open_receiver(&stdio.stdout)?;
        let to_guest = open_sender(&stdio.stdin)?;
        // Without room in the user's share the pipes stay as they are.
        let _ = fcntl(&from_guest, FcntlArg::F_SETPIPE_SZ(STDOUT_SIZE));
        let _ = fcntl(&to_guest, FcntlArg::F_SETPIPE_SZ(STDIN_SIZE));
        let stderr = open_receiver(&stdio.stderr)?;
        let decoder = if in_step { Decoder::new() } else { Decoder::skipping() };

        let (commands, command_receiver) = mpsc::channel(8);
        let closed = watch::Sender::new(None);
        let last_words = LastWords::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(last_words.clone().collect(sandbox_id.to_owned(), stderr));
        tasks.spawn({
            let closed = closed.clone();
            async move {
                transport::run(from_guest, to_guest, decoder, command_receiver, |reason| set_reason(&closed, reason))
                    .await;
            }
        });
        Ok(Arc::new(Self {
            sandbox_id: sandbox_id.to_owned(),
            epoch: Arc::new(AtomicU64::new(epoch)),
            commands,
            requests: Mutex::new(None),
            closed,
            last_words,
            tasks: Mutex::new(tasks),
        }))
    }

    /// Gives the sandbox its identity and waits until the agent has taken it; `hello.epoch` is set here. Streams of the epoch before end.
    /// A late answer makes the engine ask again.
    ///
    /// # Errors
    /// [`EngineError::SandboxGone`] if the agent does not answer before the deadline or breaks the protocol.
    pub async fn hello(&self, hello: &Hello, deadline: Duration) -> Result<HelloAck, EngineError> {
        let answered = async {
            loop {
                if let Ok(answer) = tokio::time::timeout(HELLO_INTERVAL, self.hello_once(hello)).await {
                    return answer;
                }
            }
        };
        let (ack, http) = tokio::time::timeout(deadline, answered).await.map_err(|_| {
            self.gone(&format!("the agent did not answer within {} s{}", deadline.as_secs(), self.last_words()))
        })??;
        let requests = self.begin_http(ack.epoch, http).await?;
        *self.requests.lock().unwrap_or_else(PoisonError::into_inner) = Some(requests);
        Ok(ack)
    }

    async fn hello_once(&self, hello: &Hello) -> Result<(HelloAck, DuplexStream), EngineError> {
        let (begun, answer) = oneshot::channel();
        let epoch = self.epoch.fetch_add(1, Ordering::AcqRel) + 1;
        self.command(Command::Hello { hello: Hello { epoch, ..hello.clone() }, begun }).await?;
        self.answer(answer).await
    }

    async fn begin_http(&self, number: u64, pipe: DuplexStream) -> Result<Requests, EngineError> {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_frame_size(FRAME_SIZE)
            .max_send_buf_size(FRAME_SIZE as usize)
            .max_header_list_size(16 << 10);
        let (requests, http) = builder
            .handshake(TokioIo::new(pipe))
            .await
            .map_err(|error| self.gone(&format!("HTTP/2 failed: {error}")))?;
        let (epoch, closed) = (Arc::clone(&self.epoch), self.closed.clone());
        tokio::spawn(async move {
            let reason = match http.await {
                Ok(()) => "the agent closed the connection".to_owned(),
                Err(error) => format!("the sandbox broke the protocol: {error}"),
            };
            // In a newer epoch it is the engine that has let go of this one.
            if epoch.load(Ordering::Acquire) == number {
                set_reason(&closed, &reason);
            }
        });
        Ok(requests)
    }

    /// Lets the agent end what a copy of the sandbox need not hold. One that cannot in time keeps it, and the copy is larger.
    pub async fn quiesce(&self, deadline: Duration) {
        let quiesced = self.act(http::Method::POST, pandastack_guest_protocol::route::QUIESCE);
        let outcome = tokio::time::timeout(deadline, quiesced).await;
        if !matches!(outcome, Ok(Ok(()))) {
            tracing::debug!(sandbox_id = self.sandbox_id, "a sandbox is copied as it is: {outcome:?}");
        }
    }

    /// Stops the traffic of both sides between two records, so that the sandbox can be checkpointed. Programs in it run on.
    ///
    /// # Errors
    /// If the agent does not answer before the deadline; the traffic goes on then.
    pub async fn freeze(&self, deadline: Duration) -> Result<(), EngineError> {
        let (frozen, answer) = oneshot::channel();
        let frozen = async {
            self.command(Command::Freeze { frozen }).await?;
            self.answer(answer).await
        };
        match tokio::time::timeout(deadline, frozen).await {
            Ok(outcome) => outcome,
            Err(_) => {
                // The writing loop may be stuck in front of a full pipe: the Thaw then waits in its queue.
                let _ = self.commands.try_send(Command::Thaw);
                Err(EngineError::Internal(format!(
                    "the agent did not freeze within {} s: {}",
                    deadline.as_secs(),
                    self.sandbox_id
                )))
            }
        }
    }

    /// Lets the traffic go on after [`Connection::freeze`].
    ///
    /// # Errors
    /// If the connection is closed.
    pub async fn thaw(&self) -> Result<(), EngineError> {
        self.command(Command::Thaw).await
    }

    /// A client that counts as use of the sandbox.
    pub fn client(self: &Arc<Self>, activity: &Arc<Activity>) -> GuestClient {
        GuestClient::new(Arc::clone(self), Arc::clone(activity))
    }

    /// Ends the connection: every request and stream, now and later, says `reason`. The first reason stays.
    pub fn close(&self, reason: &str) {
        set_reason(&self.closed, reason);
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }

    /// Waits until the connection has ended and gives the reason.
    pub async fn closed(&self) -> Arc<str> {
        wait_closed(self.closed.subscribe()).await
    }

    /// Why the connection has ended, once it has.
    pub fn end_reason(&self) -> Option<Arc<str>> {
        self.closed.borrow().clone()
    }

    /// ` (last words: …)`, or nothing.
    pub fn last_words(&self) -> String {
        let line = self.last_words.line();
        if line.is_empty() { line } else { format!(" (its last words: {line})") }
    }

    /// The number of the current epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    pub(super) fn requests(&self) -> Result<Requests, EngineError> {
        if let Some(reason) = self.closed.borrow().as_deref() {
            return Err(self.gone(reason));
        }
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
            .ok_or_else(|| self.gone("it has no connection yet"))
    }

    pub(super) fn sandbox_id(&self) -> &str {
        &self.sandbox_id
    }

    pub(super) fn gone(&self, reason: &str) -> EngineError {
        EngineError::SandboxGone { id: self.sandbox_id.clone(), reason: reason.to_owned() }
    }

    async fn command(&self, command: Command) -> Result<(), EngineError> {
        let sent = self.commands.send(command).await;
        if sent.is_err() { Err(self.gone(&self.closed().await)) } else { Ok(()) }
    }

    /// A sender that is dropped unanswered means that a newer command took its place, or that the connection has ended.
    async fn answer<T>(&self, answer: oneshot::Receiver<T>) -> Result<T, EngineError> {
        tokio::select! {
            Ok(answer) = answer => Ok(answer),
            reason = self.closed() => Err(self.gone(&reason)),
        }
    }
}

pub(super) async fn wait_closed(mut closed: watch::Receiver<Option<Arc<str>>>) -> Arc<str> {
    match closed.wait_for(Option::is_some).await.map(|reason| reason.clone()) {
        Ok(Some(reason)) => reason,
        _ => Arc::from("the engine closed the connection"),
    }
}

fn set_reason(closed: &watch::Sender<Option<Arc<str>>>, reason: &str) {
    closed.send_if_modified(|current| {
        let first = current.is_none();
        if first {
            *current = Some(Arc::from(reason));
        }
        first
    });
}

fn open_receiver(path: &Path) -> Result<pipe::Receiver, EngineError> {
    pipe::OpenOptions::new().read_write(true).open_receiver(path).map_err(|error| pipe_error(path, &error))
}

fn open_sender(path: &Path) -> Result<pipe::Sender, EngineError> {
    pipe::OpenOptions::new().read_write(true).open_sender(path).map_err(|error| pipe_error(path, &error))
}

fn pipe_error(path: &Path, error: &std::io::Error) -> EngineError {
    EngineError::Internal(format!("cannot open pipe ({error}): `{}`", path.display()))
}
