//! Streams of events: a task reads and parses, the consumer takes batches. A consumer that stops taking stops the task and
//! so the server; one that goes away closes the connection.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use pandastack_protocol::error::ErrorCode;
use reqwest::Response;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result};
use crate::http::{Client, client_closed};

/// Most bytes that are taken at once, if they have arrived: a large batch costs less than many small ones.
const AT_ONCE: usize = 64 << 10;

/// Most events that wait for the consumer.
const WAITING: usize = 256;

/// Most bytes of events that wait for the consumer; a larger event waits alone.
const WAITING_BYTES: usize = 1 << 20;

/// Bytes after which a batch is handed over, though more events wait.
const BATCH_BYTES: usize = 64 << 10;

/// Silence after which a connection counts as lost, once its server has shown that it sends signs of life.
const SILENCE: Duration = Duration::from_secs(60);

/// How long a server may take to close a stream after its last event; later the connection is not used again.
const CLOSING: Duration = Duration::from_secs(1);

/// Events in order of their arrival. The last item is an event that ends the stream, or an error.
pub struct EventStream<T> {
    receiver: mpsc::Receiver<Waiting<T>>,
    pump: Option<JoinHandle<()>>,
}

/// An event that waits for the consumer.
struct Waiting<T> {
    event: Result<T>,
    /// Bytes that it came in.
    weight: usize,
    /// Its part of [`WAITING_BYTES`], given back once it is taken.
    _room: Option<OwnedSemaphorePermit>,
}

impl<T> Waiting<T> {
    fn weightless(event: Result<T>) -> Self {
        Self { event, weight: 0, _room: None }
    }
}

impl<T> EventStream<T> {
    /// Waits for at least one event and returns at most `limit`. Empty: the stream has ended.
    pub async fn next_batch(&mut self, limit: usize) -> Vec<Result<T>> {
        let mut batch = Vec::new();
        let mut weight = 0;
        let mut next = self.receiver.recv().await;
        while let Some(waiting) = next {
            weight += waiting.weight;
            batch.push(waiting.event);
            let is_full = batch.len() >= limit || weight >= BATCH_BYTES;
            next = if is_full { None } else { self.receiver.try_recv().ok() };
        }
        batch
    }

    /// The next event. None: the stream has ended.
    pub async fn next(&mut self) -> Option<Result<T>> {
        self.receiver.recv().await.map(|waiting| waiting.event)
    }

    /// A stream of events that are there already.
    pub(crate) fn of(events: Vec<T>) -> Self {
        let (sender, receiver) = mpsc::channel(events.len().max(1));
        for event in events {
            let _ = sender.try_send(Waiting::weightless(Ok(event)));
        }
        Self { receiver, pump: None }
    }
}

impl<T> Drop for EventStream<T> {
    fn drop(&mut self) {
        if let Some(pump) = &self.pump {
            pump.abort();
        }
    }
}

/// Turns the bytes of a stream into events.
pub(crate) trait Decoder: Send + 'static {
    /// What it yields.
    type Event: Send + 'static;

    /// Takes the next piece.
    fn push(&mut self, piece: &[u8]) -> Result<()>;

    /// The next item that is complete.
    fn next(&mut self) -> Option<Result<Item<Self::Event>>>;

    /// An item that the end of the stream completes.
    fn finish(&mut self) -> Option<Result<Item<Self::Event>>>;
}

/// What a decoder finds.
pub(crate) enum Item<T> {
    /// An event that others follow.
    Event(T),
    /// The event that ends the stream.
    Last(T),
    /// The end, without an event of its own.
    End,
    /// A sign of life.
    Alive,
}

/// Reads `response` in a task of its own. `deadline` is the client's own limit for the whole stream.
pub(crate) fn pump<D: Decoder>(
    client: &Client,
    response: Response,
    decoder: D,
    deadline: Option<Instant>,
) -> EventStream<D::Event> {
    let (sender, receiver) = mpsc::channel(WAITING);
    let pump = Pump {
        response,
        ahead: None,
        decoder,
        sender,
        room: Arc::new(Semaphore::new(WAITING_BYTES)),
        read: 0,
        deadline,
        silence: None,
        closed: client.closed().clone(),
    };
    EventStream { receiver, pump: Some(tokio::spawn(pump.run())) }
}

struct Pump<D: Decoder> {
    response: Response,
    /// What was read before it was asked for.
    ahead: Option<reqwest::Result<Option<Bytes>>>,
    decoder: D,
    sender: mpsc::Sender<Waiting<D::Event>>,
    room: Arc<Semaphore>,
    /// Bytes that arrived since the last event.
    read: usize,
    deadline: Option<Instant>,
    silence: Option<Duration>,
    closed: CancellationToken,
}

impl<D: Decoder> Pump<D> {
    async fn run(mut self) {
        match self.forward().await {
            Ok(Ended::Complete) => {
                // Lets the connection be used again without making the consumer wait.
                tokio::spawn(drain(self.response));
            }
            Ok(Ended::Unwanted) => {}
            Err(error) => {
                let _ = self.sender.send(Waiting::weightless(Err(error))).await;
            }
        }
    }

    async fn forward(&mut self) -> Result<Ended> {
        while let Some(piece) = self.piece().await? {
            self.read += piece.len();
            self.decoder.push(&piece)?;
            self.push_what_is_there()?;
            while let Some(item) = self.decoder.next() {
                if let Some(ended) = self.deliver(item?).await {
                    return Ok(ended);
                }
            }
        }
        if let Some(item) = self.decoder.finish()
            && let Some(ended) = self.deliver(item?).await
        {
            return Ok(ended);
        }
        Err(Error::new(ErrorCode::Interrupted, "the stream ended before its last event"))
    }

    fn push_what_is_there(&mut self) -> Result<()> {
        while self.read < AT_ONCE {
            match self.response.chunk().now_or_never() {
                Some(Ok(Some(piece))) => {
                    self.read += piece.len();
                    self.decoder.push(&piece)?;
                }
                ahead => {
                    self.ahead = ahead;
                    break;
                }
            }
        }
        Ok(())
    }

    async fn deliver(&mut self, item: Item<D::Event>) -> Option<Ended> {
        let (event, is_last) = match item {
            Item::Event(event) => (event, false),
            Item::Last(event) => (event, true),
            Item::End => return Some(Ended::Complete),
            Item::Alive => {
                self.silence = Some(SILENCE);
                return None;
            }
        };
        let waiting = self.waiting(event).await;
        if self.sender.send(waiting).await.is_err() {
            return Some(Ended::Unwanted);
        }
        is_last.then_some(Ended::Complete)
    }

    /// Waits until there is room for the event.
    async fn waiting(&mut self, event: D::Event) -> Waiting<D::Event> {
        let weight = std::mem::take(&mut self.read);
        let part = u32::try_from(weight.min(WAITING_BYTES)).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        let room = self.room.clone().acquire_many_owned(part).await.ok();
        Waiting { event: Ok(event), weight, _room: room }
    }

    async fn piece(&mut self) -> Result<Option<Bytes>> {
        let silent_at = self.silence.map(|silence| Instant::now() + silence);
        let limit = [self.deadline, silent_at].into_iter().flatten().min();
        let closed = self.closed.clone();
        let read = async {
            if let Some(ahead) = self.ahead.take() {
                return Ok(ahead);
            }
            let read = self.response.chunk();
            match limit {
                None => Ok(read.await),
                Some(limit) => tokio::time::timeout_at(limit, read).await,
            }
        };
        let piece = tokio::select! {
            biased;
            () = closed.cancelled() => return Err(client_closed()),
            piece = read => piece.map_err(|_| self.overdue())?,
        };
        piece.map_err(|error| {
            Error::new(ErrorCode::Interrupted, "the connection was lost during the stream")
                .with_source(error.without_url())
        })
    }

    fn overdue(&self) -> Error {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Error::new(ErrorCode::Timeout, "the stream did not end within the client's time limit");
        }
        Error::new(ErrorCode::Interrupted, format!("the server has been silent for {} s", SILENCE.as_secs()))
    }
}

enum Ended {
    Complete,
    Unwanted,
}

async fn drain(mut response: Response) {
    let _ = tokio::time::timeout(CLOSING, async { while let Ok(Some(_)) = response.chunk().await {} }).await;
}
