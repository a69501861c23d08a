use std::collections::HashMap;

use serde_json::{Value, json};

use super::super::fake::{self, FakeNetwork, PUBLIC, server};
use super::*;

async fn dialer(rules: Value) -> (Dialer, FakeNetwork) {
    let server = server(|_| String::new()).await;
    let network = FakeNetwork {
        names: Arc::new(HashMap::from([
            ("good.example", vec![PUBLIC]),
            ("inside.example", vec!["10.0.0.1", "::1"]),
            ("mixed.example", vec!["127.0.0.1", PUBLIC]),
            ("own.example", vec!["203.0.113.99"]),
            ("db.internal", vec!["10.1.2.3"]),
            ("deaf.example", vec!["203.0.113.6"]),
        ])),
        servers: Arc::new(HashMap::from([(PUBLIC, server), ("10.1.2.3", server)])),
        ..FakeNetwork::default()
    };
    (fake::dialer(&network, UpstreamProxies::default(), &fake::egress(rules)), network)
}

#[tokio::test]
async fn the_address_that_was_checked_is_the_one_connected_to() {
    let (dialer, network) = dialer(json!("all")).await;
    dialer.connect("good.example", 443).await.unwrap();
    dialer.connect("mixed.example", 444).await.unwrap();
    let connected: Vec<String> = network.connected.lock().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(connected, ["203.0.113.5:443", "203.0.113.5:444"]);
}

#[tokio::test]
async fn what_is_refused_is_never_connected_to() {
    let (dialer, network) = dialer(json!("all")).await;
    for (host, reason) in [
        ("inside.example", "Forbidden by sandbox policy: loopback destination: `inside.example (::1)`"),
        ("own.example", "Forbidden by sandbox policy: address of the host: `own.example (203.0.113.99)`"),
        ("127.0.0.1", "Forbidden by sandbox policy: loopback destination: `127.0.0.1`"),
        ("203.0.113.99", "Forbidden by sandbox policy: address of the host: `203.0.113.99`"),
        ("metadata.google.internal", "Forbidden by sandbox policy: metadata service: `metadata.google.internal`"),
        ("nowhere.example", "cannot resolve `nowhere.example`: no such name"),
    ] {
        assert_eq!(dialer.connect(host, 80).await.unwrap_err().to_string(), reason);
    }
    assert!(network.connected.lock().unwrap().is_empty());
    let error = dialer.connect("deaf.example", 80).await.unwrap_err();
    assert!(error.to_string().starts_with("cannot connect to `deaf.example:80`: "), "{error}");
}

#[tokio::test]
async fn rules_open_and_close_destinations_and_each_refusal_is_an_event() {
    let rules = json!({"allow": ["good.example:443", "db.internal", "10.1.0.0/16:5432"]});
    let (dialer, network) = dialer(rules).await;
    dialer.connect("good.example", 443).await.unwrap();
    dialer.connect("db.internal", 5432).await.unwrap();
    for (host, port, reason) in [
        ("good.example", 80, "not allowed by the sandbox's egress rules: `good.example:80`"),
        ("mixed.example", 443, "not allowed by the sandbox's egress rules: `mixed.example:443`"),
        ("db.internal", 22, "private destination: `db.internal (10.1.2.3)`"),
        ("10.1.2.3", 22, "private destination: `10.1.2.3`"),
    ] {
        let error = dialer.connect(host, port).await.unwrap_err().to_string();
        assert_eq!(error, format!("Forbidden by sandbox policy: {reason}"));
    }
    assert_eq!(network.connected.lock().unwrap().len(), 2);
    let events = dialer.egress().events().of("sandbox", None).await.unwrap();
    let hosts: Vec<&str> =
        events.iter().filter_map(|event| event.payload.as_ref().and_then(|payload| payload["host"].as_str())).collect();
    assert_eq!(hosts, ["good.example", "mixed.example", "db.internal", "10.1.2.3"]);
    assert!(events.iter().all(|event| event.kind == "egress.denied"));
}

#[tokio::test]
async fn a_name_that_is_not_allowed_is_not_even_resolved() {
    let (dialer, _) = dialer(json!({"allow": ["good.example"]})).await;
    let error = dialer.connect("data-to-carry-out.unknown.example", 443).await.unwrap_err().to_string();
    assert!(error.contains("not allowed"), "{error}");
}

#[tokio::test]
async fn behind_a_proxy_of_the_host_a_name_that_cannot_be_checked_is_refused() {
    let (_, network) = dialer(json!("all")).await;
    let egress = fake::egress(json!({"deny": ["198.51.100.0/24"]}));
    let dialer = fake::dialer(&network, UpstreamProxies::for_tests("http://203.0.113.5:3128"), &egress);
    let error = dialer.tunnel("far.example", 443).await.err().unwrap().to_string();
    assert!(error.contains("cannot be checked"), "{error}");
}

/// A name of an attacker: public when it is asked for first, the metadata service ever after.
#[derive(Default)]
struct Rebinding {
    asked: std::sync::atomic::AtomicUsize,
    connected: std::sync::Mutex<Vec<SocketAddr>>,
}

impl Network for Rebinding {
    fn resolve<'a>(&'a self, _: &'a str) -> super::super::network::Pending<'a, Vec<IpAddr>> {
        let is_first = self.asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        let address = if is_first { PUBLIC } else { "169.254.169.254" };
        Box::pin(async move { Ok(vec![address.parse().unwrap()]) })
    }

    fn connect(&self, address: SocketAddr) -> super::super::network::Pending<'_, TcpStream> {
        self.connected.lock().unwrap().push(address);
        Box::pin(async { Err(io::ErrorKind::ConnectionRefused.into()) })
    }

    fn is_own(&self, _: IpAddr) -> bool {
        false
    }
}

#[tokio::test]
async fn a_name_that_changes_its_address_after_the_check_gains_nothing() {
    let network = Arc::new(Rebinding::default());
    let outside = Outside::with_network(network.clone(), UpstreamProxies::default());
    let dialer = Dialer::new(outside, Carried::new(fake::egress(json!("all"))));
    assert!(matches!(dialer.connect("rebind.example", 80).await, Err(DialError::Unreachable(..))));
    assert!(matches!(dialer.connect("rebind.example", 80).await, Err(DialError::Forbidden(..))));
    let connected = network.connected.lock().unwrap().clone();
    assert_eq!(connected, [SocketAddr::new(PUBLIC.parse().unwrap(), 80)]);
}
