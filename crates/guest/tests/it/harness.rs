//! An engine small enough for tests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::stream::poll_fn;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::client::conn::http2;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use pandastack_guest_protocol::context::{ContextInfo, CreateContext, End, ErrorFrame, ResultFrame, RunRequest};
use pandastack_guest_protocol::exec::{ExecRequest, Exit, Failure};
use pandastack_guest_protocol::frame::{self, HEADER, Kind};
use pandastack_guest_protocol::hello::{Hello, HelloAck};
use pandastack_guest_protocol::record::{self, Decoder, Record};
use pandastack_guest_protocol::route;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

mod home;

use home::{Home, Stdin, Stdout};

/// Longer than anything here may take, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Fails a test instead of letting it hang.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LIMIT, future).await.expect("took too long")
}

/// Bytes of the connection of one epoch.
type Mux = mpsc::UnboundedReceiver<Vec<u8>>;

/// A running agent.
pub(crate) struct Agent {
    stdin: Arc<Mutex<Stdin>>,
    records: mpsc::UnboundedReceiver<(Record, Option<Mux>)>,
    epoch: u64,
    current: Arc<AtomicU64>,
    home: Home,
    folder: Arc<tempfile::TempDir>,
}

impl Agent {
    /// Starts an agent whose kernels are the small ones of `tests/kernels`.
    pub(crate) fn start() -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let (home, stdin, stdout) = Home::start(folder.path());
        Self::over(home, stdin, stdout, folder)
    }

    /// False, with a word why the test is skipped, where the agent does not run in gVisor.
    pub(crate) fn is_sandboxed(&self) -> bool {
        if !self.home.is_sandbox() {
            eprintln!("skipped: this needs gVisor");
        }
        self.home.is_sandbox()
    }

    /// A copy of a running agent with all its processes; `None` where that cannot be had. The original goes on.
    pub(crate) async fn fork(&mut self) -> Option<Self> {
        if !self.is_sandboxed() {
            return None;
        }
        self.write_record(record::Kind::Freeze, b"").await;
        assert_eq!(self.next_record().await.kind, record::Kind::Frozen);
        let image = tempfile::tempdir().unwrap();
        self.home.checkpoint(image.path());
        self.write_record(record::Kind::Thaw, b"").await;
        let (home, stdin, stdout) = Home::restore(self.folder(), image.path());
        Some(Self::over(home, stdin, stdout, Arc::clone(&self.folder)))
    }

    fn over(home: Home, stdin: Stdin, mut stdout: Stdout, folder: Arc<tempfile::TempDir>) -> Self {
        let stdin = Arc::new(Mutex::new(stdin));
        let (sender, records) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut decoder = Decoder::skipping();
            let mut buffer = vec![0; 256 << 10];
            let (mut mux, _) = mpsc::unbounded_channel();
            while let Ok(length @ 1..) = stdout.read(&mut buffer).await {
                decoder.push(&buffer[..length]);
                while let Some(record) = decoder.next_record().unwrap() {
                    let mut epoch = None;
                    if record.kind == record::Kind::HelloAck {
                        let (sender, receiver) = mpsc::unbounded_channel();
                        (mux, epoch) = (sender, Some(receiver));
                    }
                    let _ = if record.kind == record::Kind::Mux {
                        mux.send(record.payload).ok()
                    } else {
                        sender.send((record, epoch)).ok()
                    };
                }
            }
        });
        Self { stdin, records, epoch: 0, current: Arc::default(), home, folder }
    }

    /// Starts an agent and says hello.
    pub(crate) async fn greeted() -> (Self, Engine) {
        let mut agent = Self::start();
        let engine = agent.hello(Hello::default()).await;
        (agent, engine)
    }

    /// A folder that the agent sees too.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Asks the agent for a resync, as an engine does that took over.
    pub(crate) fn ask_for_resync(&self) {
        self.home.signal();
    }

    pub(crate) async fn write(&self, bytes: &[u8]) {
        self.stdin.lock().await.write_all(bytes).await.unwrap();
    }

    pub(crate) async fn write_record(&self, kind: record::Kind, payload: &[u8]) {
        let mut bytes = Vec::new();
        record::encode(kind, payload, &mut bytes);
        self.write(&bytes).await;
    }

    pub(crate) async fn next_record(&mut self) -> Record {
        soon(self.records.recv()).await.expect("the agent has ended").0
    }

    /// Sends a hello of the next epoch and waits for its answer.
    pub(crate) async fn greet(&mut self, hello: Hello) -> (HelloAck, Mux) {
        self.epoch += 1;
        self.current.store(self.epoch, Ordering::SeqCst);
        let hello = serde_json::to_vec(&Hello { epoch: self.epoch, sandbox_id: "test".into(), ..hello }).unwrap();
        self.write_record(record::Kind::Hello, &hello).await;
        loop {
            let (record, mux) = soon(self.records.recv()).await.expect("the agent has ended");
            if let Some(mux) = mux {
                let ack: HelloAck = serde_json::from_slice(&record.payload).unwrap();
                assert_eq!(ack.epoch, self.epoch);
                return (ack, mux);
            }
        }
    }

    /// Begins an epoch and opens its connection.
    pub(crate) async fn hello(&mut self, hello: Hello) -> Engine {
        let (_, mut mux) = self.greet(hello).await;
        let (near, far) = tokio::io::duplex(1 << 20);
        let (mut from_engine, mut to_engine) = tokio::io::split(far);
        let (stdin, current, epoch) = (Arc::clone(&self.stdin), Arc::clone(&self.current), self.epoch);
        tokio::spawn(async move {
            let mut buffer = vec![0; 64 << 10];
            while let Ok(length @ 1..) = from_engine.read(&mut buffer).await {
                let mut bytes = Vec::new();
                record::encode(record::Kind::Mux, &buffer[..length], &mut bytes);
                let mut stdin = stdin.lock().await;
                if current.load(Ordering::SeqCst) != epoch || stdin.write_all(&bytes).await.is_err() {
                    return;
                }
            }
        });
        tokio::spawn(async move {
            while let Some(bytes) = mux.recv().await {
                let _ = to_engine.write_all(&bytes).await;
            }
        });
        let (requests, connection) = http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(1 << 20)
            .handshake(TokioIo::new(near))
            .await
            .unwrap();
        tokio::spawn(connection);
        Engine { requests }
    }
}

/// Pieces of a body.
pub(crate) type Pieces = mpsc::UnboundedSender<std::io::Result<Bytes>>;

type RequestBody = UnsyncBoxBody<Bytes, std::io::Error>;

/// The engine's end of a connection.
#[derive(Clone)]
pub(crate) struct Engine {
    requests: http2::SendRequest<RequestBody>,
}

impl Engine {
    pub(crate) async fn request(&self, method: Method, path: &str, body: impl Into<Bytes>) -> Response<Incoming> {
        let body = Full::new(body.into()).map_err(|never| match never {}).boxed_unsync();
        soon(self.send(method, path, body)).await.unwrap()
    }

    /// An upload that is sent piece by piece, and cut when an error is sent.
    pub(crate) fn upload(&self, path: &str) -> (Pieces, JoinHandle<hyper::Result<Response<Incoming>>>) {
        let (sender, mut receiver) = mpsc::unbounded_channel::<std::io::Result<Bytes>>();
        let pieces =
            poll_fn(move |context| receiver.poll_recv(context).map(|piece| piece.map(|piece| piece.map(Frame::data))));
        let (engine, path) = (self.clone(), path.to_owned());
        let body = StreamBody::new(pieces).boxed_unsync();
        (sender, tokio::spawn(async move { engine.send(Method::PUT, &path, body).await }))
    }

    async fn send(&self, method: Method, path: &str, body: RequestBody) -> hyper::Result<Response<Incoming>> {
        let request = Request::builder().method(method).uri(format!("http://agent{path}")).body(body).unwrap();
        self.requests.clone().send_request(request).await
    }

    pub(crate) async fn json(&self, method: Method, path: &str, body: &impl Serialize) -> Response<Incoming> {
        self.request(method, path, serde_json::to_vec(body).unwrap()).await
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> T {
        read_json(self.request(Method::GET, path, "").await).await
    }

    /// The refusal of a request that must not succeed, with its status.
    pub(crate) async fn refusal(&self, method: Method, path: &str, body: impl Into<Bytes>) -> (u16, String) {
        let response = self.request(method, path, body).await;
        let status = response.status().as_u16();
        assert!(status >= 400, "{path} was not refused: {status}");
        let failure: Failure = read_json(response).await;
        assert_eq!(failure.code.status(), status);
        (status, failure.error)
    }

    pub(crate) async fn start(&self, request: &ExecRequest) -> Frames {
        let response = self.json(Method::POST, route::EXEC, request).await;
        assert_eq!(response.status(), 200);
        Frames::new(response)
    }

    pub(crate) async fn exec(&self, command: &str) -> Outcome {
        self.start(&ExecRequest { command: Some(command.into()), ..ExecRequest::default() }).await.all().await
    }

    pub(crate) async fn create_context(&self, request: &CreateContext) -> ContextInfo {
        let response = self.json(Method::POST, route::CONTEXTS, request).await;
        assert_eq!(response.status(), 201, "no context");
        read_json(response).await
    }

    pub(crate) async fn python(&self) -> String {
        self.create_context(&CreateContext { language: "python".into(), ..CreateContext::default() }).await.id
    }

    pub(crate) async fn start_cell(&self, context: &str, request: &RunRequest) -> Frames {
        let response = self.json(Method::POST, &route::context_run(context), request).await;
        assert_eq!(response.status(), 200);
        Frames::new(response)
    }

    pub(crate) async fn cell(&self, context: &str, code: &str) -> Outcome {
        self.start_cell(context, &RunRequest { code: code.into(), ..RunRequest::default() }).await.all().await
    }
}

pub(crate) async fn read_all(response: Response<Incoming>) -> Bytes {
    soon(response.into_body().collect()).await.unwrap().to_bytes()
}

pub(crate) async fn read_json<T: DeserializeOwned>(response: Response<Incoming>) -> T {
    let bytes = read_all(response).await;
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{error}: {bytes:?}"))
}

/// All frames of a stream.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) exit: Option<Exit>,
    pub(crate) results: Vec<ResultFrame>,
    pub(crate) errors: Vec<ErrorFrame>,
    pub(crate) end: Option<End>,
    pub(crate) failure: Option<Failure>,
    /// Kinds in order, runs of one kind once.
    pub(crate) order: Vec<Kind>,
}

impl Outcome {
    pub(crate) fn stdout(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    pub(crate) fn exit(&self) -> &Exit {
        self.exit.as_ref().unwrap_or_else(|| panic!("no exit: {self:?}"))
    }

    pub(crate) fn end(&self) -> &End {
        self.end.as_ref().unwrap_or_else(|| panic!("no end: {self:?}"))
    }

    pub(crate) fn text(&self) -> &str {
        self.results.last().map_or("", |result| result.data["text/plain"].as_str())
    }

    fn take(&mut self, kind: Kind, payload: &[u8]) {
        if self.order.last() != Some(&kind) {
            self.order.push(kind);
        }
        match kind {
            Kind::Stdout => self.stdout.extend_from_slice(payload),
            Kind::Stderr => self.stderr.extend_from_slice(payload),
            Kind::Exit => self.exit = Some(serde_json::from_slice(payload).unwrap()),
            Kind::Result => self.results.push(serde_json::from_slice(payload).unwrap()),
            Kind::Error => self.errors.push(serde_json::from_slice(payload).unwrap()),
            Kind::Clear => self.results.clear(),
            Kind::End => self.end = Some(serde_json::from_slice(payload).unwrap()),
            Kind::Failure => self.failure = Some(serde_json::from_slice(payload).unwrap()),
        }
    }
}

/// A stream of frames, read as slowly as one likes.
pub(crate) struct Frames {
    body: Incoming,
    buffer: BytesMut,
}

impl Frames {
    fn new(response: Response<Incoming>) -> Self {
        Self { body: response.into_body(), buffer: BytesMut::new() }
    }

    /// The next frame; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<(Kind, Bytes)> {
        loop {
            if let Some(header) = self.buffer.first_chunk::<HEADER>() {
                let (kind, length) = frame::parse_header(*header).unwrap();
                if self.buffer.len() >= HEADER + length {
                    let frame = self.buffer.split_to(HEADER + length).freeze();
                    return Some((kind, frame.slice(HEADER..)));
                }
            }
            match soon(self.body.frame()).await {
                Some(Ok(data)) => self.buffer.extend_from_slice(&data.into_data().unwrap()),
                Some(Err(_)) | None => return None,
            }
        }
    }

    pub(crate) async fn all(mut self) -> Outcome {
        let mut outcome = Outcome::default();
        while let Some((kind, payload)) = self.next().await {
            outcome.take(kind, &payload);
        }
        assert!(self.buffer.is_empty(), "half a frame at the end");
        outcome
    }
}

pub(crate) fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

/// Waits until something is true.
pub(crate) async fn until(mut condition: impl AsyncFnMut() -> bool) {
    soon(async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}
