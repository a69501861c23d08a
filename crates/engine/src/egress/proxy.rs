//! One connection of a sandbox, from its first byte to its end.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::time::timeout;

use super::dial::Dialer;
use super::watched::Watched;
use super::{http_proxy, socks};

/// The head of a later request must be whole this long after the answer to the one before. The first one has less time: see
/// [`FIRST_HEAD_LIMIT`](super::carried::FIRST_HEAD_LIMIT).
pub(super) const HEAD_LIMIT: Duration = Duration::from_secs(30);

/// A connection on which nothing moves is closed.
const IDLE_LIMIT: Duration = Duration::from_secs(600);

/// Carries a connection to where it asks to go: HTTP (`CONNECT` or absolute form) or SOCKS5, told by the first byte.
pub(super) async fn serve<S>(stream: S, dialer: Dialer)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (stream, watch) = Watched::new(stream);
    let carried = dialer.carried();
    tokio::select! {
        () = carried.must_end() => {}
        () = serve_protocol(stream, dialer) => {}
        () = watch.idle_for(IDLE_LIMIT) => {}
    }
}

async fn serve_protocol<S>(mut stream: S, dialer: Dialer)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let Ok(Ok(first)) = timeout(HEAD_LIMIT, stream.read_u8()).await else { return };
    if first == socks::VERSION {
        return socks::serve(stream, dialer).await;
    }
    let (reader, writer) = tokio::io::split(stream);
    let whole = tokio::io::join(std::io::Cursor::new([first]).chain(reader), writer);
    http_proxy::serve(whole, dialer).await;
}

#[cfg(test)]
mod tests;
