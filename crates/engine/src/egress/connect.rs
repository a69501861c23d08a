//! `CONNECT` spoken to the host's own proxy.

use std::io;

use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::upstream::UpstreamProxy;

/// Asks `proxy`, which is connected by `stream`, for a tunnel to `host`.
pub(super) async fn through(
    stream: TcpStream,
    proxy: &UpstreamProxy,
    host: &str,
    port: u16,
) -> io::Result<TokioIo<Upgraded>> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    tokio::spawn(connection.with_upgrades());
    let authority = if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    };
    let mut request = Request::builder().method(Method::CONNECT).uri(&authority).header(header::HOST, &authority);
    if let Some(authorization) = &proxy.authorization {
        request = request.header(header::PROXY_AUTHORIZATION, authorization);
    }
    let request = request.body(Empty::<Bytes>::new()).map_err(io::Error::other)?;
    let response = sender.send_request(request).await.map_err(io::Error::other)?;
    if !response.status().is_success() {
        return Err(io::Error::other(format!("the proxy of the host answered {}", response.status())));
    }
    Ok(TokioIo::new(hyper::upgrade::on(response).await.map_err(io::Error::other)?))
}
