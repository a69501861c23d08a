use std::collections::HashMap;

use super::super::fake::{FakeNetwork, PUBLIC, server};
use super::*;

async fn dialer() -> (Dialer, FakeNetwork) {
    let server = server(|_| String::new()).await;
    let network = FakeNetwork {
        names: Arc::new(HashMap::from([
            ("good.example", vec![PUBLIC]),
            ("inside.example", vec!["10.0.0.1", "::1"]),
            ("mixed.example", vec!["127.0.0.1", PUBLIC]),
            ("own.example", vec!["203.0.113.99"]),
            ("deaf.example", vec!["203.0.113.6"]),
        ])),
        servers: Arc::new(HashMap::from([(PUBLIC, server)])),
        ..FakeNetwork::default()
    };
    (Dialer::with_network(Arc::new(network.clone()), UpstreamProxies::default()), network)
}

#[tokio::test]
async fn the_address_that_was_checked_is_the_one_connected_to() {
    let (dialer, network) = dialer().await;
    dialer.connect("good.example", 443).await.unwrap();
    dialer.connect("mixed.example", 444).await.unwrap();
    let connected: Vec<String> = network.connected.lock().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(connected, ["203.0.113.5:443", "203.0.113.5:444"]);
}

#[tokio::test]
async fn what_is_refused_is_never_connected_to() {
    let (dialer, network) = dialer().await;
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
