//! Logs, line by line: of a sandbox, a template build or a deployment.

use std::time::Duration;

use pandastack_protocol::error::ErrorCode;
use reqwest::{Method, header};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::events::{Decoder, EventStream, Item, pump};
use crate::health::RawRequest;
use crate::http::Client;
use crate::http::lines::Lines;
use crate::http::request::{Limit, Request};
use crate::http::sse::{SseItem, SseReader};

/// Lines without their ends.
pub type LineStream = EventStream<String>;

/// How long a server may take to begin: some do with the first line.
const FIRST_LINE: Duration = Duration::from_secs(300);

impl Client {
    /// Streams the lines of a log, sent as events or as plain text. `ends_with_done`: the server says where the log ends, and a
    /// connection that ends before is a cut one.
    ///
    /// # Errors
    /// Before the first line; later the stream's last item is the error.
    pub async fn lines(&self, call: &RawRequest, ends_with_done: bool) -> Result<LineStream> {
        let mut request = Request::raw(Method::GET, &call.path)?.limit(Limit::AtLeast(FIRST_LINE));
        for (name, value) in &call.query {
            request = request.query(name, value);
        }
        for (name, value) in &call.headers {
            request = request.header(name, value);
        }
        let deadline = self.stream_deadline(None);
        let response = self.send(request).await?;
        let content_type = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let is_sse = content_type.is_some_and(|text| text.to_ascii_lowercase().starts_with("text/event-stream"));
        Ok(match is_sse {
            true => pump(self, response, EventLines { reader: SseReader::default(), ends_with_done }, deadline),
            false => pump(self, response, TextLines::default(), deadline),
        })
    }
}

/// Lines of a plain text.
#[derive(Default)]
struct TextLines(Lines);

impl Decoder for TextLines {
    type Event = String;

    fn push(&mut self, piece: &[u8]) -> Result<()> {
        self.0.push(piece)
    }

    fn next(&mut self) -> Option<Result<Item<String>>> {
        self.0.next().map(|line| Ok(Item::Event(String::from_utf8_lossy(line).into_owned())))
    }

    fn finish(&mut self) -> Option<Result<Item<String>>> {
        let rest = String::from_utf8_lossy(self.0.rest()).into_owned();
        Some(Ok(if rest.is_empty() { Item::End } else { Item::Last(rest) }))
    }
}

/// Lines of a stream of events.
struct EventLines {
    reader: SseReader,
    ends_with_done: bool,
}

impl Decoder for EventLines {
    type Event = String;

    fn push(&mut self, piece: &[u8]) -> Result<()> {
        self.reader.push(piece)
    }

    fn next(&mut self) -> Option<Result<Item<String>>> {
        loop {
            if let Some(item) = line_of(self.reader.next()?) {
                return Some(item);
            }
        }
    }

    fn finish(&mut self) -> Option<Result<Item<String>>> {
        match self.reader.finish().and_then(line_of) {
            Some(Ok(Item::Event(line))) if !self.ends_with_done => Some(Ok(Item::Last(line))),
            None if !self.ends_with_done => Some(Ok(Item::End)),
            other => other,
        }
    }
}

/// None for events that are no lines. Only the event's name says that a log ends or failed: a line may hold any text.
fn line_of(item: SseItem<'_>) -> Option<Result<Item<String>>> {
    let (name, data) = match item {
        SseItem::Comment => return Some(Ok(Item::Alive)),
        SseItem::Event { name, data } => (name, data),
    };
    match name {
        "done" => Some(Ok(Item::End)),
        "open" | "ping" => None,
        "error" => Some(Err(failure(data))),
        _ => Some(Ok(Item::Event(unwrapped(data)))),
    }
}

fn failure(data: &str) -> Error {
    let body: Value = serde_json::from_str(data).unwrap_or(Value::Null);
    Error::new(ErrorCode::Server, body["error"].as_str().unwrap_or(data))
}

/// Some servers send `{"line": "…"}` or `{"chunk": "…"}` instead of the line.
fn unwrapped(data: &str) -> String {
    if !data.starts_with('{') {
        return data.to_owned();
    }
    let Ok(Value::Object(mut fields)) = serde_json::from_str(data) else { return data.to_owned() };
    match fields.remove("line").or_else(|| fields.remove("chunk")) {
        Some(Value::String(line)) if fields.is_empty() => line.strip_suffix('\n').map(str::to_owned).unwrap_or(line),
        _ => data.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(decoder: &mut impl Decoder<Event = String>, text: &str) -> (Vec<String>, &'static str) {
        decoder.push(text.as_bytes()).unwrap();
        let mut lines = Vec::new();
        while let Some(item) = decoder.next() {
            match item {
                Ok(Item::Event(line)) => lines.push(line),
                Ok(Item::Alive) => {}
                Ok(Item::Last(_) | Item::End) => return (lines, "done"),
                Err(_) => return (lines, "error"),
            }
        }
        match decoder.finish() {
            Some(Ok(Item::Last(line))) => {
                lines.push(line);
                (lines, "end")
            }
            Some(Ok(Item::End)) => (lines, "end"),
            _ => (lines, "cut"),
        }
    }

    fn events(text: &str, ends_with_done: bool) -> (Vec<String>, &'static str) {
        read(&mut EventLines { reader: SseReader::default(), ends_with_done }, text)
    }

    #[test]
    fn only_the_events_name_ends_a_log() {
        let text = "event: open\ndata: {}\n\n: ka\n\ndata: end\n\ndata: event: done\n\ndata: {\"error\":\"x\"}\n\nevent: done\ndata: end\n\ndata: late\n\n";
        assert_eq!(events(text, true), (vec!["end".into(), "event: done".into(), r#"{"error":"x"}"#.into()], "done"));
    }

    #[test]
    fn a_log_without_its_end_was_cut_where_ends_are_sent() {
        assert_eq!(events("data: a\n\ndata: b\n", true).1, "cut");
        assert_eq!(events("data: a\r\n\r\ndata: b\r\n", false), (vec!["a".into(), "b".into()], "end"));
        assert_eq!(events("event: error\ndata: lost\n\n", false).1, "error");
    }

    #[test]
    fn wrapped_lines_are_unwrapped_and_other_objects_are_text() {
        let text = "event: line\ndata: {\"line\":\"a\\n\"}\n\ndata: {\"chunk\":\"b\"}\n\ndata: {\"line\":\"c\",\"level\":1}\n\n";
        assert_eq!(events(text, false).0, ["a", "b", r#"{"line":"c","level":1}"#]);
    }

    #[test]
    fn plain_text_keeps_its_last_line() {
        assert_eq!(read(&mut TextLines::default(), "a\r\n\nb"), (vec!["a".into(), "".into(), "b".into()], "end"));
        assert_eq!(read(&mut TextLines::default(), "a\n"), (vec!["a".into()], "end"));
    }
}
