//! A network for tests: names and public addresses that lead to a server on this machine's loopback.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::carried::Carried;
use super::dial::{Dialer, Outside};
use super::keys::Keys;
use super::network::{Network, Pending};
use super::rules::Rules;
use super::sandbox::SandboxEgress;
use super::secret::Secrets;
use super::upstream::UpstreamProxies;
use crate::event::EventLog;
use crate::store::Store;

/// The public address that stands for the server.
pub(super) const PUBLIC: &str = "203.0.113.5";

#[derive(Clone, Default)]
pub(super) struct FakeNetwork {
    pub names: Arc<HashMap<&'static str, Vec<&'static str>>>,
    pub servers: Arc<HashMap<&'static str, SocketAddr>>,
    /// Every address that was connected to.
    pub connected: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Network for FakeNetwork {
    fn resolve<'a>(&'a self, name: &'a str) -> Pending<'a, Vec<IpAddr>> {
        let found =
            self.names.get(name).map(|addresses| addresses.iter().map(|address| address.parse().unwrap()).collect());
        Box::pin(async move { found.ok_or_else(|| io::Error::other("no such name")) })
    }

    fn connect(&self, address: SocketAddr) -> Pending<'_, TcpStream> {
        self.connected.lock().unwrap().push(address);
        let server = self.servers.get(address.ip().to_string().as_str()).copied();
        Box::pin(async move { TcpStream::connect(server.ok_or(io::ErrorKind::ConnectionRefused)?).await })
    }

    fn is_own(&self, address: IpAddr) -> bool {
        address.to_string() == "203.0.113.99"
    }
}

/// The egress of a sandbox without secrets.
pub(super) fn egress(rules: serde_json::Value) -> Arc<SandboxEgress> {
    let rules = Rules::parse(&serde_json::from_value(rules).unwrap()).unwrap();
    let keys = Arc::new(Keys::in_folder("/nonexistent".into()));
    SandboxEgress::new("sandbox", rules, Secrets::default(), keys, events())
}

/// A log in memory.
pub(super) fn events() -> EventLog {
    EventLog::new(Store::open(std::path::Path::new(":memory:")).unwrap())
}

/// What one connection of the sandbox is dialled with.
pub(super) fn dialer(network: &FakeNetwork, upstream: UpstreamProxies, egress: &Arc<SandboxEgress>) -> Dialer {
    Dialer::new(Outside::with_network(Arc::new(network.clone()), upstream), Carried::new(egress.clone()))
}

/// A server that answers each connection's first bytes with `answer(bytes)` and closes.
pub(super) async fn server(answer: impl Fn(String) -> String + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut bytes = vec![0; 65536];
                let length = stream.read(&mut bytes).await.unwrap();
                let said = answer(String::from_utf8_lossy(&bytes[..length]).into_owned());
                stream.write_all(said.as_bytes()).await.unwrap();
            });
        }
    });
    address
}
