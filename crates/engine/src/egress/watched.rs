//! A stream that knows when it was last used.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Counts the bytes that pass.
pub(super) struct Watched<S> {
    stream: S,
    bytes: Arc<AtomicU64>,
}

/// Tells when a [`Watched`] stream rests.
pub(super) struct Watch {
    bytes: Arc<AtomicU64>,
}

impl<S> Watched<S> {
    /// Wraps a stream.
    pub(super) fn new(stream: S) -> (Self, Watch) {
        let bytes = Arc::new(AtomicU64::new(0));
        (Self { stream, bytes: bytes.clone() }, Watch { bytes })
    }
}

impl Watch {
    /// Returns once no byte has passed for `limit`, at most half of `limit` late.
    pub(super) async fn idle_for(&self, limit: Duration) {
        let mut seen = self.bytes.load(Ordering::Relaxed);
        let mut still = 0;
        while still < 2 {
            tokio::time::sleep(limit / 2).await;
            let now = self.bytes.load(Ordering::Relaxed);
            still = if now == seen { still + 1 } else { 0 };
            seen = now;
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.bytes.fetch_add((buffer.filled().len() - before) as u64, Ordering::Relaxed);
        result
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(written)) = result {
            self.bytes.fetch_add(written as u64, Ordering::Relaxed);
        }
        result
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
