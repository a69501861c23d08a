use std::collections::VecDeque;
use std::sync::Mutex;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use serde_json::json;

use super::super::fake::{self, FakeNetwork};
use super::super::upstream::UpstreamProxies;
use super::*;

#[derive(Clone, Default)]
struct Queue(Arc<Mutex<VecDeque<DuplexStream>>>);

impl Accept for Queue {
    async fn accept(&self) -> Result<Box<dyn Stream>, EngineError> {
        let next = self.0.lock().unwrap().pop_front();
        match next {
            Some(stream) => Ok(Box::new(stream)),
            None => {
                tokio::time::sleep(Duration::from_millis(5)).await;
                Err(EngineError::Internal("nobody connects".into()))
            }
        }
    }
}

fn outside() -> Outside {
    Outside::with_network(Arc::new(FakeNetwork::default()), UpstreamProxies::default())
}

/// Connects, and says the beginning of a request or all of it.
async fn connect(queue: &Queue, said: &str) -> DuplexStream {
    let (mut near, far) = tokio::io::duplex(4096);
    queue.0.lock().unwrap().push_back(far);
    near.write_all(said.as_bytes()).await.unwrap();
    near
}

#[tokio::test]
async fn every_connection_is_served_and_none_outlives_the_gateway() {
    let queue = Queue::default();
    let mut clients = Vec::new();
    for _ in 0..20 {
        let (near, far) = tokio::io::duplex(4096);
        queue.0.lock().unwrap().push_back(far);
        clients.push(near);
    }
    let gateway = tokio::spawn(serve(queue, outside(), fake::egress(json!("all"))));
    for client in &mut clients {
        client.write_all(b"CONNECT localhost:1 HTTP/1.1\r\n\r\n").await.unwrap();
        let mut answer = [0; 13];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 403 ");
    }
    gateway.abort();
    for mut client in clients {
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).await.unwrap();
    }
}

#[derive(Clone)]
struct Gone;

impl Accept for Gone {
    async fn accept(&self) -> Result<Box<dyn Stream>, EngineError> {
        Err(EngineError::SandboxGone { id: "x".into(), reason: "deleted".into() })
    }
}

#[tokio::test]
async fn a_gateway_ends_with_its_sandbox() {
    serve(Gone, outside(), fake::egress(json!("all"))).await;
}

#[tokio::test]
async fn connections_that_say_nothing_make_room_for_those_that_do() {
    let queue = Queue::default();
    let mut slow = Vec::new();
    for _ in 0..300 {
        slow.push(connect(&queue, "GET http://a.example/ HT").await);
    }
    let mut honest = connect(&queue, "CONNECT localhost:1 HTTP/1.1\r\n\r\n").await;
    let gateway = tokio::spawn(serve(queue, outside(), fake::egress(json!("all"))));
    let mut answer = [0; 13];
    let answered = honest.read_exact(&mut answer);
    tokio::time::timeout(Duration::from_secs(5), answered).await.expect("slow connections block others").unwrap();
    assert_eq!(&answer, b"HTTP/1.1 403 ");
    gateway.abort();
}

#[tokio::test]
async fn one_more_than_all_places_is_refused_at_once() {
    let queue = Queue::default();
    let mut held = Vec::new();
    for _ in 0..MOST_CONNECTIONS {
        held.push(connect(&queue, "CONNECT localhost:1 HTTP/1.1\r\n\r\n").await);
    }
    let gateway = tokio::spawn(serve(queue.clone(), outside(), fake::egress(json!("all"))));
    for client in &mut held {
        client.read_u8().await.unwrap();
    }
    let mut more = connect(&queue, "").await;
    let mut answer = String::new();
    more.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 503 too many connections"), "{answer}");
    assert!(answer.ends_with("\r\n\r\ntoo many connections of this sandbox: 256"), "{answer}");
    gateway.abort();
}
