//! How the proxy reaches the outside: one seam, so that tests need no internet.

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::pin::Pin;

use tokio::net::TcpStream;

/// A boxed future of a [`Network`].
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// Names to addresses, addresses to connections.
pub trait Network: Send + Sync {
    /// The addresses of `name`, best first.
    fn resolve<'a>(&'a self, name: &'a str) -> Pending<'a, Vec<IpAddr>>;

    /// Connects to exactly this address.
    fn connect(&self, address: SocketAddr) -> Pending<'_, TcpStream>;

    /// True if `address` belongs to this machine.
    fn is_own(&self, address: IpAddr) -> bool;
}

/// The network of the host.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostNetwork;

impl Network for HostNetwork {
    fn resolve<'a>(&'a self, name: &'a str) -> Pending<'a, Vec<IpAddr>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect()) })
    }

    fn connect(&self, address: SocketAddr) -> Pending<'_, TcpStream> {
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        })
    }

    fn is_own(&self, address: IpAddr) -> bool {
        source_of(address).is_ok_and(|source| source == address)
    }
}

/// The address this machine would send from to reach `address`. Connecting a datagram socket sends nothing.
fn source_of(address: IpAddr) -> io::Result<IpAddr> {
    let any: IpAddr = if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect((address, 9))?;
    Ok(socket.local_addr()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_addresses_are_known() {
        assert!(HostNetwork.is_own("127.0.0.1".parse().unwrap()));
        assert!(!HostNetwork.is_own("203.0.113.1".parse().unwrap()));
    }
}
