//! TLS to the host of a secret: it ends here, the secret is put in, and it goes on to the real host, whose certificate is checked.

use std::sync::Arc;
use std::time::Duration;

use http::header::{self, HeaderValue};
use http::uri::Authority;
use http::{Method, Request, Response, StatusCode, Uri, Version};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self as client, SendRequest};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::dial::{Dialer, Stream, bare};
use super::http_proxy::{Body, Refused, http_server, strip_hop_headers};
use super::tunnel::Tunnel;

/// How long a handshake of TLS may take.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);

/// The port that a `Host` header leaves out.
const HTTPS: u16 = 443;

/// What the requests of one connection have in common.
struct Intercepted {
    host: String,
    port: u16,
    dialer: Dialer,
    line: Mutex<Line>,
}

/// The connection to the real host.
enum Line {
    Opened(Box<dyn Stream>),
    Speaking(SendRequest<Incoming>),
    Closed,
}

/// Serves the requests of a program that takes us for the host.
pub(super) async fn serve<S>(sandbox: S, tunnel: Tunnel, dialer: &Dialer)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let Tunnel { host, port, outside } = tunnel;
    let host = bare(&host);
    let acceptor = match dialer.egress().acceptor(&host) {
        Ok(acceptor) => acceptor,
        Err(error) => return tracing::error!(host, error, "cannot answer for the host of a secret"),
    };
    let accepted = match timeout(HANDSHAKE_LIMIT, acceptor.accept(sandbox)).await {
        Ok(Ok(accepted)) => accepted,
        Ok(Err(error)) => return tracing::debug!(host, %error, "a program does not trust the engine"),
        Err(_) => return,
    };
    let intercepted =
        Arc::new(Intercepted { host, port, dialer: dialer.clone(), line: Mutex::new(Line::Opened(outside)) });
    let service = service_fn(|request| {
        let intercepted = intercepted.clone();
        async move { Ok::<_, hyper::Error>(intercepted.answer(request).await.unwrap_or_else(Refused::into_response)) }
    });
    if let Err(error) = http_server().serve_connection(TokioIo::new(accepted), service).await {
        tracing::debug!(%error, "intercepted connection ended");
    }
}

impl Intercepted {
    async fn answer(&self, mut request: Request<Incoming>) -> Result<Response<Body>, Refused> {
        self.check(&request)?;
        strip_hop_headers(request.headers_mut());
        *request.version_mut() = Version::HTTP_11;
        *request.uri_mut() = origin_form(request.uri())?;
        request.headers_mut().insert(header::HOST, self.host_header()?);
        let secrets = self.dialer.egress().secrets();
        secrets.fill(request.headers_mut(), &self.host, self.port, true);
        let mut line = self.line.lock().await;
        let mut sender = self.speak(&mut line).await?;
        let answered = sender.send_request(request).await;
        *line = if sender.is_closed() { Line::Closed } else { Line::Speaking(sender) };
        let mut response = answered.map_err(|error| self.failed(&format!("did not answer: {error}")))?;
        strip_hop_headers(response.headers_mut());
        secrets.hide(response.headers_mut(), &self.host, self.port);
        Ok(response.map(BodyExt::boxed))
    }

    /// A request must be for the host that was connected to: the servers of one address may serve many hosts, and another one must not get the secret.
    fn check(&self, request: &Request<Incoming>) -> Result<(), Refused> {
        if [Method::TRACE, Method::CONNECT].contains(request.method()) {
            let reason = format!("{} is not possible for the host of a secret", request.method());
            return Err(Refused { status: StatusCode::METHOD_NOT_ALLOWED, reason });
        }
        let in_headers = request.headers().get_all(header::HOST).iter().map(|value| value.to_str().unwrap_or_default());
        let in_target = request.uri().authority().map(Authority::as_str);
        if in_headers.chain(in_target).all(|named| self.is_named(named)) {
            return Ok(());
        }
        let reason = format!("the connection is to `{}`, the request is for another host", self.host);
        Err(Refused { status: StatusCode::MISDIRECTED_REQUEST, reason })
    }

    fn is_named(&self, named: &str) -> bool {
        let Ok(authority) = named.parse::<Authority>() else { return false };
        !named.contains('@')
            && bare(authority.host()) == self.host
            && authority.port_u16().unwrap_or(HTTPS) == self.port
    }

    fn host_header(&self) -> Result<HeaderValue, Refused> {
        let text = if self.port == HTTPS { self.host.clone() } else { format!("{}:{}", self.host, self.port) };
        HeaderValue::try_from(text).map_err(|_| Refused::bad_request("malformed host"))
    }

    /// The sender of the line, which is opened again if the host has closed it. Leaves the line closed meanwhile.
    async fn speak(&self, line: &mut Line) -> Result<SendRequest<Incoming>, Refused> {
        let outside = match std::mem::replace(line, Line::Closed) {
            Line::Speaking(mut sender) => match sender.ready().await {
                Ok(()) => return Ok(sender),
                Err(_) => self.dialer.tunnel(&self.host, self.port).await?,
            },
            Line::Opened(outside) => outside,
            Line::Closed => self.dialer.tunnel(&self.host, self.port).await?,
        };
        let connector = self.dialer.egress().connector().map_err(|error| self.failed(&error.to_string()))?;
        let name = ServerName::try_from(self.host.clone()).map_err(|error| self.failed(&error.to_string()))?;
        let connected = timeout(HANDSHAKE_LIMIT, connector.connect(name, outside)).await;
        let connected = connected
            .map_err(|_| self.failed("did not end the TLS handshake"))?
            .map_err(|error| self.failed(&format!("cannot be trusted: {error}")))?;
        let spoken = client::handshake(TokioIo::new(connected)).await;
        let (sender, connection) = spoken.map_err(|error| self.failed(&error.to_string()))?;
        tokio::spawn(connection);
        Ok(sender)
    }

    fn failed(&self, what: &str) -> Refused {
        Refused { status: StatusCode::BAD_GATEWAY, reason: format!("`{}` {what}", self.host) }
    }
}

fn origin_form(uri: &Uri) -> Result<Uri, Refused> {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    path.parse().map_err(|_| Refused::bad_request("malformed address"))
}

#[cfg(test)]
mod tests;
