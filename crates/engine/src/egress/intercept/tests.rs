use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use pandastack_protocol::egress::{Secret, SecretValue};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::net::TcpListener;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::super::fake::{self, FakeNetwork, PUBLIC};
use super::super::keys::Keys;
use super::super::rules::Rules;
use super::super::sandbox::SandboxEgress;
use super::super::secret::{self, Secrets};
use super::super::upstream::UpstreamProxies;
use super::super::{proxy, tls};
use super::*;

const VALUE: &str = "the-real-value";

/// A sandbox with a secret for `api.example`, beside a server that is `api.example` and `other.example` and repeats what it is told.
struct World {
    egress: Arc<SandboxEgress>,
    network: FakeNetwork,
    placeholder: String,
    /// Trusts the authority of the engine, as sandboxes do.
    inside: TlsConnector,
    /// Trusts the authority of the server.
    public: TlsConnector,
    _folders: [tempfile::TempDir; 2],
}

fn trusting(keys: &Keys) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    let pem = keys.authority().unwrap().pem().to_owned();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(tls::provider()).with_safe_default_protocol_versions().unwrap();
    TlsConnector::from(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

impl World {
    /// The engine trusts the server's authority if `is_trusted`.
    async fn new(is_trusted: bool) -> Self {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [keys, others] = folders.each_ref().map(|folder| Arc::new(Keys::in_folder(folder.path().to_owned())));
        let public = trusting(&others);
        let inside = trusting(&keys);
        keys.use_connector(if is_trusted { public.clone() } else { inside.clone() });
        let hosts = vec!["api.example".to_owned()];
        let asked = BTreeMap::from([("KEY".to_owned(), Secret { value: SecretValue::new(VALUE), hosts })]);
        let records = secret::seal(&asked, &keys).unwrap();
        let secrets = Secrets::open(&records, &keys);
        let egress = SandboxEgress::new("sandbox", Rules::default(), secrets, keys, fake::events());
        let address = echo(others).await;
        let network = FakeNetwork {
            names: Arc::new(HashMap::from([("api.example", vec![PUBLIC]), ("other.example", vec![PUBLIC])])),
            servers: Arc::new(HashMap::from([(PUBLIC, address)])),
            ..FakeNetwork::default()
        };
        let placeholder = records[0].placeholder.clone();
        Self { egress, network, placeholder, inside, public, _folders: folders }
    }

    async fn tunnel(&self, host: &str) -> DuplexStream {
        let (mut near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(proxy::serve(far, fake::dialer(&self.network, UpstreamProxies::default(), &self.egress)));
        near.write_all(format!("CONNECT {host}:443 HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(near.read_u8().await.unwrap());
        }
        assert!(head.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&head));
        near
    }

    async fn connect(&self, host: &str, trust: &TlsConnector) -> std::io::Result<TlsStream<DuplexStream>> {
        trust.connect(ServerName::try_from(host.to_owned()).unwrap(), self.tunnel(host).await).await
    }
}

/// Answers each request with its own head, as body and in a header.
async fn echo(keys: Arc<Keys>) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let keys = keys.clone();
            tokio::spawn(async move {
                let mut first = [0; 512];
                let length = stream.peek(&mut first).await.unwrap();
                let is_other = String::from_utf8_lossy(&first[..length]).contains("other.example");
                let host = if is_other { "other.example" } else { "api.example" };
                let acceptor = keys.authority().unwrap().acceptor(host).unwrap();
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                loop {
                    let mut said = String::new();
                    while !said.ends_with("\r\n\r\n") {
                        let Ok(byte) = stream.read_u8().await else { return };
                        said.push(byte.into());
                    }
                    let authorization = said.lines().find(|line| line.starts_with("authorization")).unwrap_or_default();
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\nx-echo: {authorization}\r\ncontent-length: {}\r\n\r\n{said}",
                        said.len()
                    );
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
            });
        }
    });
    address
}

/// One request and the whole answer to it.
async fn ask(stream: &mut TlsStream<DuplexStream>, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap().into());
    }
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |text| text.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    head + &String::from_utf8_lossy(&body)
}

fn get(host: &str, secret: &str) -> String {
    format!("GET /path?a=b HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {secret}\r\n\r\n")
}

#[tokio::test]
async fn the_host_of_a_secret_gets_the_value_on_every_request() {
    let world = World::new(true).await;
    let mut stream = world.connect("api.example", &world.inside).await.unwrap();
    for _ in 0..3 {
        let answer = ask(&mut stream, &get("api.example", &world.placeholder)).await;
        assert!(answer.contains("GET /path?a=b HTTP/1.1\r\n"), "{answer}");
        assert!(answer.contains(&format!("authorization: Bearer {VALUE}\r\n")), "{answer}");
        let head = answer.split("\r\n\r\n").next().unwrap();
        assert!(head.contains(&world.placeholder) && !head.contains(VALUE), "{head}");
    }
}

#[tokio::test]
async fn another_host_is_spoken_to_as_ever_and_gets_the_placeholder() {
    let world = World::new(true).await;
    assert!(world.connect("other.example", &world.inside).await.is_err(), "the engine answered for another host");
    let mut stream = world.connect("other.example", &world.public).await.unwrap();
    let answer = ask(&mut stream, &get("other.example", &world.placeholder)).await;
    assert!(
        answer.contains(&format!("authorization: bearer {}", world.placeholder).to_lowercase())
            || answer.contains(&world.placeholder)
    );
    assert!(!answer.contains(VALUE), "{answer}");
}

#[tokio::test]
async fn a_request_for_another_host_on_the_same_connection_is_refused() {
    let world = World::new(true).await;
    for request in [
        get("other.example", &world.placeholder),
        get("api.example:8443", &world.placeholder),
        get("api.example\r\nHost: other.example", &world.placeholder),
        get("api.example", &world.placeholder).replace("/path", "https://other.example/path"),
        get("user@api.example", &world.placeholder),
    ] {
        let mut stream = world.connect("api.example", &world.inside).await.unwrap();
        let answer = ask(&mut stream, &request).await;
        assert!(answer.starts_with("HTTP/1.1 421 ") || answer.starts_with("HTTP/1.1 400 "), "{request}{answer}");
        assert!(!answer.contains(VALUE), "{answer}");
    }
    let mut stream = world.connect("api.example", &world.inside).await.unwrap();
    let answer = ask(&mut stream, &get("api.example", &world.placeholder).replace("GET", "TRACE")).await;
    assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
}

#[tokio::test]
async fn a_host_whose_certificate_is_not_trusted_gets_nothing() {
    let world = World::new(false).await;
    let mut stream = world.connect("api.example", &world.inside).await.unwrap();
    let answer = ask(&mut stream, &get("api.example", &world.placeholder)).await;
    assert!(answer.starts_with("HTTP/1.1 502 `api.example` cannot be trusted: "), "{answer}");
}

#[tokio::test]
async fn what_is_no_tls_passes_as_it_is() {
    let world = World::new(true).await;
    let mut tunnel = world.tunnel("api.example").await;
    tunnel.write_all(format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", world.placeholder).as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    tunnel.read_to_end(&mut answer).await.unwrap();
    assert!(!String::from_utf8_lossy(&answer).contains(VALUE));
}
