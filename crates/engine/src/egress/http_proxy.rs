//! The HTTP face of the egress proxy.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri, Version};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1 as client;
use hyper::ext::ReasonPhrase;
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;

use super::dial::{DialError, Dialer, bare};
use super::proxy::HEAD_LIMIT;
use super::tunnel::Tunnel;

/// Most bytes of a request's head.
const MAX_HEAD: usize = 64 << 10;

pub(super) type Body = BoxBody<Bytes, hyper::Error>;

/// A tunnel that is to be carried once the answer to its `CONNECT` is out.
struct Asked {
    sandbox: OnUpgrade,
    tunnel: Tunnel,
}

/// Serves requests until the connection ends or becomes a tunnel, then carries the tunnel.
pub(super) async fn serve<S>(stream: S, dialer: Dialer)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let asked = Arc::new(Mutex::new(None));
    let service = service_fn(|request| answer(request, dialer.clone(), asked.clone()));
    let served = http_server().serve_connection(TokioIo::new(stream), service).with_upgrades().await;
    if let Err(error) = served {
        tracing::debug!(%error, "egress connection ended");
    }
    if let Some(Asked { sandbox, tunnel }) = asked.lock().await.take()
        && let Ok(sandbox) = sandbox.await
    {
        tunnel.carry(TokioIo::new(sandbox), &dialer).await;
    }
}

/// A server of HTTP/1 with the limits of everything that comes from a sandbox.
pub(super) fn http_server() -> server::Builder {
    let mut builder = server::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_LIMIT).max_buf_size(MAX_HEAD);
    builder
}

async fn answer(
    request: Request<Incoming>,
    dialer: Dialer,
    asked: Arc<Mutex<Option<Asked>>>,
) -> Result<Response<Body>, hyper::Error> {
    let target = request.uri().authority().map(ToString::to_string).unwrap_or_default();
    let answered = if request.method() == Method::CONNECT {
        connect(request, &dialer, &asked).await
    } else {
        forward(request, &dialer).await
    };
    Ok(answered.unwrap_or_else(|refusal| {
        tracing::debug!(%target, reason = %refusal.reason, "egress failed");
        refusal.into_response()
    }))
}

async fn connect(
    request: Request<Incoming>,
    dialer: &Dialer,
    asked: &Mutex<Option<Asked>>,
) -> Result<Response<Body>, Refused> {
    let (host, port) = destination(request.uri(), None)?;
    let tunnel = Tunnel::open(host, port, dialer).await?;
    *asked.lock().await = Some(Asked { sandbox: hyper::upgrade::on(request), tunnel });
    Ok(Response::new(Empty::new().map_err(|never| match never {}).boxed()))
}

async fn forward(mut request: Request<Incoming>, dialer: &Dialer) -> Result<Response<Body>, Refused> {
    if request.uri().authority().is_none() {
        return Err(Refused::bad_request("this is a proxy: send CONNECT, or a request with a whole http:// address"));
    }
    if request.uri().scheme_str() != Some("http") {
        return Err(Refused::bad_request("only http:// can be asked for like this: send CONNECT for other schemes"));
    }
    let (host, port) = destination(request.uri(), Some(80))?;
    strip_hop_headers(request.headers_mut());
    let stream = match dialer.upstream().for_http(&bare(&host)) {
        Some(proxy) => {
            if let Some(value) = proxy.authorization.as_deref().and_then(|value| HeaderValue::from_str(value).ok()) {
                request.headers_mut().insert(header::PROXY_AUTHORIZATION, value);
            }
            dialer.connect_upstream(proxy, &host, port).await?
        }
        None => {
            use_origin_form(&mut request)?;
            dialer.connect(&host, port).await?
        }
    };
    let secrets = dialer.egress().secrets();
    secrets.fill(request.headers_mut(), &host, port, false);
    let mut response = send(request, stream, &host).await?;
    secrets.hide(response.headers_mut(), &host, port);
    Ok(response)
}

async fn send(
    mut request: Request<Incoming>,
    stream: tokio::net::TcpStream,
    host: &str,
) -> Result<Response<Body>, Refused> {
    *request.version_mut() = Version::HTTP_11;
    let failed = |error: hyper::Error| Refused {
        status: StatusCode::BAD_GATEWAY,
        reason: format!("`{host}` did not answer: {error}"),
    };
    let (mut sender, connection) = client::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    tokio::spawn(connection);
    let mut response = sender.send_request(request).await.map_err(failed)?;
    strip_hop_headers(response.headers_mut());
    Ok(response.map(BodyExt::boxed))
}

/// Host and port of a request; `default` is the port of the scheme.
fn destination(uri: &Uri, default: Option<u16>) -> Result<(String, u16), Refused> {
    let authority = uri.authority().ok_or_else(|| Refused::bad_request("no destination"))?;
    if authority.as_str().contains('@') {
        return Err(Refused::bad_request("user and password do not belong into a destination"));
    }
    let port = authority.port_u16().or(default).filter(|port| *port != 0);
    let port = port.ok_or_else(|| Refused::bad_request("the destination needs a port from 1 to 65535"))?;
    Ok((authority.host().to_owned(), port))
}

/// Origin servers want the path alone, and the host in a header that agrees with it.
fn use_origin_form(request: &mut Request<Incoming>) -> Result<(), Refused> {
    let malformed = |_| Refused::bad_request("malformed address");
    let authority = request.uri().authority().map(ToString::to_string).unwrap_or_default();
    request
        .headers_mut()
        .insert(header::HOST, HeaderValue::try_from(authority).map_err(|_| Refused::bad_request("malformed host"))?);
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = if path.is_empty() { Uri::from_static("/") } else { path.parse().map_err(malformed)? };
    Ok(())
}

const HOP_HEADERS: [&str; 8] = [
    "connection",
    "proxy-connection",
    "proxy-authorization",
    "proxy-authenticate",
    "keep-alive",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Removes what concerns one hop only.
pub(super) fn strip_hop_headers(headers: &mut HeaderMap) {
    let values = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<HeaderName> =
        values.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok()).collect();
    for name in named {
        headers.remove(name);
    }
    for name in HOP_HEADERS {
        headers.remove(name);
    }
}

/// A request that is not carried. The reason stands in the status line too, because that is what most clients show.
pub(super) struct Refused {
    pub(super) status: StatusCode,
    pub(super) reason: String,
}

impl Refused {
    pub(super) fn bad_request(reason: &str) -> Self {
        Self { status: StatusCode::BAD_REQUEST, reason: reason.to_owned() }
    }

    pub(super) fn into_response(self) -> Response<Body> {
        let line: Vec<u8> =
            self.reason.bytes().map(|byte| if matches!(byte, b' '..=b'~') { byte } else { b'?' }).collect();
        let body = Full::from(format!("{}\n", self.reason)).map_err(|never| match never {}).boxed();
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        if let Ok(phrase) = ReasonPhrase::try_from(line) {
            response.extensions_mut().insert(phrase);
        }
        response
    }
}

impl From<DialError> for Refused {
    fn from(error: DialError) -> Self {
        let status =
            if matches!(error, DialError::Forbidden(_)) { StatusCode::FORBIDDEN } else { StatusCode::BAD_GATEWAY };
        Self { status, reason: error.to_string() }
    }
}
