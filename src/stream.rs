//! Pulling events in batches: one promise a batch, whatever the number of events.

use std::sync::Arc;

use pandastack_client::{Error, EventStream, Result};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::cancel::aborted;

/// A stream that JavaScript pulls from and may close at any time.
pub(crate) struct Pull<T> {
    source: Arc<Mutex<Source<T>>>,
    closed: CancellationToken,
}

struct Source<T> {
    stream: Option<EventStream<T>>,
    failed: Option<Error>,
}

impl<T> Clone for Pull<T> {
    fn clone(&self) -> Self {
        Self { source: self.source.clone(), closed: self.closed.clone() }
    }
}

impl<T> Pull<T> {
    pub(crate) fn new(stream: EventStream<T>) -> Self {
        Self {
            source: Arc::new(Mutex::new(Source { stream: Some(stream), failed: None })),
            closed: CancellationToken::new(),
        }
    }

    /// Closes the connection; a waiting pull is aborted.
    pub(crate) fn close(&self) {
        self.closed.cancel();
        if let Ok(mut source) = self.source.try_lock() {
            source.stream = None;
        }
    }

    /// At most `limit` events, at least one. Empty: the stream has ended. An error comes after the events before it.
    pub(crate) async fn next(&self, limit: u32) -> Result<Vec<T>> {
        let mut source = self.source.lock().await;
        let batch = tokio::select! {
            biased;
            () = self.closed.cancelled() => {
                source.stream = None;
                return Err(aborted());
            }
            batch = source.next(limit) => batch,
        };
        let mut events = Vec::with_capacity(batch.len());
        for event in batch {
            match event {
                Ok(event) => events.push(event),
                Err(error) => source.failed = Some(error),
            }
        }
        match source.failed.take() {
            Some(error) if events.is_empty() => Err(error),
            failed => {
                source.failed = failed;
                Ok(events)
            }
        }
    }
}

impl<T> Source<T> {
    async fn next(&mut self, limit: u32) -> Vec<Result<T>> {
        if let Some(error) = self.failed.take() {
            return vec![Err(error)];
        }
        match &mut self.stream {
            Some(stream) => stream.next_batch(limit as usize).await,
            None => Vec::new(),
        }
    }
}

/// Joins neighbours where `join` can: it returns the second one back if it cannot.
pub(crate) fn merged<T>(events: Vec<T>, join: impl Fn(&mut T, T) -> Option<T>) -> Vec<T> {
    let mut kept: Vec<T> = Vec::with_capacity(events.len());
    for event in events {
        let rest = match kept.last_mut() {
            Some(last) => join(last, event),
            None => Some(event),
        };
        kept.extend(rest);
    }
    kept
}
