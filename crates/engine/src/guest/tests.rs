//! The connection against an agent in this process.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use pandastack_guest_protocol::context::RunRequest;
use pandastack_guest_protocol::exec::ExecRequest;
use pandastack_guest_protocol::frame;
use pandastack_guest_protocol::hello::{Hello, HelloAck};
use pandastack_guest_protocol::record::{Decoder, Kind, MARKER, Record, encode};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::net::unix::pipe;

use super::*;
use crate::error::EngineError;
use crate::runsc::GuestStdio;

mod liar;

const DEADLINE: Duration = Duration::from_secs(20);

/// The agent's ends of the pipes.
struct Agent {
    input: pipe::Receiver,
    output: pipe::Sender,
    decoder: Decoder,
}

/// A connection and the agent at its other end.
struct Pair {
    connection: Arc<Connection>,
    agent: Agent,
    _folder: tempfile::TempDir,
}

impl Pair {
    fn new(in_step: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let stdio = GuestStdio::of(folder.path());
        stdio.make().unwrap();
        let connection = Connection::open("sandbox-1", &stdio, 0, in_step).unwrap();
        let mut options = pipe::OpenOptions::new();
        options.read_write(true);
        let agent = Agent {
            input: options.open_receiver(&stdio.stdin).unwrap(),
            output: options.open_sender(&stdio.stdout).unwrap(),
            decoder: Decoder::skipping(),
        };
        Self { connection, agent, _folder: folder }
    }

    /// A pair in its first epoch, whose agent serves.
    async fn serving() -> (GuestClient, Arc<Served>, tempfile::TempDir) {
        let Self { connection, agent, _folder } = Self::new(true);
        let served = Arc::new(Served::default());
        tokio::spawn(agent.serve(Arc::clone(&served)));
        connection.hello(&Hello::default(), DEADLINE).await.unwrap();
        (connection.client(&Arc::default()), served, _folder)
    }

    async fn hello(&self) -> Result<HelloAck, EngineError> {
        self.connection.hello(&Hello::default(), DEADLINE).await
    }
}

/// What the agent did.
#[derive(Default)]
struct Served {
    flood_bytes: AtomicUsize,
    frozen: AtomicUsize,
    epochs: AtomicUsize,
}

impl Agent {
    async fn receive(&mut self) -> Record {
        loop {
            if let Some(record) = self.decoder.next_record().unwrap() {
                return record;
            }
            let mut bytes = [0; 65536];
            let length = self.input.read(&mut bytes).await.unwrap();
            self.decoder.push(&bytes[..length]);
        }
    }

    async fn send(&mut self, kind: Kind, payload: &[u8]) {
        let mut bytes = Vec::new();
        encode(kind, payload, &mut bytes);
        self.output.write_all(&bytes).await.unwrap();
    }

    async fn acknowledge(&mut self, hello: &Record) {
        let hello: Hello = serde_json::from_slice(&hello.payload).unwrap();
        let ack = HelloAck { epoch: hello.epoch, version: "1".into(), kernel_ready: true };
        self.send(Kind::HelloAck, &serde_json::to_vec(&ack).unwrap()).await;
    }

    /// Answers like the real agent, as far as the tests need it.
    async fn serve(mut self, served: Arc<Served>) {
        let mut to_http: Option<WriteHalf<DuplexStream>> = None;
        let mut from_http: Option<ReadHalf<DuplexStream>> = None;
        let mut frozen = false;
        loop {
            let mut bytes = vec![0; 65536];
            tokio::select! {
                record = self.receive() => match record.kind {
                    Kind::Hello => {
                        frozen = false;
                        served.epochs.fetch_add(1, Ordering::SeqCst);
                        self.acknowledge(&record).await;
                        let (ours, theirs) = tokio::io::duplex(1 << 20);
                        let (read, write) = tokio::io::split(ours);
                        (to_http, from_http) = (Some(write), Some(read));
                        let served = Arc::clone(&served);
                        tokio::spawn(hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                            .serve_connection(TokioIo::new(theirs), service_fn(move |request| answer(request, Arc::clone(&served)))));
                    }
                    Kind::Mux => to_http.as_mut().unwrap().write_all(&record.payload).await.unwrap(),
                    Kind::Freeze => {
                        frozen = true;
                        served.frozen.fetch_add(1, Ordering::SeqCst);
                        self.send(Kind::Frozen, &[]).await;
                    }
                    Kind::Thaw => frozen = false,
                    other => panic!("{other:?}"),
                },
                length = async { from_http.as_mut().unwrap().read(&mut bytes).await.unwrap() }, if !frozen && from_http.is_some() => {
                    self.send(Kind::Mux, &bytes[..length]).await;
                }
            }
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    served: Arc<Served>,
) -> Result<Response<UnsyncBoxBody<Bytes, Infallible>>, Infallible> {
    let whole = |status: StatusCode, body: Vec<u8>| {
        Ok(Response::builder().status(status).body(Full::new(Bytes::from(body)).boxed_unsync()).unwrap())
    };
    let (path, query) = (request.uri().path().to_owned(), request.uri().query().map(str::to_owned));
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let mut bytes = Vec::new();
    match path.as_str() {
        "/health" => whole(StatusCode::OK, b"{}".to_vec()),
        "/files" => {
            whole(StatusCode::OK, format!("{{\"path\":\"{}\",\"bytes\":{}}}", query.unwrap(), body.len()).into_bytes())
        }
        "/files/list" => whole(StatusCode::NOT_FOUND, br#"{"code":"not_found","error":"no such directory"}"#.to_vec()),
        "/files/stat" => whole(StatusCode::IM_A_TEAPOT, vec![b'x'; 1 << 20]),
        "/contexts" => whole(StatusCode::OK, vec![b' '; 40 << 20]),
        "/exec" => match serde_json::from_slice::<ExecRequest>(&body).unwrap().command.unwrap().as_str() {
            "flood" => {
                let flood = futures::stream::repeat_with(move || {
                    served.flood_bytes.fetch_add(65536, Ordering::SeqCst);
                    let mut piece = Vec::new();
                    frame::encode(frame::Kind::Stdout, &[b'x'; 65536], &mut piece);
                    Ok(Frame::data(Bytes::from(piece)))
                });
                Ok(Response::new(StreamBody::new(flood).boxed_unsync()))
            }
            "fail" => {
                frame::encode(frame::Kind::Failure, br#"{"code":"exhausted","error":"disk full"}"#, &mut bytes);
                whole(StatusCode::OK, bytes)
            }
            "cut" => {
                frame::encode(frame::Kind::Stdout, b"partial", &mut bytes);
                whole(StatusCode::OK, bytes)
            }
            "break" => whole(StatusCode::OK, vec![0xff; 32]),
            command => {
                frame::encode(frame::Kind::Stdout, command.as_bytes(), &mut bytes);
                frame::encode(frame::Kind::Exit, br#"{"exit_code":0,"duration_ms":1}"#, &mut bytes);
                whole(StatusCode::OK, bytes)
            }
        },
        _ => whole(StatusCode::NOT_FOUND, Vec::new()),
    }
}

fn exec(command: &str) -> ExecRequest {
    ExecRequest { command: Some(command.to_owned()), ..ExecRequest::default() }
}

#[tokio::test]
async fn requests_and_streams_are_carried() {
    let (guest, _, _folder) = Pair::serving().await;
    guest.health(DEADLINE).await.unwrap();
    let command = "é".repeat(100_000);
    let mut stream = guest.exec(&exec(&command)).await.unwrap();
    let mut said = Vec::new();
    loop {
        match stream.next().await.unwrap().unwrap() {
            (frame::Kind::Stdout, piece) => said.extend_from_slice(&piece),
            (kind, _) => {
                assert_eq!(kind, frame::Kind::Exit);
                break;
            }
        }
    }
    assert_eq!(said, command.as_bytes());
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn uploads_are_carried_and_a_cut_one_is_told() {
    let (guest, _, _folder) = Pair::serving().await;
    let piece = |_| Ok::<_, String>(Bytes::from(vec![1; 100_000]));
    let written = guest.write_file("/a b", futures::stream::iter(0..100).map(piece)).await.unwrap();
    assert_eq!((written.path.as_str(), written.bytes), ("path=%2Fa+b", 10_000_000));
    let cut = futures::stream::iter([Ok(Bytes::from_static(b"x")), Err("the client went away")]);
    let error = guest.write_file("/a", cut).await.unwrap_err();
    assert_eq!(error.to_string(), "upload was cut: the client went away");
    guest.health(DEADLINE).await.unwrap();
}

#[tokio::test]
async fn refusals_keep_their_code_and_hostile_ones_their_size() {
    let (guest, _, _folder) = Pair::serving().await;
    let refused = guest.list_files("/x").await.unwrap_err();
    assert_eq!((refused.status(), refused.to_string().as_str()), (404, "no such directory"));
    let absurd = guest.stat_file("/x").await.unwrap_err();
    assert_eq!(absurd.status(), 500);
    assert!(absurd.to_string().len() < 200, "{absurd}");
    let too_long = guest.list_contexts().await.unwrap_err();
    assert!(too_long.to_string().contains("longer than"), "{too_long}");
}

#[tokio::test]
async fn streams_without_an_outcome_are_errors() {
    let (guest, _, _folder) = Pair::serving().await;
    let mut stream = guest.exec(&exec("fail")).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap_err().to_string(), "disk full");
    assert!(stream.next().await.is_none());
    let mut stream = guest.exec(&exec("cut")).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().1, "partial");
    assert!(stream.next().await.unwrap().unwrap_err().to_string().contains("cut the stream"));
    let mut stream = guest.exec(&exec("break")).await.unwrap();
    assert!(stream.next().await.unwrap().unwrap_err().to_string().contains("unknown frame kind"));
    guest.health(DEADLINE).await.unwrap();
}

#[tokio::test]
async fn a_flood_that_nobody_reads_is_held_back_and_stops_nobody() {
    let (guest, served, _folder) = Pair::serving().await;
    let stream = guest.exec(&exec("flood")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let sent = served.flood_bytes.load(Ordering::SeqCst);
    assert!(sent < 6 << 20, "{sent} bytes wait in memory");
    guest.health(DEADLINE).await.unwrap();
    drop(stream);
    guest.health(DEADLINE).await.unwrap();
}

#[tokio::test]
async fn a_frozen_connection_goes_on_after_the_thaw() {
    let pair = Pair::new(true);
    let served = Arc::new(Served::default());
    tokio::spawn(pair.agent.serve(Arc::clone(&served)));
    let connection = pair.connection;
    connection.hello(&Hello::default(), DEADLINE).await.unwrap();
    let guest = connection.client(&Arc::default());
    connection.freeze(DEADLINE).await.unwrap();
    assert_eq!(served.frozen.load(Ordering::SeqCst), 1);
    let waiting = tokio::spawn(async move { guest.health(DEADLINE).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!waiting.is_finished());
    connection.thaw().await.unwrap();
    waiting.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_new_epoch_ends_the_streams_of_the_old_one() {
    let pair = Pair::new(true);
    let served = Arc::new(Served::default());
    tokio::spawn(pair.agent.serve(Arc::clone(&served)));
    let connection = pair.connection;
    connection.hello(&Hello::default(), DEADLINE).await.unwrap();
    let guest = connection.client(&Arc::default());
    let mut stream = guest.exec(&exec("flood")).await.unwrap();
    connection.hello(&Hello::default(), DEADLINE).await.unwrap();
    assert_eq!((connection.epoch(), served.epochs.load(Ordering::SeqCst)), (2, 2));
    let ended = tokio::time::timeout(DEADLINE, async { while !matches!(stream.next().await, Some(Err(_)) | None) {} });
    ended.await.unwrap();
    guest.health(DEADLINE).await.unwrap();
}

#[tokio::test]
async fn what_breaks_the_records_ends_the_connection_with_a_reason() {
    let broken: [(&[u8], &str); 4] = [
        (&[0xff; 64], "damaged record marker"),
        (&[0, 0, 0, 0, 0], "record length out of range"),
        (&[1, 0, 0, 0, 99], "unknown record kind"),
        (&[1, 0, 0, 0, 3], "wrong direction"),
    ];
    for (bytes, reason) in broken {
        let mut pair = Pair::new(true);
        pair.agent.output.write_all(bytes).await.unwrap();
        let error = pair.hello().await.unwrap_err().to_string();
        assert!(error.contains("broke the protocol") && error.contains(reason), "{error}");
        assert!(pair.connection.closed().await.contains(reason));
        assert!(matches!(
            pair.connection.client(&Arc::default()).health(DEADLINE).await,
            Err(EngineError::SandboxGone { .. })
        ));
    }
}

#[tokio::test]
async fn what_breaks_http_ends_the_connection_with_a_reason() {
    let mut pair = Pair::new(true);
    let connection = Arc::clone(&pair.connection);
    let hello = tokio::spawn(async move { connection.hello(&Hello::default(), DEADLINE).await });
    let record = pair.agent.receive().await;
    pair.agent.acknowledge(&record).await;
    hello.await.unwrap().unwrap();
    pair.agent.send(Kind::Mux, &[0xee; 1000]).await;
    let reason = tokio::time::timeout(DEADLINE, pair.connection.closed()).await.unwrap();
    assert!(reason.contains("broke the protocol"), "{reason}");
}

#[tokio::test]
async fn an_unreadable_answer_is_no_answer() {
    let mut pair = Pair::new(true);
    pair.agent.send(Kind::HelloAck, b"{\"epoch\":").await;
    let error = pair.hello().await.unwrap_err().to_string();
    assert!(error.contains("unreadable HelloAck"), "{error}");
}

#[tokio::test]
async fn bytes_before_the_answer_are_dropped_and_an_old_answer_is_ignored() {
    let mut pair = Pair::new(true);
    pair.agent.send(Kind::Mux, &[7; 100_000]).await;
    pair.agent.send(Kind::HelloAck, br#"{"epoch":77,"version":"0","kernel_ready":false}"#).await;
    let (agent, connection) = (pair.agent, Arc::clone(&pair.connection));
    tokio::spawn(agent.serve(Arc::default()));
    connection.hello(&Hello::default(), DEADLINE).await.unwrap();
    connection.client(&Arc::default()).health(DEADLINE).await.unwrap();
}

#[tokio::test]
async fn an_engine_that_does_not_know_where_the_agent_stands_skips_to_the_answer() {
    let mut pair = Pair::new(false);
    // The tail of a record whose head went to another engine, and a piece of a marker.
    let mut tail = vec![9; 5000];
    tail.extend_from_slice(&MARKER[..11]);
    pair.agent.output.write_all(&tail).await.unwrap();
    let (agent, connection) = (pair.agent, Arc::clone(&pair.connection));
    tokio::spawn(agent.serve(Arc::default()));
    connection.hello(&Hello::default(), DEADLINE).await.unwrap();
    connection.client(&Arc::default()).health(DEADLINE).await.unwrap();
}

#[tokio::test]
async fn a_lost_hello_is_repeated_with_a_new_epoch() {
    let mut pair = Pair::new(true);
    let connection = Arc::clone(&pair.connection);
    let hello = tokio::spawn(async move { connection.hello(&Hello::default(), DEADLINE).await });
    let lost = pair.agent.receive().await;
    let second = pair.agent.receive().await;
    pair.agent.acknowledge(&lost).await;
    pair.agent.acknowledge(&second).await;
    assert_eq!(hello.await.unwrap().unwrap().epoch, 2);
}

#[tokio::test]
async fn a_silent_agent_is_given_up() {
    let pair = Pair::new(true);
    let error = pair.connection.hello(&Hello::default(), Duration::from_millis(100)).await.unwrap_err();
    assert!(matches!(error, EngineError::SandboxGone { reason, .. } if reason.contains("did not answer")));
}

#[tokio::test]
async fn the_end_of_a_pipe_ends_the_transport() {
    let (ours, theirs) = tokio::io::duplex(100);
    let (read, write) = tokio::io::split(ours);
    drop(theirs);
    let (_commands, receiver) = tokio::sync::mpsc::channel(1);
    let mut reason = String::new();
    transport::run(read, write, Decoder::new(), receiver, |text| reason = text.to_owned()).await;
    assert_eq!(reason, "the sandbox closed its output");
}
