//! From a destination's name to a connection, past the policy.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::connect;
use super::network::{HostNetwork, Network};
use super::policy::{self, Destination, Kind, Refusal};
use super::upstream::{UpstreamProxies, UpstreamProxy};

const RESOLVE_LIMIT: Duration = Duration::from_secs(10);
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Addresses of one name that are tried before giving up.
const MOST_ADDRESSES: usize = 4;

/// Why a destination was not reached.
#[derive(Debug, Error)]
pub enum DialError {
    /// The policy forbids it.
    #[error("Forbidden by sandbox policy: {0}")]
    Forbidden(#[from] Refusal),
    /// No address is known for the name.
    #[error("cannot resolve `{0}`: {1}")]
    Unresolvable(String, io::Error),
    /// No address took the connection.
    #[error("cannot connect to `{0}`: {1}")]
    Unreachable(String, io::Error),
}

/// Bytes in both directions.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Opens connections for sandboxes. Cheap to clone.
#[derive(Clone)]
pub struct Dialer {
    network: Arc<dyn Network>,
    upstream: Arc<UpstreamProxies>,
}

impl Dialer {
    /// A dialer on the host's network.
    pub fn new(upstream: UpstreamProxies) -> Self {
        Self::with_network(Arc::new(HostNetwork), upstream)
    }

    /// A dialer on any network.
    pub fn with_network(network: Arc<dyn Network>, upstream: UpstreamProxies) -> Self {
        Self { network, upstream: Arc::new(upstream) }
    }

    /// The host's own proxies.
    pub fn upstream(&self) -> &UpstreamProxies {
        &self.upstream
    }

    /// A tunnel to `host`, through the host's own proxy if it has one for it.
    pub async fn tunnel(&self, host: &str, port: u16) -> Result<Box<dyn Stream>, DialError> {
        let Some(proxy) = self.upstream.for_tunnel(&bare(host)) else {
            return Ok(Box::new(self.connect(host, port).await?));
        };
        let stream = self.connect_upstream(proxy, host).await?;
        let tunnel = timeout(CONNECT_LIMIT, connect::through(stream, proxy, host, port)).await;
        let tunnel = tunnel.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        Ok(Box::new(tunnel.map_err(|error| DialError::Unreachable(format!("{host}:{port}"), error))?))
    }

    /// Connects to `host` itself. The addresses that were checked are the ones connected to.
    pub async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, DialError> {
        let addresses = match policy::check_host(host)? {
            Destination::Address(address) => self.allowed(host, vec![address])?,
            Destination::Name(name) => self.allowed(host, self.resolve(&name).await?)?,
        };
        self.connect_any(host, port, &addresses).await
    }

    /// Connects to the host's own proxy, which is to reach `host`.
    ///
    /// The proxy resolves the name; a name that this machine too can resolve must also lead to the public internet.
    pub async fn connect_upstream(&self, proxy: &UpstreamProxy, host: &str) -> Result<TcpStream, DialError> {
        if let Destination::Name(name) = policy::check_host(host)?
            && let Ok(Ok(addresses)) = timeout(Duration::from_secs(1), self.network.resolve(&name)).await
            && !addresses.is_empty()
        {
            self.allowed(host, addresses)?;
        }
        let addresses = match proxy.host.parse() {
            Ok(address) => vec![address],
            Err(_) => self.resolve(&proxy.host).await?,
        };
        self.connect_any(&proxy.host, proxy.port, &addresses).await
    }

    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, DialError> {
        let found = timeout(RESOLVE_LIMIT, self.network.resolve(name))
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let addresses = found.map_err(|error| DialError::Unresolvable(name.to_owned(), error))?;
        if addresses.is_empty() {
            return Err(DialError::Unresolvable(name.to_owned(), io::Error::other("no addresses")));
        }
        Ok(addresses)
    }

    /// The addresses that may be connected to; a refusal if there are none.
    fn allowed(&self, host: &str, addresses: Vec<IpAddr>) -> Result<Vec<IpAddr>, Refusal> {
        let mut refusal = None;
        let mut allowed = Vec::new();
        for address in addresses {
            match self.check(address) {
                Ok(()) => allowed.push(address),
                Err(kind) => refusal = Some((kind, address)),
            }
        }
        match refusal {
            Some((kind, address)) if allowed.is_empty() => {
                let destination =
                    if host.contains(&address.to_string()) { host.to_owned() } else { format!("{host} ({address})") };
                Err(Refusal { kind, destination })
            }
            _ => Ok(allowed),
        }
    }

    fn check(&self, address: IpAddr) -> Result<(), Kind> {
        policy::check_address(address).map_err(|refusal| refusal.kind)?;
        if self.network.is_own(address) { Err(Kind::Host) } else { Ok(()) }
    }

    async fn connect_any(&self, host: &str, port: u16, addresses: &[IpAddr]) -> Result<TcpStream, DialError> {
        let mut last = io::Error::other("no addresses");
        for address in addresses.iter().take(MOST_ADDRESSES) {
            match timeout(CONNECT_LIMIT, self.network.connect(SocketAddr::new(*address, port))).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(DialError::Unreachable(format!("{host}:{port}"), last))
    }
}

/// `host` as exceptions of the host's own proxies are written: lower-case, without brackets and final dot.
pub(super) fn bare(host: &str) -> String {
    host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
