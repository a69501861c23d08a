//! From a destination's name to a connection, past the policy.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::carried::{Carried, Reached};
use super::connect;
use super::network::{HostNetwork, Network};
use super::policy::{Destination, Kind, Refusal};
use super::sandbox::SandboxEgress;
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

/// The way to the outside that all sandboxes share. Cheap to clone.
#[derive(Clone)]
pub struct Outside {
    network: Arc<dyn Network>,
    upstream: Arc<UpstreamProxies>,
}

impl Outside {
    /// The host's network.
    pub fn new(upstream: UpstreamProxies) -> Self {
        Self::with_network(Arc::new(HostNetwork), upstream)
    }

    /// Any network.
    pub fn with_network(network: Arc<dyn Network>, upstream: UpstreamProxies) -> Self {
        Self { network, upstream: Arc::new(upstream) }
    }
}

/// Opens what one connection of a sandbox asks for. Cheap to clone.
#[derive(Clone)]
pub(super) struct Dialer {
    outside: Outside,
    carried: Arc<Carried>,
}

impl Dialer {
    pub(super) fn new(outside: Outside, carried: Arc<Carried>) -> Self {
        Self { outside, carried }
    }

    /// The connection that it dials for.
    pub(super) fn carried(&self) -> Arc<Carried> {
        Arc::clone(&self.carried)
    }

    /// The sandbox that it dials for.
    pub(super) fn egress(&self) -> &SandboxEgress {
        self.carried.egress()
    }

    /// The host's own proxies.
    pub(super) fn upstream(&self) -> &UpstreamProxies {
        &self.outside.upstream
    }

    /// A tunnel to `host`, through the host's own proxy if it has one for it.
    pub(super) async fn tunnel(&self, host: &str, port: u16) -> Result<Box<dyn Stream>, DialError> {
        let Some(proxy) = self.upstream().for_tunnel(&bare(host)) else {
            return Ok(Box::new(self.connect(host, port).await?));
        };
        let stream = self.connect_upstream(proxy, host, port).await?;
        let tunnel = timeout(CONNECT_LIMIT, connect::through(stream, proxy, host, port)).await;
        let tunnel = tunnel.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        Ok(Box::new(tunnel.map_err(|error| DialError::Unreachable(format!("{host}:{port}"), error))?))
    }

    /// Connects to `host` itself. The addresses that were checked are the ones connected to.
    pub(super) async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, DialError> {
        let connected = self.connect_checked(host, port).await;
        self.note_refusal(host, port, connected)
    }

    /// Connects to the host's own proxy, which is to reach `host`.
    ///
    /// The proxy resolves the name; a name that this machine too can resolve must also lead to what is allowed.
    pub(super) async fn connect_upstream(
        &self,
        proxy: &UpstreamProxy,
        host: &str,
        port: u16,
    ) -> Result<TcpStream, DialError> {
        let connected = self.connect_upstream_checked(proxy, host, port).await;
        self.note_refusal(host, port, connected)
    }

    async fn connect_checked(&self, host: &str, port: u16) -> Result<TcpStream, DialError> {
        let destination = self.check_destination(host, port)?;
        let addresses = match &destination {
            Destination::Address(address) => vec![*address],
            Destination::Name(name) => self.allowed(host, port, self.resolve(name).await?)?,
        };
        let stream = self.connect_any(host, port, &addresses).await?;
        let address = stream.0;
        self.carried.reach(Reached { destination, port, address: Some((address, self.is_own(address))) })?;
        Ok(stream.1)
    }

    async fn connect_upstream_checked(
        &self,
        proxy: &UpstreamProxy,
        host: &str,
        port: u16,
    ) -> Result<TcpStream, DialError> {
        let destination = self.check_destination(host, port)?;
        if let Destination::Name(name) = &destination {
            match timeout(Duration::from_secs(1), self.outside.network.resolve(name)).await {
                Ok(Ok(addresses)) if !addresses.is_empty() => drop(self.allowed(host, port, addresses)?),
                _ if self.egress().rules().need_addresses() => {
                    return Err(Kind::Unchecked.refuse(format!("{name}:{port}")).into());
                }
                _ => {}
            }
        }
        let addresses = match proxy.host.parse() {
            Ok(address) => vec![address],
            Err(_) => self.resolve(&proxy.host).await?,
        };
        let (_, stream) = self.connect_any(&proxy.host, proxy.port, &addresses).await?;
        self.carried.reach(Reached { destination, port, address: None })?;
        Ok(stream)
    }

    /// What `host` is, if the sandbox may ask for it.
    fn check_destination(&self, host: &str, port: u16) -> Result<Destination, Refusal> {
        self.carried.begin();
        let destination = Destination::parse(host)?;
        let is_own = matches!(destination, Destination::Address(address) if self.is_own(address));
        self.egress().rules().check_destination(&destination, port, is_own)?;
        Ok(destination)
    }

    fn is_own(&self, address: IpAddr) -> bool {
        self.outside.network.is_own(address)
    }

    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, DialError> {
        let found = timeout(RESOLVE_LIMIT, self.outside.network.resolve(name))
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let addresses = found.map_err(|error| DialError::Unresolvable(name.to_owned(), error))?;
        if addresses.is_empty() {
            return Err(DialError::Unresolvable(name.to_owned(), io::Error::other("no addresses")));
        }
        Ok(addresses)
    }

    /// The addresses of a name that may be connected to; a refusal if there are none.
    fn allowed(&self, host: &str, port: u16, addresses: Vec<IpAddr>) -> Result<Vec<IpAddr>, Refusal> {
        let rules = self.egress().rules();
        let mut refusal = None;
        let mut allowed = Vec::new();
        for address in addresses {
            match rules.check_address(address, port, self.is_own(address)) {
                Ok(()) => allowed.push(address),
                Err(kind) => refusal = Some((kind, address)),
            }
        }
        match refusal {
            Some((kind, address)) if allowed.is_empty() => Err(kind.refuse(format!("{host} ({address})"))),
            _ => Ok(allowed),
        }
    }

    async fn connect_any(&self, host: &str, port: u16, addresses: &[IpAddr]) -> Result<(IpAddr, TcpStream), DialError> {
        let mut last = io::Error::other("no addresses");
        for address in addresses.iter().take(MOST_ADDRESSES) {
            match timeout(CONNECT_LIMIT, self.outside.network.connect(SocketAddr::new(*address, port))).await {
                Ok(Ok(stream)) => return Ok((*address, stream)),
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(DialError::Unreachable(format!("{host}:{port}"), last))
    }

    /// What the policy refused is an event of the sandbox.
    fn note_refusal<T>(&self, host: &str, port: u16, outcome: Result<T, DialError>) -> Result<T, DialError> {
        if let Err(DialError::Forbidden(refusal)) = &outcome {
            self.egress().note_refusal(host, port, refusal);
        }
        outcome
    }
}

/// `host` as exceptions of the host's own proxies are written: lower-case, without brackets and final dot.
pub(super) fn bare(host: &str) -> String {
    host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
