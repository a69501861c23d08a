//! Output of a command from server-sent events. Neighbouring pieces of one stream become one: what an event costs on the way to
//! JavaScript does not depend on its size.

use std::fmt;

use pandastack_protocol::error::ErrorCode;
use pandastack_protocol::exec::{ExecEvent, ExitEvent};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::events::{Decoder, Item};
use crate::http::answer;
use crate::http::sse::{SseItem, SseReader};

/// Bytes from which on a piece is handed on: what waits for a slow consumer must stay small.
const LARGE: usize = 32 << 10;

/// Joins what has arrived already; nothing waits for more.
#[derive(Default)]
pub(super) struct ExecDecoder {
    reader: SseReader,
    gathered: Option<Piece>,
    /// What came after `gathered`.
    following: Option<Result<Item<ExecEvent>>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Stdout,
    Stderr,
}

struct Piece {
    stream: Stream,
    text: String,
    base64: Option<String>,
}

impl Decoder for ExecDecoder {
    type Event = ExecEvent;

    fn push(&mut self, piece: &[u8]) -> Result<()> {
        self.reader.push(piece)
    }

    fn next(&mut self) -> Option<Result<Item<ExecEvent>>> {
        if let Some(following) = self.following.take() {
            return Some(following);
        }
        while let Some(item) = self.reader.next() {
            let ready = match output_of(&item) {
                Some((stream, data)) => gather(&mut self.gathered, stream, data).map(Piece::into_item),
                None => after(&mut self.gathered, &mut self.following, item_of(item)),
            };
            if ready.is_some() {
                return ready;
            }
        }
        self.gathered.take().map(Piece::into_item)
    }

    fn finish(&mut self) -> Option<Result<Item<ExecEvent>>> {
        // An event that the end of the stream cut is none: half of its data would pass for output.
        let item = self.reader.finish().filter(is_whole)?;
        match output_of(&item) {
            Some((stream, data)) => Some(Piece::of(stream, data).into_item()),
            None => item_of(item),
        }
    }
}

fn is_whole(item: &SseItem<'_>) -> bool {
    matches!(item, SseItem::Event { data, .. } if serde_json::from_str::<serde_json::Map<String, Value>>(data).is_ok())
}

/// Takes one more piece. What it cannot be joined to comes back.
fn gather(gathered: &mut Option<Piece>, stream: Stream, data: &str) -> Option<Piece> {
    let rest = match gathered {
        Some(piece) if piece.takes(stream) => piece.push(data)?,
        _ => Piece::of(stream, data),
    };
    gathered.replace(rest)
}

/// What was gathered goes before `item`.
fn after(
    gathered: &mut Option<Piece>,
    following: &mut Option<Result<Item<ExecEvent>>>,
    item: Option<Result<Item<ExecEvent>>>,
) -> Option<Result<Item<ExecEvent>>> {
    let Some(piece) = gathered.take_if(|_| item.is_some()) else { return item };
    *following = item;
    Some(piece.into_item())
}

impl Piece {
    fn of(stream: Stream, data: &str) -> Self {
        let mut piece = Self { stream, text: String::new(), base64: None };
        piece.base64 = append(&mut piece.text, data);
        piece
    }

    fn takes(&self, stream: Stream) -> bool {
        self.stream == stream && self.base64.is_none() && self.text.len() < LARGE
    }

    /// Joins `data`, unless it is bytes.
    fn push(&mut self, data: &str) -> Option<Self> {
        let end = self.text.len();
        let base64 = append(&mut self.text, data)?;
        Some(Self { stream: self.stream, text: self.text.split_off(end), base64: Some(base64) })
    }

    fn into_item(self) -> Result<Item<ExecEvent>> {
        let Self { stream, text, base64 } = self;
        Ok(Item::Event(match stream {
            Stream::Stdout => ExecEvent::Stdout { text, base64 },
            Stream::Stderr => ExecEvent::Stderr { text, base64 },
        }))
    }
}

fn output_of<'a>(item: &SseItem<'a>) -> Option<(Stream, &'a str)> {
    match item {
        SseItem::Event { name: "stdout", data } => Some((Stream::Stdout, data)),
        SseItem::Event { name: "stderr", data } => Some((Stream::Stderr, data)),
        _ => None,
    }
}

/// None for events that this version does not know.
fn item_of(item: SseItem<'_>) -> Option<Result<Item<ExecEvent>>> {
    match item {
        SseItem::Comment => Some(Ok(Item::Alive)),
        SseItem::Event { name: "exit", data } => Some(exit(data).map(Item::Last)),
        SseItem::Event { name: "error", data } => Some(Err(failure(data))),
        SseItem::Event { .. } => None,
    }
}

/// Appends the text of a chunk and returns its bytes, if they are sent. Data that is no JSON object is the text itself.
fn append(text: &mut String, data: &str) -> Option<String> {
    let end = text.len();
    let mut json = serde_json::Deserializer::from_str(data);
    let chunk = ChunkInto(text).deserialize(&mut json).and_then(|base64| json.end().map(|()| base64));
    chunk.unwrap_or_else(|_| {
        text.truncate(end);
        text.push_str(data);
        None
    })
}

/// Reads a [`pandastack_protocol::exec::Chunk`] without a string of its own for each.
struct ChunkInto<'a>(&'a mut String);

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Field {
    Chunk,
    Base64,
    #[serde(other)]
    Other,
}

impl<'de> DeserializeSeed<'de> for ChunkInto<'_> {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ChunkInto<'_> {
    type Value = Option<String>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with a `chunk`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let (mut base64, mut has_chunk) = (None, false);
        while let Some(field) = fields.next_key()? {
            match field {
                Field::Chunk if !has_chunk => {
                    fields.next_value_seed(Append(self.0))?;
                    has_chunk = true;
                }
                Field::Chunk => return Err(serde::de::Error::duplicate_field("chunk")),
                Field::Base64 => base64 = fields.next_value()?,
                Field::Other => drop(fields.next_value::<serde::de::IgnoredAny>()?),
            }
        }
        if has_chunk { Ok(base64) } else { Err(serde::de::Error::missing_field("chunk")) }
    }
}

/// Appends a JSON string.
struct Append<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for Append<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Append<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.push_str(text);
        Ok(())
    }
}

fn exit(data: &str) -> Result<ExecEvent> {
    let exit: ExitEvent = serde_json::from_str(data).map_err(|error| {
        Error::new(ErrorCode::Interrupted, "the exit event cannot be understood").with_source(error)
    })?;
    Ok(ExecEvent::Exit { exit_code: exit.exit_code, duration_ms: exit.duration_ms })
}

fn failure(data: &str) -> Error {
    let body: Value = serde_json::from_str(data).unwrap_or(Value::Null);
    let message = body["error"].as_str().unwrap_or(data);
    let told = serde_json::from_value(body["code"].clone()).ok();
    let guessed = if answer::speaks_of_timeout(message) { ErrorCode::SandboxTimeout } else { ErrorCode::Server };
    Error::new(told.unwrap_or(guessed), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stdout(text: &str, base64: Option<&str>) -> ExecEvent {
        ExecEvent::Stdout { text: text.into(), base64: base64.map(str::to_owned) }
    }

    fn stderr(text: &str) -> ExecEvent {
        ExecEvent::Stderr { text: text.into(), base64: None }
    }

    fn chunk(name: &str, data: &str) -> String {
        format!("event: {name}\ndata: {data}\n\n")
    }

    fn items(text: &str) -> (Vec<ExecEvent>, Option<ErrorCode>) {
        let mut decoder = ExecDecoder::default();
        decoder.push(text.as_bytes()).unwrap();
        let mut events = Vec::new();
        while let Some(item) = decoder.next().or_else(|| decoder.finish()) {
            match item {
                Ok(Item::Event(event) | Item::Last(event)) => events.push(event),
                Ok(Item::Alive | Item::End) => {}
                Err(error) => return (events, Some(error.code())),
            }
        }
        (events, None)
    }

    #[test]
    fn chunks_as_json_or_bare_text_and_the_exit() {
        let (events, _) = items(
            "event: stdout\ndata: {\"chunk\":\"a\\n\"}\n\nevent: x\ndata: 1\n\nevent: stderr\ndata: bare\n\nevent: exit\ndata: {\"exit_code\":7}\n",
        );
        assert_eq!(events, [stdout("a\n", None), stderr("bare"), ExecEvent::Exit { exit_code: 7, duration_ms: None }]);
    }

    #[test]
    fn neighbours_are_joined_and_the_order_is_kept() {
        let text = [
            chunk("stdout", r#"{"chunk":"a\n"}"#),
            chunk("unknown", "{}"),
            chunk("stdout", r#"{"seq":1,"chunk":"\u00e9\ud83d\ude00"}"#),
            ": ka\n\n".to_owned(),
            chunk("stdout", "bare"),
            chunk("stderr", r#"{"chunk":"e"}"#),
            chunk("stdout", r#"{"chunk":"b"}"#),
            chunk("stdout", r#"{"chunk":"\ufffd","base64":"/w=="}"#),
            chunk("stdout", r#"{"chunk":"c"}"#),
            chunk("exit", r#"{"exit_code":0}"#),
        ];
        let expected = [
            stdout("a\né😀", None),
            stdout("bare", None),
            stderr("e"),
            stdout("b", None),
            stdout("\u{fffd}", Some("/w==")),
            stdout("c", None),
            ExecEvent::Exit { exit_code: 0, duration_ms: None },
        ];
        assert_eq!(items(&text.concat()).0, expected);
    }

    #[test]
    fn output_before_a_failure_is_handed_out_first() {
        let text = chunk("stdout", r#"{"chunk":"a"}"#) + &chunk("error", "lost");
        assert_eq!(items(&text), (vec![stdout("a", None)], Some(ErrorCode::Server)));
    }

    #[test]
    fn what_is_joined_stays_small() {
        let text = chunk("stdout", &format!(r#"{{"chunk":"{}"}}"#, "x".repeat(1000))).repeat(100);
        let (events, _) = items(&text);
        let sizes = events.iter().map(|event| match event {
            ExecEvent::Stdout { text, .. } => text.len(),
            _ => 0,
        });
        assert_eq!(sizes.clone().sum::<usize>(), 100_000);
        assert!(sizes.clone().all(|size| size < LARGE + 1000), "{sizes:?}");
    }

    #[test]
    fn data_that_is_no_chunk_is_the_text() {
        for data in ["{", r#"{"chunk":1}"#, r#"{"chunk":"a"} x"#, r#"{"chunk":"a","chunk":"b"}"#, "{}", "[1]", "7"] {
            assert_eq!(items(&chunk("stdout", data)).0, [stdout(data, None)], "{data}");
        }
    }

    #[test]
    fn an_event_that_is_cut_is_no_output() {
        for text in [
            "event: stdout\ndata: {\"chunk\":\"ab",
            "event: stdout\ndata: wor",
            "event: stdout\ndata: 12",
            "event: error\ndata: {\"err",
        ] {
            assert_eq!(items(text), (vec![], None), "{text}");
        }
    }

    #[test]
    fn failures_have_the_right_kind() {
        assert_eq!(
            items("event: error\ndata: {\"error\":\"command timeout after 1s\"}\n\n").1,
            Some(ErrorCode::SandboxTimeout)
        );
        assert_eq!(
            items("event: error\ndata: {\"error\":\"x\",\"code\":\"sandbox_gone\"}\n\n").1,
            Some(ErrorCode::SandboxGone)
        );
        assert_eq!(items("event: error\ndata: lost\n\n").1, Some(ErrorCode::Server));
        assert_eq!(items("event: exit\ndata: 7\n\n").1, Some(ErrorCode::Interrupted));
    }
}
