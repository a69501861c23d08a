//! Records over the sandbox's named pipes: one loop reads, one writes.

use std::pin::pin;
use std::sync::{Mutex, PoisonError};

use pandastack_guest_protocol::hello::{Hello, HelloAck};
use pandastack_guest_protocol::record::{self, Decoder, Kind, Record};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, oneshot};

use super::json;

/// Bytes of the HTTP/2 connection that wait between it and the pipes, in each direction.
const MUX_BUFFER: usize = 1 << 20;

/// Longest payload that is put into one record: long enough for throughput, short enough for `Freeze` to come soon.
const MUX_PAYLOAD: usize = 128 << 10;

/// Bytes read from the pipe at once.
const READ_SIZE: usize = 256 << 10;

/// What the writing loop is told.
pub(super) enum Command {
    /// Begin a new epoch; the old HTTP/2 connection ends.
    Hello {
        hello: Hello,
        /// Gets the agent's answer, and the pipe for the HTTP/2 connection of the new epoch.
        begun: oneshot::Sender<(HelloAck, DuplexStream)>,
    },
    /// Stop writing; the answer comes when the agent has stopped too.
    Freeze { frozen: oneshot::Sender<()> },
    /// Go on.
    Thaw,
}

/// What the two loops share.
#[derive(Default)]
struct Shared {
    expected: Mutex<Expected>,
}

/// Answers of the agent that are waited for.
#[derive(Default)]
struct Expected {
    epoch: Option<Epoch>,
    frozen: Option<oneshot::Sender<()>>,
}

struct Epoch {
    number: u64,
    to_http: WriteHalf<DuplexStream>,
    http: DuplexStream,
    begun: oneshot::Sender<(HelloAck, DuplexStream)>,
}

impl Shared {
    fn expect<T>(&self, change: impl FnOnce(&mut Expected) -> T) -> T {
        change(&mut self.expected.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Carries records until a pipe fails or the other side breaks the layer, and tells `ended` why, before the HTTP/2 connection notices that it has
/// no ground any more. `decoder` is in skipping mode if it is not known where in a record the agent stands.
pub(super) async fn run(
    from_guest: impl AsyncRead + Unpin,
    to_guest: impl AsyncWrite + Unpin,
    decoder: Decoder,
    commands: mpsc::Receiver<Command>,
    ended: impl FnOnce(&str),
) {
    let shared = Shared::default();
    let mut reading = pin!(read_records(from_guest, decoder, &shared));
    let mut writing = pin!(write_records(to_guest, commands, &shared));
    let reason = tokio::select! {
        reason = &mut reading => reason,
        reason = &mut writing => reason,
    };
    ended(&reason);
}

async fn read_records(mut pipe: impl AsyncRead + Unpin, mut decoder: Decoder, shared: &Shared) -> String {
    let mut bytes = vec![0; READ_SIZE];
    let mut to_http = None;
    loop {
        match pipe.read(&mut bytes).await {
            Ok(0) => return "the sandbox closed its output".to_owned(),
            Ok(length) => decoder.push(&bytes[..length]),
            Err(error) => return format!("reading from the sandbox failed: {error}"),
        }
        loop {
            let taken = match decoder.next_record() {
                Ok(Some(record)) => take_record(record, &mut to_http, shared).await,
                Ok(None) => break,
                Err(error) => Err(error.to_string()),
            };
            if let Err(error) = taken {
                return format!("the sandbox broke the protocol: {error}");
            }
        }
    }
}

/// Hands one record on. Bytes of an HTTP/2 connection whose epoch has not begun, or that nobody holds any more, are dropped.
async fn take_record(
    record: Record,
    to_http: &mut Option<WriteHalf<DuplexStream>>,
    shared: &Shared,
) -> Result<(), String> {
    match record.kind {
        Kind::Mux => {
            if let Some(pipe) = to_http
                && pipe.write_all(&record.payload).await.is_err()
            {
                *to_http = None;
            }
            Ok(())
        }
        Kind::HelloAck => begin_epoch(&record.payload, to_http, shared),
        Kind::Frozen => {
            if let Some(frozen) = shared.expect(|expected| expected.frozen.take()) {
                let _ = frozen.send(());
            }
            Ok(())
        }
        Kind::Hello | Kind::Freeze | Kind::Thaw => Err(format!("record in the wrong direction: `{:?}`", record.kind)),
    }
}

/// An answer to an older `Hello` is no fault: the engine repeats itself when an answer is late.
fn begin_epoch(payload: &[u8], to_http: &mut Option<WriteHalf<DuplexStream>>, shared: &Shared) -> Result<(), String> {
    let mut ack: HelloAck = serde_json::from_slice(payload)
        .map_err(|error| format!("unreadable HelloAck: {}", json::shorten(&error.to_string())))?;
    ack.version.truncate(ack.version.floor_char_boundary(64));
    let begun = shared.expect(|expected| expected.epoch.take_if(|epoch| epoch.number == ack.epoch));
    if let Some(epoch) = begun {
        *to_http = Some(epoch.to_http);
        let _ = epoch.begun.send((ack, epoch.http));
    }
    Ok(())
}

async fn write_records(
    mut pipe: impl AsyncWrite + Unpin,
    mut commands: mpsc::Receiver<Command>,
    shared: &Shared,
) -> String {
    let mut from_http: Option<ReadHalf<DuplexStream>> = None;
    let mut frozen = false;
    let mut payload = vec![0; MUX_PAYLOAD];
    let mut record = Vec::with_capacity(MUX_PAYLOAD + 64);
    loop {
        record.clear();
        tokio::select! {
            biased;
            command = commands.recv() => match command {
                None => return "the engine closed the connection".to_owned(),
                Some(Command::Hello { hello, begun }) => {
                    frozen = false;
                    from_http = Some(expect_epoch(hello.epoch, begun, shared));
                    // A Hello is a struct of strings and numbers, which always becomes JSON.
                    let body = serde_json::to_vec(&hello).unwrap_or_default();
                    record::encode(Kind::Hello, &body, &mut record);
                }
                Some(Command::Freeze { frozen: answer }) => {
                    frozen = true;
                    shared.expect(|expected| expected.frozen = Some(answer));
                    record::encode(Kind::Freeze, &[], &mut record);
                }
                Some(Command::Thaw) => {
                    frozen = false;
                    record::encode(Kind::Thaw, &[], &mut record);
                }
            },
            read = read_http(&mut from_http, &mut payload), if !frozen => match read {
                Some(length) => record::encode(Kind::Mux, &payload[..length], &mut record),
                None => from_http = None,
            },
        }
        // Never cancelled: a record is written whole before anything else is looked at.
        if let Err(error) = pipe.write_all(&record).await {
            return format!("writing to the sandbox failed: {error}");
        }
    }
}

/// Prepares the next epoch and gives the end that its HTTP/2 bytes are read from.
fn expect_epoch(
    number: u64,
    begun: oneshot::Sender<(HelloAck, DuplexStream)>,
    shared: &Shared,
) -> ReadHalf<DuplexStream> {
    let (http, ours) = tokio::io::duplex(MUX_BUFFER);
    let (from_http, to_http) = tokio::io::split(ours);
    shared.expect(|expected| expected.epoch = Some(Epoch { number, to_http, http, begun }));
    from_http
}

/// Bytes of the HTTP/2 connection; `None` when it has ended. Waits for ever where there is none.
async fn read_http(from_http: &mut Option<ReadHalf<DuplexStream>>, payload: &mut [u8]) -> Option<usize> {
    match from_http {
        Some(pipe) => pipe.read(payload).await.ok().filter(|length| *length > 0),
        None => std::future::pending().await,
    }
}
