//! Serves the connections of one sandbox as long as it runs.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::dial::{Dialer, Stream};
use super::proxy;
use crate::error::EngineError;
use crate::guest::GuestClient;

/// Requests for a connection that wait in the sandbox at any time.
const PARKED: usize = 4;

/// Connections of one sandbox at the same time; more wait in the sandbox.
const MOST_CONNECTIONS: usize = 256;

/// Pause after a failed accept, so that a sandbox which refuses them costs nothing.
const PAUSE: Duration = Duration::from_secs(1);

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
pub async fn serve(source: impl Accept, dialer: Dialer) {
    let slots = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut parked = JoinSet::new();
    for _ in 0..PARKED {
        parked.spawn(accept_all(source.clone(), dialer.clone(), slots.clone()));
    }
    while parked.join_next().await.is_some() {}
}

async fn accept_all(source: impl Accept, dialer: Dialer, slots: Arc<Semaphore>) {
    let mut connections = JoinSet::new();
    while let Ok(slot) = slots.clone().acquire_owned().await {
        match source.accept().await {
            Ok(stream) => {
                let served = proxy::serve(stream, dialer.clone());
                connections.spawn(async move {
                    served.await;
                    drop(slot);
                });
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

#[cfg(test)]
mod tests;
