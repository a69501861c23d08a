//! The way out: programs in the sandbox connect to a listener here, the engine parks requests that each take one connection.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use pandastack_guest_protocol::route::EGRESS_LISTENER;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::io::ReaderStream;
use tokio_util::sync::CancellationToken;

use crate::log;
use crate::refusal::Refusal;

/// How long a connection waits for the engine.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes per read.
const CHUNK: usize = 128 << 10;

/// Most connections that wait at once. One more takes the place of the oldest, so that a flood does not keep out what comes after it.
const MAX_WAITING: usize = 256;

/// Parked requests, waiting connections, and the epoch that both belong to.
#[derive(Debug, Default)]
pub(crate) struct Egress {
    state: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    parked: VecDeque<oneshot::Sender<TcpStream>>,
    connections: VecDeque<(TcpStream, Instant)>,
    epoch: CancellationToken,
}

impl Egress {
    /// Shuts down every connection that leads to the host of the epoch before, so that programs see the end instead of hanging.
    pub(crate) fn begin_epoch(&self) {
        let mut waiting = self.lock();
        waiting.epoch.cancel();
        waiting.epoch = CancellationToken::new();
        waiting.parked.clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a new connection to a parked request, or lets it wait.
    fn offer(&self, mut connection: TcpStream) {
        let mut waiting = self.lock();
        while let Some(parked) = waiting.parked.pop_front() {
            match parked.send(connection) {
                Ok(()) => return,
                Err(returned) => connection = returned,
            }
        }
        let now = Instant::now();
        waiting.connections.retain(|(_, until)| *until > now);
        if waiting.connections.len() == MAX_WAITING {
            waiting.connections.pop_front();
        }
        waiting.connections.push_back((connection, now + PATIENCE));
    }

    fn expire(&self) {
        let now = Instant::now();
        self.lock().connections.retain(|(_, until)| *until > now);
    }

    /// The longest waiting connection, or a promise of the next one.
    fn park(&self) -> (CancellationToken, Result<TcpStream, oneshot::Receiver<TcpStream>>) {
        let mut waiting = self.lock();
        let epoch = waiting.epoch.clone();
        let now = Instant::now();
        while let Some((connection, until)) = waiting.connections.pop_front() {
            if until > now {
                return (epoch, Ok(connection));
            }
        }
        let (sender, receiver) = oneshot::channel();
        waiting.parked.retain(|parked| !parked.is_closed());
        waiting.parked.push_back(sender);
        (epoch, Err(receiver))
    }
}

/// Accepts connections for ever.
pub(crate) async fn listen(egress: Arc<Egress>) {
    let listener = loop {
        match TcpListener::bind(EGRESS_LISTENER).await {
            Ok(listener) => break listener,
            Err(error) => log::line(&format!("cannot listen for connections that want out: {error}")),
        }
        sleep(PATIENCE).await;
    };
    loop {
        match timeout_at(Instant::now() + PATIENCE, listener.accept()).await {
            Ok(Ok((connection, _))) => {
                // Small writes of both sides must not wait for each other.
                let _ = connection.set_nodelay(true);
                egress.offer(connection);
            }
            Ok(Err(error)) => {
                log::line(&format!("cannot accept a connection that wants out: {error}"));
                sleep(Duration::from_millis(100)).await;
            }
            Err(_elapsed) => {}
        }
        egress.expire();
    }
}

/// Waits for a connection; then both bodies carry its bytes.
///
/// # Errors
/// If the epoch ends meanwhile.
pub(crate) async fn accept(egress: &Egress, body: Body) -> Result<Response, Refusal> {
    let (epoch, connection) = egress.park();
    let connection = match connection {
        Ok(connection) => connection,
        Err(promise) => promise.await.map_err(|_| Refusal::conflict("a new epoch has begun"))?,
    };
    let (from_program, to_program) = connection.into_split();
    let gone = epoch.child_token();
    tokio::spawn(epoch.clone().run_until_cancelled_owned(send(body, to_program, gone.clone())));
    Ok(Body::from_stream(receive(from_program, gone)).into_response())
}

/// Copies the request body to the program; its end half-closes the connection.
async fn send(body: Body, mut to_program: OwnedWriteHalf, gone: CancellationToken) {
    let mut chunks = body.into_data_stream();
    while let Some(Ok(chunk)) = chunks.next().await {
        if to_program.write_all(&chunk).await.is_err() {
            gone.cancel();
            return;
        }
    }
    let _ = to_program.shutdown().await;
}

/// The bytes of the program, until it closes or `gone`.
fn receive(
    from_program: OwnedReadHalf,
    gone: CancellationToken,
) -> impl futures::Stream<Item = std::io::Result<bytes::Bytes>> {
    // An answer that nobody reads any more closes the connection in both directions.
    let guard = gone.clone().drop_guard();
    let stream = ReaderStream::with_capacity(from_program.take(u64::MAX), CHUNK);
    stream.take_until(gone.cancelled_owned()).map(move |chunk| {
        let _ = &guard;
        chunk
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_newest_connections_wait() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let egress = Egress::default();
        let mut programs = Vec::new();
        for _ in 0..MAX_WAITING + 2 {
            let (program, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
            programs.push(program.unwrap());
            egress.offer(accepted.unwrap().0);
        }
        let mut taken = Vec::new();
        while let (_, Ok(connection)) = egress.park() {
            taken.push(connection.peer_addr().unwrap());
        }
        let newest: Vec<_> = programs[2..].iter().map(|program| program.local_addr().unwrap()).collect();
        assert_eq!(taken, newest);
    }
}
