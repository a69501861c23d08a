//! The HTTP/2 connection of one epoch.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures::Stream;
use futures::stream::poll_fn;
use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt, DuplexStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::io::StreamReader;

use super::writer::RecordWriter;
use crate::agent::Agent;
use crate::{log, server};

/// Longest payload of a `Mux` record, in bytes.
const RECORD: usize = 256 << 10;
/// Bytes that the connection may have ready before it has to wait for the writer.
const BACKLOG: usize = 1 << 20;
const STREAM_WINDOW: u32 = 8 << 20;
const CONNECTION_WINDOW: u32 = 32 << 20;
const FRAME: u32 = 1 << 20;
const STREAMS: u32 = 1024;

/// A served connection; ends with all its streams when dropped.
pub(super) struct Connection {
    /// Bounded by the windows of HTTP/2, so that a control record never waits behind a slow stream.
    incoming: mpsc::UnboundedSender<Bytes>,
    server: JoinHandle<()>,
}

impl Connection {
    pub(super) fn start(agent: Arc<Agent>, writer: Arc<RecordWriter>, epoch: u64) -> Self {
        let (incoming, received) = mpsc::unbounded_channel();
        let (near, far) = tokio::io::duplex(BACKLOG);
        let stream = tokio::io::join(StreamReader::new(chunks(received)), near);
        tokio::spawn(pump(far, writer, epoch));
        let server = tokio::spawn(async move {
            let outcome = http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .initial_stream_window_size(STREAM_WINDOW)
                .initial_connection_window_size(CONNECTION_WINDOW)
                .max_frame_size(FRAME)
                .max_send_buf_size(FRAME as usize)
                .max_concurrent_streams(STREAMS)
                // The engine is no attacker: however often its clients give up, the other streams go on.
                .max_pending_accept_reset_streams(STREAMS as usize * 16)
                .max_local_error_reset_streams(None)
                .serve_connection(TokioIo::new(stream), TowerToHyperService::new(server::router(agent)))
                .await;
            if let Err(error) = outcome {
                log::line(&format!("connection ended: {error}"));
            }
        });
        Self { incoming, server }
    }

    /// Hands over bytes of the engine.
    pub(super) fn push(&self, bytes: Vec<u8>) {
        let _ = self.incoming.send(bytes.into());
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn chunks(mut received: mpsc::UnboundedReceiver<Bytes>) -> impl Stream<Item = io::Result<Bytes>> {
    poll_fn(move |context| received.poll_recv(context).map(|chunk| chunk.map(Ok)))
}

/// Turns what the connection writes into records. Ends by itself when the connection or its epoch does: it is never cut within a record.
async fn pump(mut far: DuplexStream, writer: Arc<RecordWriter>, epoch: u64) {
    let mut buffer = vec![0; RECORD];
    while let Ok(length) = far.read(&mut buffer).await {
        if length == 0 || writer.write_mux(epoch, buffer.get(..length).unwrap_or_default()).await.is_err() {
            return;
        }
    }
}
