//! The SOCKS5 face of the egress proxy (RFC 1928): `CONNECT` without a password.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use super::dial::{DialError, Dialer};
use super::proxy::HEAD_LIMIT;
use super::tunnel::Tunnel;

/// First byte of every SOCKS5 connection.
pub(super) const VERSION: u8 = 5;

const NO_PASSWORD: u8 = 0;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;

/// What the answer to a request says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reply {
    Done = 0,
    Forbidden = 2,
    Unreachable = 4,
    NotSupported = 7,
}

/// Serves a connection whose first byte, [`VERSION`], was read.
pub(super) async fn serve<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(mut stream: S, dialer: Dialer) {
    let Ok(Ok(Some((host, port)))) = timeout(HEAD_LIMIT, handshake(&mut stream)).await else { return };
    match Tunnel::open(host, port, &dialer).await {
        Ok(tunnel) => {
            if reply(&mut stream, Reply::Done).await.is_ok() {
                tunnel.carry(stream, &dialer).await;
            }
        }
        Err(error) => {
            tracing::debug!(reason = %error, "egress failed");
            let kind = if matches!(error, DialError::Forbidden(_)) { Reply::Forbidden } else { Reply::Unreachable };
            let _ = reply(&mut stream, kind).await;
        }
    }
}

/// Greeting and request; `None` if they were answered with a refusal.
async fn handshake<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S) -> io::Result<Option<(String, u16)>> {
    let mut methods = vec![0; stream.read_u8().await?.into()];
    stream.read_exact(&mut methods).await?;
    if !methods.contains(&NO_PASSWORD) {
        stream.write_all(&[VERSION, NO_METHOD]).await?;
        return Ok(None);
    }
    stream.write_all(&[VERSION, NO_PASSWORD]).await?;
    stream.flush().await?;
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    let [VERSION, command, _, kind] = head else { return Ok(None) };
    let host = read_host(stream, kind).await?;
    let port = stream.read_u16().await?;
    match host {
        Some(host) if command == CONNECT && port != 0 => Ok(Some((host, port))),
        _ => reply(stream, Reply::NotSupported).await.map(|()| None),
    }
}

async fn read_host<S: AsyncRead + Unpin>(stream: &mut S, kind: u8) -> io::Result<Option<String>> {
    Ok(match kind {
        1 => Some(Ipv4Addr::from_bits(stream.read_u32().await?).to_string()),
        3 => {
            let mut name = vec![0; stream.read_u8().await?.into()];
            stream.read_exact(&mut name).await?;
            Some(String::from_utf8_lossy(&name).into_owned())
        }
        4 => Some(Ipv6Addr::from_bits(stream.read_u128().await?).to_string()),
        _ => None,
    })
}

async fn reply<S: AsyncWrite + Unpin>(stream: &mut S, kind: Reply) -> io::Result<()> {
    stream.write_all(&[VERSION, kind as u8, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    stream.flush().await
}
