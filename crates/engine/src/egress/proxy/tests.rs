use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::super::fake::{self, FakeNetwork, PUBLIC, server};
use super::super::upstream::UpstreamProxies;
use super::serve;

async fn client(answer: impl Fn(String) -> String + Send + Sync + 'static) -> DuplexStream {
    client_with(answer, UpstreamProxies::default()).await
}

async fn client_with(
    answer: impl Fn(String) -> String + Send + Sync + 'static,
    upstream: UpstreamProxies,
) -> DuplexStream {
    let address = server(answer).await;
    let network = FakeNetwork {
        names: Arc::new(HashMap::from([
            ("good.example", vec![PUBLIC]),
            ("bad.example", vec!["169.254.169.254"]),
            ("proxy.corp.example", vec!["10.0.0.7"]),
        ])),
        servers: Arc::new(HashMap::from([(PUBLIC, address), ("10.0.0.7", address)])),
        ..FakeNetwork::default()
    };
    let (near, far) = tokio::io::duplex(1 << 16);
    tokio::spawn(serve(far, fake::dialer(&network, upstream, &fake::egress(json!("all")))));
    near
}

/// Says `bytes`, then reads up to the end.
async fn exchange(mut client: DuplexStream, bytes: &[u8]) -> String {
    client.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

async fn read_until(client: &mut DuplexStream, end: &str) -> String {
    let mut text = String::new();
    while !text.ends_with(end) {
        text.push(client.read_u8().await.unwrap().into());
    }
    text
}

#[tokio::test]
async fn connect_makes_a_tunnel() {
    let mut client = client(|said| format!("echo {said}")).await;
    client.write_all(b"CONNECT good.example:443 HTTP/1.1\r\nHost: good.example:443\r\n\r\n").await.unwrap();
    let head = read_until(&mut client, "\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_eq!(exchange(client, b"hello").await, "echo hello");
}

#[tokio::test]
async fn bytes_sent_along_with_connect_reach_the_other_end() {
    let client = client(|said| format!("echo {said}")).await;
    let answer = exchange(client, b"CONNECT good.example:443 HTTP/1.1\r\n\r\nearly").await;
    assert!(answer.ends_with("echo early"), "{answer}");
}

#[tokio::test]
async fn absolute_form_is_sent_on_in_origin_form_without_hop_headers() {
    let client = client(|said| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{said}", said.len())).await;
    let request = "GET http://good.example/a?b=c HTTP/1.1\r\nHost: other.example\r\nProxy-Authorization: x\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nX-Kept: 1\r\n\r\n";
    let answer = exchange(client, request.as_bytes()).await.to_ascii_lowercase();
    assert!(answer.starts_with("http/1.1 200 ok\r\n"), "{answer}");
    assert!(answer.contains("get /a?b=c http/1.1\r\n"), "{answer}");
    assert!(answer.contains("host: good.example\r\n") && answer.contains("x-kept: 1\r\n"), "{answer}");
    for gone in ["proxy-authorization", "x-hop", "other.example"] {
        assert!(!answer.contains(gone), "{answer}");
    }
}

#[tokio::test]
async fn refusals_say_why_in_the_status_line_and_in_the_body() {
    for (request, status) in [
        ("CONNECT 127.0.0.1:22 HTTP/1.1", "403 Forbidden by sandbox policy: loopback destination: `127.0.0.1`"),
        (
            "CONNECT bad.example:80 HTTP/1.1",
            "403 Forbidden by sandbox policy: metadata service: `bad.example (169.254.169.254)`",
        ),
        (
            "GET http://169.254.169.254/latest HTTP/1.1",
            "403 Forbidden by sandbox policy: metadata service: `169.254.169.254`",
        ),
        (
            "GET http://[::ffff:10.0.0.1]/ HTTP/1.1",
            "403 Forbidden by sandbox policy: private destination: `::ffff:10.0.0.1`",
        ),
        ("CONNECT no.example:443 HTTP/1.1", "502 cannot resolve `no.example`: no such name"),
        ("CONNECT good.example HTTP/1.1", "400 the destination needs a port from 1 to 65535"),
        ("GET / HTTP/1.1", "400 this is a proxy: send CONNECT, or a request with a whole http:// address"),
        (
            "GET https://good.example/ HTTP/1.1",
            "400 only http:// can be asked for like this: send CONNECT for other schemes",
        ),
        ("GET http://u:p@good.example/ HTTP/1.1", "400 user and password do not belong into a destination"),
    ] {
        let client = client(|_| panic!("reached the outside")).await;
        let answer = exchange(client, format!("{request}\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request}: {answer}");
        assert!(answer.ends_with(&format!("\r\n\r\n{}\n", &status[4..])), "{request}: {answer}");
    }
}

#[tokio::test]
async fn a_head_without_end_is_cut_off() {
    let client = client(|_| String::new()).await;
    let head = format!("GET http://good.example/ HTTP/1.1\r\nX: {}", "x".repeat(100 << 10));
    let (mut reader, mut writer) = tokio::io::split(client);
    let writing = tokio::spawn(async move { writer.write_all(head.as_bytes()).await });
    let mut answer = Vec::new();
    reader.read_to_end(&mut answer).await.unwrap();
    writing.abort();
    assert!(answer.starts_with(b"HTTP/1.1 431 "), "{}", String::from_utf8_lossy(&answer));
}

#[tokio::test(start_paused = true)]
async fn one_who_says_nothing_is_cut_off() {
    for said in ["", "G", "GET http://good.example/ HTTP/1.1\r\n", "\x05"] {
        let client = client(|_| String::new()).await;
        exchange(client, said.as_bytes()).await;
    }
}

#[tokio::test]
async fn socks_makes_a_tunnel_or_refuses() {
    let mut client = client(|said| format!("echo {said}")).await;
    client.write_all(b"\x05\x01\x00\x05\x01\x00\x03\x0cgood.example\x01\xbb").await.unwrap();
    let mut replies = [0; 12];
    client.read_exact(&mut replies).await.unwrap();
    assert_eq!(replies[..4], [5, 0, 5, 0]);
    assert_eq!(exchange(client, b"hi").await, "echo hi");
    for (request, reply) in [
        ("\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50", 2),
        ("\x05\x01\x00\x05\x02\x00\x01\x01\x01\x01\x01\x00\x50", 7),
    ] {
        let answer = exchange(self::client(|_| String::new()).await, request.as_bytes()).await;
        assert_eq!(answer.as_bytes()[..4], [5, 0, 5, reply]);
    }
}

#[tokio::test]
async fn the_proxy_of_the_host_is_used_after_the_checks() {
    let upstream = || UpstreamProxies::for_tests("http://me:secret@proxy.corp.example:3128");
    let answer =
        |said: String| if said.starts_with("CONNECT") { format!("HTTP/1.1 200 OK\r\n\r\n{said}") } else { said };
    let client = client_with(answer, upstream()).await;
    let tunnelled = exchange(client, b"CONNECT far.example:443 HTTP/1.1\r\n\r\n").await;
    assert!(
        tunnelled
            .to_ascii_lowercase()
            .contains("connect far.example:443 http/1.1\r\nhost: far.example:443\r\nproxy-authorization: basic "),
        "{tunnelled}"
    );
    for refused in ["bad.example:80", "localhost:80", "10.0.0.7:3128", "2130706433:80"] {
        let client = client_with(|_| panic!("reached the proxy"), upstream()).await;
        let answer =
            exchange(client, format!("CONNECT {refused} HTTP/1.1\r\nConnection: close\r\n\r\n").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{refused}: {answer}");
    }
}

/// A tunnel to `good.example`, which is open, and the rules that it is under.
async fn open_tunnel() -> (DuplexStream, Arc<super::super::SandboxEgress>) {
    let address = server(|said| said).await;
    let network = FakeNetwork {
        names: Arc::new(HashMap::from([("good.example", vec![PUBLIC])])),
        servers: Arc::new(HashMap::from([(PUBLIC, address)])),
        ..FakeNetwork::default()
    };
    let (mut near, far) = tokio::io::duplex(1 << 16);
    let egress = fake::egress(json!("all"));
    tokio::spawn(serve(far, fake::dialer(&network, UpstreamProxies::default(), &egress)));
    near.write_all(b"CONNECT good.example:443 HTTP/1.1\r\n\r\n").await.unwrap();
    assert!(read_until(&mut near, "\r\n\r\n").await.starts_with("HTTP/1.1 200 "));
    (near, egress)
}

fn rules(egress: serde_json::Value) -> super::super::rules::Rules {
    super::super::rules::Rules::parse(&serde_json::from_value(egress).unwrap()).unwrap()
}

#[tokio::test]
async fn a_tunnel_that_is_no_longer_allowed_is_closed() {
    for refusing in [json!("none"), json!({"deny": ["good.example"]}), json!({"deny": ["203.0.113.0/24:443"]})] {
        let (mut tunnel, egress) = open_tunnel().await;
        egress.set_rules(rules(refusing));
        let mut rest = Vec::new();
        tunnel.read_to_end(&mut rest).await.unwrap();
        assert!(rest.is_empty());
    }
}

#[tokio::test]
async fn a_tunnel_that_stays_allowed_stays_open() {
    let (tunnel, egress) = open_tunnel().await;
    egress.set_rules(rules(json!({"allow": ["good.example"]})));
    tokio::task::yield_now().await;
    assert_eq!(exchange(tunnel, b"still here").await, "still here");
}
