use std::collections::VecDeque;
use std::sync::Mutex;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::super::fake::FakeNetwork;
use super::super::upstream::UpstreamProxies;
use super::*;

#[derive(Clone, Default)]
struct Queue(Arc<Mutex<VecDeque<DuplexStream>>>);

impl Accept for Queue {
    async fn accept(&self) -> Result<Box<dyn Stream>, EngineError> {
        let next = self.0.lock().unwrap().pop_front();
        match next {
            Some(stream) => Ok(Box::new(stream)),
            None => std::future::pending().await,
        }
    }
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
    let dialer = Dialer::with_network(Arc::new(FakeNetwork::default()), UpstreamProxies::default());
    let gateway = tokio::spawn(serve(queue, dialer));
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
    let dialer = Dialer::with_network(Arc::new(FakeNetwork::default()), UpstreamProxies::default());
    serve(Gone, dialer).await;
}
