//! Streams of events: a task reads and parses, the consumer takes batches. A consumer that stops taking stops the task and
//! so the server; one that goes away closes the connection.

use std::time::Duration;

use bytes::Bytes;
use pandastack_protocol::error::ErrorCode;
use reqwest::Response;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result};
use crate::http::{Client, client_closed};

/// Most events that wait for the consumer.
const WAITING: usize = 256;

/// Silence after which a connection counts as lost, once its server has shown that it sends signs of life.
const SILENCE: Duration = Duration::from_secs(60);

/// How long a server may take to close a stream after its last event; later the connection is not used again.
const CLOSING: Duration = Duration::from_secs(1);

/// Events in order of their arrival. The last item is an event that ends the stream, or an error.
pub struct EventStream<T> {
    receiver: mpsc::Receiver<Result<T>>,
    pump: Option<JoinHandle<()>>,
}

impl<T> EventStream<T> {
    /// Waits for at least one event and returns at most `limit`. Empty: the stream has ended.
    pub async fn next_batch(&mut self, limit: usize) -> Vec<Result<T>> {
        let mut batch = Vec::new();
        self.receiver.recv_many(&mut batch, limit.max(1)).await;
        batch
    }

    /// The next event. None: the stream has ended.
    pub async fn next(&mut self) -> Option<Result<T>> {
        self.receiver.recv().await
    }

    /// A stream of events that are there already.
    pub(crate) fn of(events: Vec<T>) -> Self {
        let (sender, receiver) = mpsc::channel(events.len().max(1));
        for event in events {
            let _ = sender.try_send(Ok(event));
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
    let pump = Pump { response, decoder, sender, deadline, silence: None, closed: client.closed().clone() };
    EventStream { receiver, pump: Some(tokio::spawn(pump.run())) }
}

struct Pump<D: Decoder> {
    response: Response,
    decoder: D,
    sender: mpsc::Sender<Result<D::Event>>,
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
                let _ = self.sender.send(Err(error)).await;
            }
        }
    }

    async fn forward(&mut self) -> Result<Ended> {
        while let Some(piece) = self.piece().await? {
            self.decoder.push(&piece)?;
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
        if self.sender.send(Ok(event)).await.is_err() {
            return Some(Ended::Unwanted);
        }
        is_last.then_some(Ended::Complete)
    }

    async fn piece(&mut self) -> Result<Option<Bytes>> {
        let silent_at = self.silence.map(|silence| Instant::now() + silence);
        let limit = [self.deadline, silent_at].into_iter().flatten().min();
        let closed = self.closed.clone();
        let read = async {
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
