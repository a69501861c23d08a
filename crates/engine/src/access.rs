//! Who may use the engine.
//!
//! The Unix socket belongs to one user by its file mode, and needs no key. TCP needs a key, and a `Host` header that no name which an
//! attacker controls can produce (DNS rebinding). There is no CORS: no web page has business here.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap};
use axum::http::uri::Authority;
use axum::http::{StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use pandastack_protocol::error::ErrorCode;

use crate::router::AppState;
use crate::routes::error::{ApiError, excerpt};

/// By which way a request came.
#[derive(Debug, Clone)]
pub enum Access {
    /// The Unix socket.
    Socket,
    /// A TCP port.
    Tcp(Arc<TcpAccess>),
}

/// What is allowed on a TCP port.
#[derive(Debug, Clone, Default)]
pub struct TcpAccess {
    /// True: requests from other machines are welcome, under any address of this one.
    pub remote: bool,
    /// Host names, besides `localhost`, under which the engine may be asked.
    pub names: Vec<String>,
}

/// Says why `address` cannot be listened on, if so.
///
/// # Errors
/// If it is not loopback and `remote` is not set.
pub fn check_listen(address: SocketAddr, remote: bool) -> Result<(), String> {
    if address.ip().is_loopback() || remote {
        return Ok(());
    }
    Err(format!(
        "not a loopback address: `{address}`; other machines could reach it: give --allow-remote if they are meant to"
    ))
}

/// Paths that tell nothing and need no key.
const OPEN: [&str; 4] = ["/healthz", "/v1/healthz", "/version", "/v1/version"];

/// Lets a request through, or refuses it.
pub(crate) async fn check(
    State(state): State<AppState>,
    Extension(access): Extension<Access>,
    request: Request,
    next: Next,
) -> Response {
    let Access::Tcp(tcp) = access else { return next.run(request).await };
    if let Err(refusal) = check_host(&tcp, &request) {
        return refusal.into_response();
    }
    if OPEN.contains(&request.uri().path()) {
        return next.run(request).await;
    }
    let token = match token(request.headers(), request.uri()) {
        Ok(token) => token,
        Err(refusal) => return refusal.into_response(),
    };
    match state.engine.verify_token(&token).await {
        Ok(true) => next.run(request).await,
        Ok(false) => ApiError::unauthorized("invalid api token").into_response(),
        Err(error) => ApiError::from(error).into_response(),
    }
}

fn check_host(access: &TcpAccess, request: &Request) -> Result<(), ApiError> {
    let named = request.headers().get(header::HOST).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let host = named.or_else(|| request.uri().authority().map(Authority::to_string)).unwrap_or_default();
    if is_own_host(access, &host) {
        return Ok(());
    }
    let text = format!(
        "host not allowed: `{}`; use a loopback address, or start the engine with --allow-host",
        excerpt(&host)
    );
    Err(ApiError::new(StatusCode::MISDIRECTED_REQUEST, ErrorCode::Auth, text))
}

fn is_own_host(access: &TcpAccess, host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    if authority.as_str().contains('@') {
        return false;
    }
    let name = authority.host();
    if let Ok(address) = name.trim_matches(['[', ']']).parse::<IpAddr>() {
        return access.remote || address.is_loopback();
    }
    name.eq_ignore_ascii_case("localhost") || access.names.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
}

/// The key of a request: `Authorization: Bearer`, or `?access_token=` where headers cannot be set.
fn token(headers: &HeaderMap, uri: &Uri) -> Result<String, ApiError> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let value = value.to_str().unwrap_or_default();
        return match value.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty() => {
                Ok(token.trim().to_owned())
            }
            _ => Err(ApiError::unauthorized("missing bearer token")),
        };
    }
    let query = uri.query().unwrap_or_default();
    let found =
        url::form_urlencoded::parse(query.as_bytes()).find(|(key, token)| key == "access_token" && !token.is_empty());
    found.map(|(_, token)| token.into_owned()).ok_or_else(|| ApiError::unauthorized("missing bearer token"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_hosts_are_allowed_by_default() {
        let access = TcpAccess::default();
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "127.9.9.9", "[::1]:80", "[::1]"] {
            assert!(is_own_host(&access, host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example:80",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "0.0.0.0",
            "[::]",
            "a@localhost",
            "localhost, evil",
            "127.0.0.1:80:80",
        ] {
            assert!(!is_own_host(&access, host), "{host}");
        }
    }

    #[test]
    fn remote_access_takes_addresses_and_listed_names() {
        let access = TcpAccess { remote: true, names: vec!["box.example".into()] };
        assert!(is_own_host(&access, "10.0.0.1:80") && is_own_host(&access, "Box.Example"));
        assert!(!is_own_host(&access, "other.example"));
    }

    #[test]
    fn other_addresses_need_the_flag() {
        assert!(check_listen("127.0.0.1:80".parse().unwrap(), false).is_ok());
        assert!(check_listen("[::1]:80".parse().unwrap(), false).is_ok());
        assert!(check_listen("0.0.0.0:80".parse().unwrap(), false).unwrap_err().contains("--allow-remote"));
        assert!(check_listen("0.0.0.0:80".parse().unwrap(), true).is_ok());
    }

    #[test]
    fn keys_come_from_the_header_or_else_from_the_query() {
        let read = |authorization: Option<&str>, uri: &str| {
            let headers = authorization.map(|value| (header::AUTHORIZATION, value.parse().unwrap()));
            token(&headers.into_iter().collect(), &uri.parse().unwrap()).map_err(|error| error.body.detail.unwrap())
        };
        assert_eq!(read(Some("bearer  pds_a "), "/"), Ok("pds_a".into()));
        assert_eq!(read(None, "/?a=b&access_token=pds_b"), Ok("pds_b".into()));
        for (authorization, uri) in
            [(None, "/"), (None, "/?access_token="), (Some("Basic x"), "/?access_token=pds_b"), (Some("Bearer "), "/")]
        {
            assert_eq!(read(authorization, uri), Err("missing bearer token".into()));
        }
    }
}
