//! Serves the connections of one sandbox as long as it runs.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use super::carried::Carried;
use super::dial::{Dialer, Outside, Stream};
use super::proxy;
use super::sandbox::SandboxEgress;
use crate::error::EngineError;
use crate::guest::GuestClient;

/// Requests for a connection that wait in the sandbox at any time.
const PARKED: usize = 4;

/// Connections of one sandbox at the same time. One more takes the place of the oldest that has not asked for anything yet; if there is none,
/// it is refused at once.
const MOST_CONNECTIONS: usize = 256;

/// What a connection is told that finds no place.
const FULL: &[u8] = b"HTTP/1.1 503 too many connections of this sandbox\r\ncontent-type: text/plain; charset=utf-8\r\n\
content-length: 41\r\nconnection: close\r\n\r\ntoo many connections of this sandbox: 256";

/// How long a refused connection may take to read that.
const FULL_LIMIT: Duration = Duration::from_secs(1);

/// Pause after a failed accept, so that a sandbox which refuses them costs nothing.
const PAUSE: Duration = Duration::from_millis(if cfg!(test) { 10 } else { 1000 });

/// Where connections come from.
pub trait Accept: Clone + Send + 'static {
    /// The next connection.
    fn accept(&self) -> impl Future<Output = Result<Box<dyn Stream>, EngineError>> + Send;
}

impl Accept for GuestClient {
    async fn accept(&self) -> Result<Box<dyn Stream>, EngineError> {
        Ok(Box::new(self.egress_accept().await?))
    }
}

/// Carries connections until the sandbox is gone. Dropping the future ends all of them.
pub async fn serve(source: impl Accept, outside: Outside, egress: Arc<SandboxEgress>) {
    let places = Arc::new(Places::new(MOST_CONNECTIONS));
    let mut parked = JoinSet::new();
    for _ in 0..PARKED {
        parked.spawn(accept_all(source.clone(), outside.clone(), egress.clone(), places.clone()));
    }
    while parked.join_next().await.is_some() {}
}

async fn accept_all(source: impl Accept, outside: Outside, egress: Arc<SandboxEgress>, places: Arc<Places>) {
    let mut connections = JoinSet::new();
    loop {
        match source.accept().await {
            Ok(stream) => {
                let carried = Carried::new(egress.clone());
                match places.take(&carried).await {
                    Some(place) => {
                        let served = proxy::serve(stream, Dialer::new(outside.clone(), carried));
                        connections.spawn(async move {
                            served.await;
                            drop(place);
                        });
                    }
                    None => refuse(stream).await,
                }
            }
            Err(EngineError::SandboxGone { .. }) => return,
            Err(error) => {
                tracing::debug!(%error, "egress accept failed");
                tokio::time::sleep(PAUSE).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn refuse(mut stream: Box<dyn Stream>) {
    let told = async {
        stream.write_all(FULL).await?;
        stream.shutdown().await
    };
    let _ = tokio::time::timeout(FULL_LIMIT, told).await;
}

/// Who holds the places of one sandbox.
struct Places {
    free: Arc<Semaphore>,
    /// Oldest first.
    holders: Mutex<Vec<Weak<Carried>>>,
}

impl Places {
    fn new(count: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(count)), holders: Mutex::default() }
    }

    /// A place for a connection, made free if need be.
    async fn take(&self, carried: &Arc<Carried>) -> Option<OwnedSemaphorePermit> {
        let place = match self.free.clone().try_acquire_owned() {
            Ok(place) => place,
            Err(_) if self.evict_one() => self.free.clone().acquire_owned().await.ok()?,
            Err(_) => return None,
        };
        let mut holders = self.holders.lock().unwrap_or_else(PoisonError::into_inner);
        holders.retain(|holder| holder.strong_count() > 0);
        holders.push(Arc::downgrade(carried));
        Some(place)
    }

    /// Ends the oldest connection that has not asked for anything yet. False if there is none.
    fn evict_one(&self) -> bool {
        let holders = self.holders.lock().unwrap_or_else(PoisonError::into_inner);
        let mut held = holders.iter().filter_map(Weak::upgrade);
        held.any(|holder| !holder.has_begun() && holder.evict())
    }
}

#[cfg(test)]
mod tests;
