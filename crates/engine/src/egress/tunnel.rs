//! A tunnel: bytes in both directions, unless they are TLS to the host of a secret.

use std::io::Cursor;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};

use super::dial::{DialError, Dialer, Stream};
use super::intercept;

/// First byte of every TLS connection.
const TLS_HANDSHAKE: u8 = 22;

/// Bytes that are looked at before it is known who speaks what.
const FIRST_BYTES: usize = 16 << 10;

/// A connection to where a program asked for.
pub(super) struct Tunnel {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) outside: Box<dyn Stream>,
}

impl Tunnel {
    pub(super) async fn open(host: String, port: u16, dialer: &Dialer) -> Result<Self, DialError> {
        let outside = dialer.tunnel(&host, port).await?;
        Ok(Self { host, port, outside })
    }

    /// Carries bytes until both sides have ended.
    pub(super) async fn carry<S>(mut self, mut sandbox: S, dialer: &Dialer)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        if dialer.egress().secrets().are_meant_for(&self.host, self.port) {
            let Some(first) = self.first_bytes(&mut sandbox).await else { return };
            if first.first() == Some(&TLS_HANDSHAKE) {
                let (reader, writer) = tokio::io::split(sandbox);
                let whole = tokio::io::join(Cursor::new(first).chain(reader), writer);
                return intercept::serve(whole, self, dialer).await;
            }
            if self.outside.write_all(&first).await.is_err() {
                return;
            }
        }
        let carried = copy_bidirectional(&mut sandbox, &mut self.outside).await;
        tracing::debug!(?carried, "egress tunnel ended");
    }

    /// What the program says first; nothing if the other side speaks first. `None` once both can say nothing more.
    async fn first_bytes<S: AsyncRead + AsyncWrite + Unpin>(&mut self, sandbox: &mut S) -> Option<Vec<u8>> {
        let (mut said, mut heard) = (vec![0; FIRST_BYTES], vec![0; FIRST_BYTES]);
        tokio::select! {
            length = sandbox.read(&mut said) => {
                said.truncate(length.ok().filter(|length| *length > 0)?);
                Some(said)
            }
            length = self.outside.read(&mut heard) => {
                heard.truncate(length.ok().filter(|length| *length > 0)?);
                sandbox.write_all(&heard).await.ok()?;
                Some(Vec::new())
            }
        }
    }
}
