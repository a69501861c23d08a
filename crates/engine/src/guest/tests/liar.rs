//! An agent that was replaced by one that lies: it speaks records and HTTP/2 by hand. Whatever it says, its caller gets one clear error, memory stays
//! bounded, and another sandbox is not disturbed.

use super::*;

/// What all lies of a test together may cost, in bytes.
const MOST_MEMORY: u64 = 128 << 20;

/// Types of HTTP/2 frames.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// `:status: 200`, and `:status: 100` in the compressed form of headers.
const OK: &[u8] = &[0x88];
const CONTINUE: &[u8] = &[0x08, 3, b'1', b'0', b'0'];

/// The id of the first stream of an epoch.
const FIRST: u32 = 1;

fn http_frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// A connection whose agent has answered the first `Hello`, and says what the test wants.
struct Liar {
    guest: GuestClient,
    connection: Arc<Connection>,
    agent: Agent,
    _folder: tempfile::TempDir,
}

impl Liar {
    async fn begin() -> Self {
        let Pair { connection, mut agent, _folder } = Pair::new(true);
        let greeting = Arc::clone(&connection);
        let hello = tokio::spawn(async move { greeting.hello(&Hello::default(), DEADLINE).await });
        let record = agent.receive().await;
        agent.acknowledge(&record).await;
        hello.await.unwrap().unwrap();
        // Its own settings, and that it has taken those of the engine: only now the windows are as large as the engine said.
        agent.send(Kind::Mux, &http_frame(SETTINGS, 0, 0, &[])).await;
        agent.send(Kind::Mux, &http_frame(SETTINGS, ACK, 0, &[])).await;
        Self { guest: connection.client(&Arc::default()), connection, agent, _folder }
    }

    /// Sends bytes of HTTP/2 as long as the engine takes them: it may have given up, or hold the sandbox back.
    async fn say(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(1 << 16) {
            let _ = tokio::time::timeout(DEADLINE, self.agent.send(Kind::Mux, piece)).await;
            if self.connection.end_reason().is_some() {
                return;
            }
        }
    }

    /// Waits for the first request of the engine.
    async fn asked(&mut self) {
        let mut seen = Vec::new();
        // The headers of the first stream end in its id, and come behind what opens a connection.
        let head = [HEADERS, END_HEADERS, 0, 0, 0, 1];
        let head_and_end = [HEADERS, END_HEADERS | END_STREAM, 0, 0, 0, 1];
        while !seen.windows(head.len()).any(|window| window == head || window == head_and_end) {
            seen.extend(self.agent.receive().await.payload);
        }
    }

    /// What a caller is told whose request is answered with `lies`.
    async fn told(mut self, lies: &[u8]) -> String {
        let guest = self.guest.clone();
        let call = tokio::spawn(async move { guest.stat_file("/x").await });
        self.asked().await;
        self.say(lies).await;
        // A lie that leaves the request open: a second one must still not be hurt by it.
        let error = match tokio::time::timeout(DEADLINE, call).await {
            Ok(outcome) => outcome.unwrap().unwrap_err().to_string(),
            Err(_) => format!("nothing; the connection: {:?}", self.connection.end_reason()),
        };
        assert!(error.len() < 400 && !error.contains('\n'), "{error}");
        error
    }
}

/// Memory of this process that is in use, in bytes.
fn memory() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// Tells lies beside a healthy sandbox.
async fn told(lies: &[u8]) -> String {
    let (healthy, _, _folder) = Pair::serving().await;
    let before = memory();
    let error = Liar::begin().await.told(lies).await;
    healthy.health(DEADLINE).await.unwrap();
    let grown = memory().saturating_sub(before);
    assert!(grown < MOST_MEMORY, "{grown} bytes after: {error}");
    error
}

fn answer_with(body: &[u8]) -> Vec<u8> {
    let mut frames = http_frame(HEADERS, END_HEADERS, FIRST, OK);
    for piece in body.chunks(16_384) {
        frames.extend(http_frame(DATA, 0, FIRST, piece));
    }
    frames.extend(http_frame(DATA, END_STREAM, FIRST, &[]));
    frames
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_are_no_answers_are_told_in_one_line() {
    let entry = r#"{"name":"x","is_dir":false,"mode":"f","permissions":0,"mtime":0,"size":"#;
    let bodies = [
        "[".repeat(100_000),
        format!("{{\"name\":{}", "{\"a\":".repeat(100_000)),
        format!("{entry}1e400}}"),
        format!("{entry}-1}}"),
        format!("{entry}99999999999999999999999}}"),
        format!("{entry}\"{}\"}}", "x\n".repeat(400 << 10)),
        format!("{entry}\"{}\"}}", "x".repeat(800 << 10)),
        "null".to_owned(),
        String::new(),
        "{}{}".to_owned(),
    ];
    for body in bodies {
        let error = told(&answer_with(body.as_bytes())).await;
        assert!(error.contains("unreadable answer of the agent: "), "{}…: {error}", &body[..body.len().min(100)]);
    }
    let error = told(&answer_with(b"{\"name\":\"\xff\"}")).await;
    assert!(error.contains("unreadable answer of the agent: "), "{error}");
    // Packed content is not unpacked: there is nothing that could grow.
    let mut headers = OK.to_vec();
    headers.extend_from_slice(b"\x00\x10content-encoding\x04gzip");
    let mut packed = http_frame(HEADERS, END_HEADERS, FIRST, &headers);
    packed.extend(http_frame(DATA, END_STREAM, FIRST, &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]));
    assert!(told(&packed).await.contains("unreadable answer of the agent: "));
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_out_of_order_end_the_request_or_the_connection() {
    let headers = |flags| http_frame(HEADERS, END_HEADERS | flags, FIRST, OK);
    let cases: [(&str, Vec<u8>); 12] = [
        ("data before the answer", http_frame(DATA, 0, FIRST, b"{}")),
        ("two answers", [headers(0), headers(0)].concat()),
        (
            "an answer after the end",
            [headers(0), http_frame(DATA, 0, FIRST, b"{"), headers(END_STREAM), headers(0)].concat(),
        ),
        ("an answer that nobody asked for", http_frame(HEADERS, END_HEADERS, 1001, OK)),
        ("a request of the sandbox", http_frame(HEADERS, END_HEADERS, 2, OK)),
        ("a push", http_frame(PUSH_PROMISE, END_HEADERS, FIRST, &[0, 0, 0, 2, 0x82])),
        ("a reset", http_frame(RST_STREAM, 0, FIRST, &[0, 0, 0, 8])),
        ("a reset of nothing", http_frame(RST_STREAM, 0, 1001, &[0, 0, 0, 8])),
        ("a window that overflows", http_frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff]).repeat(2)),
        ("a continuation of nothing", http_frame(CONTINUATION, END_HEADERS, FIRST, OK)),
        ("settings out of range", http_frame(SETTINGS, 0, 0, &[0, 4, 0xff, 0xff, 0xff, 0xff])),
        ("going away", http_frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 11])),
    ];
    for (name, lies) in cases {
        let error = told(&lies).await;
        let is_clear = ["broke the protocol", "cut the stream", "closed the connection", "unreadable answer"];
        assert!(is_clear.iter().any(|text| error.contains(text)), "{name}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_the_window_is_refused() {
    let mut lies = http_frame(HEADERS, END_HEADERS, FIRST, OK);
    let piece = http_frame(DATA, 0, FIRST, &[b' '; 16_384]);
    // Twice what a call reads of an answer: the second half is never waited for.
    lies.extend(piece.repeat(2 * (32 << 20) / 16_384));
    let error = told(&lies).await;
    assert!(error.contains("longer than") || error.contains("cut the stream"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_without_end_are_refused() {
    let field = [b"\x00\x01a\x7f\x81\x01".as_slice(), &[b'x'; 256]].concat();
    let mut one_block = OK.to_vec();
    one_block.extend(field.repeat(60));
    let mut continued = http_frame(HEADERS, 0, FIRST, OK);
    continued.extend(http_frame(CONTINUATION, 0, FIRST, &field.repeat(60)).repeat(2000));
    let empty = [http_frame(HEADERS, 0, FIRST, OK), http_frame(CONTINUATION, 0, FIRST, &[]).repeat(100_000)].concat();
    for lies in [http_frame(HEADERS, END_HEADERS, FIRST, &one_block.repeat(1)), continued, empty] {
        let error = told(&lies).await;
        assert!(error.contains("broke the protocol") || error.contains("cut the stream"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn floods_are_held_back_and_cost_no_memory() {
    let floods: [(&str, Vec<u8>); 6] = [
        ("PING", http_frame(PING, 0, 0, &[7; 8])),
        ("SETTINGS", http_frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0xff, 0xff])),
        ("RST_STREAM", http_frame(RST_STREAM, 0, FIRST, &[0, 0, 0, 8])),
        ("an unknown kind", http_frame(99, 0xff, FIRST, &[0; 64])),
        ("interim answers", http_frame(HEADERS, END_HEADERS, FIRST, CONTINUE)),
        ("empty data", http_frame(DATA, 0, FIRST, &[])),
    ];
    let (healthy, _, _folder) = Pair::serving().await;
    for (name, flood) in floods {
        let before = memory();
        let mut liar = Liar::begin().await;
        let guest = liar.guest.clone();
        let call = tokio::spawn(async move { guest.exec(&exec("x")).await.map(drop) });
        liar.asked().await;
        if name == "empty data" {
            liar.say(&http_frame(HEADERS, END_HEADERS, FIRST, OK)).await;
        }
        let many = flood.repeat((1 << 20) / flood.len());
        for _ in 0..8 {
            // An engine that cannot send its answers reads no more questions.
            let said = tokio::time::timeout(Duration::from_millis(500), liar.say(&many)).await;
            healthy.health(DEADLINE).await.unwrap();
            if said.is_err() {
                break;
            }
        }
        let grown = memory().saturating_sub(before);
        assert!(grown < MOST_MEMORY, "{name}: {grown} bytes");
        call.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_nobody_asked_for_change_nothing() {
    let (healthy, _, _folder) = Pair::serving().await;
    let mut liar = Liar::begin().await;
    let before = memory();
    for _ in 0..20_000 {
        liar.agent.send(Kind::Frozen, &[]).await;
        liar.agent.send(Kind::HelloAck, br#"{"epoch":1,"version":"0","kernel_ready":true}"#).await;
        liar.agent.send(Kind::HelloAck, br#"{"epoch":18446744073709551615,"version":"0","kernel_ready":true}"#).await;
        liar.agent.send(Kind::Mux, &[]).await;
    }
    healthy.health(DEADLINE).await.unwrap();
    assert_eq!((liar.connection.epoch(), liar.connection.end_reason()), (1, None));
    assert!(memory().saturating_sub(before) < MOST_MEMORY);
    let error = liar.told(&answer_with(b"[]")).await;
    assert!(error.contains("unreadable answer"), "{error}");
}

#[tokio::test]
async fn requests_that_are_never_answered_end() {
    let mut liar = Liar::begin().await;
    let guest = liar.guest.clone();
    tokio::spawn(async move { while tokio::time::timeout(DEADLINE * 100, liar.agent.receive()).await.is_ok() {} });
    tokio::time::pause();
    let errors = [
        guest.exec(&exec("x")).await.map(drop).unwrap_err(),
        guest.run("c", &RunRequest { code: "x".to_owned(), ..RunRequest::default() }).await.map(drop).unwrap_err(),
        guest.read_file("/x").await.map(drop).unwrap_err(),
        guest.stat_file("/x").await.map(drop).unwrap_err(),
        guest.delete_context("c").await.unwrap_err(),
    ];
    for error in errors {
        assert!(error.to_string().contains("did not answer within 60 s"), "{error}");
    }
}

#[tokio::test]
async fn an_answer_of_one_byte_a_second_ends() {
    let mut liar = Liar::begin().await;
    let guest = liar.guest.clone();
    let call = tokio::spawn(async move { guest.stat_file("/x").await });
    liar.asked().await;
    liar.say(&http_frame(HEADERS, END_HEADERS, FIRST, OK)).await;
    tokio::time::pause();
    while !call.is_finished() {
        liar.say(&http_frame(DATA, 0, FIRST, b" ")).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let error = call.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("did not answer within 60 s"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_of_megabytes_is_cut() {
    for bytes in [1 << 19, 1 << 21] {
        let mut frame = Vec::new();
        let failure = format!(r#"{{"code":"internal","error":"{}"}}"#, "x".repeat(bytes));
        frame::encode(frame::Kind::Failure, failure.as_bytes(), &mut frame);
        let mut liar = Liar::begin().await;
        let guest = liar.guest.clone();
        let call = tokio::spawn(async move { guest.exec(&exec("x")).await?.next().await.unwrap() });
        liar.asked().await;
        liar.say(&answer_with(&frame)).await;
        let error = call.await.unwrap().unwrap_err().to_string();
        assert!(error.len() <= 8 << 10, "{} bytes", error.len());
    }
}
