//! Server-sent events.

use super::lines::Lines;
use crate::error::Result;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// One event, or a sign of life. Its texts are the reader's until the next item is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SseItem<'a> {
    /// An event with its name (`message` if it has none) and data.
    Event {
        /// Its name.
        name: &'a str,
        /// Its data lines, joined.
        data: &'a str,
    },
    /// A comment: servers send them to keep a connection open.
    Comment,
}

/// Puts events together from pieces of a stream.
#[derive(Debug, Default)]
pub(crate) struct SseReader {
    lines: Lines,
    event: Fields,
    first_seen: bool,
    /// The event was handed out: the next line begins another.
    is_taken: bool,
}

/// Fields of one event. Their memory is used again for the next.
#[derive(Debug, Default)]
struct Fields {
    name: String,
    data: String,
    has_data: bool,
}

enum Found {
    Event,
    Comment,
}

impl SseReader {
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<()> {
        self.lines.push(piece)
    }

    /// The next complete item.
    pub(crate) fn next(&mut self) -> Option<SseItem<'_>> {
        match self.advance()? {
            Found::Comment => Some(SseItem::Comment),
            Found::Event => Some(self.take()),
        }
    }

    /// The event that the stream's end left without its blank line.
    pub(crate) fn finish(&mut self) -> Option<SseItem<'_>> {
        self.begin();
        self.event.line(self.lines.rest());
        self.event.has_data.then(|| self.take())
    }

    fn advance(&mut self) -> Option<Found> {
        self.begin();
        loop {
            let mut line = self.lines.next()?;
            if !std::mem::replace(&mut self.first_seen, true) {
                line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
            }
            match line.first() {
                None if self.event.has_data => return Some(Found::Event),
                None => self.event.clear(),
                Some(b':') => return Some(Found::Comment),
                Some(_) => self.event.line(line),
            }
        }
    }

    fn begin(&mut self) {
        if std::mem::take(&mut self.is_taken) {
            self.event.clear();
        }
    }

    fn take(&mut self) -> SseItem<'_> {
        self.is_taken = true;
        let Fields { name, data, .. } = &self.event;
        SseItem::Event { name: if name.is_empty() { "message" } else { name }, data }
    }
}

impl Fields {
    fn clear(&mut self) {
        self.name.clear();
        self.data.clear();
        self.has_data = false;
    }

    fn line(&mut self, line: &[u8]) {
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match field {
            b"event" => {
                self.name.clear();
                self.name.push_str(&value);
            }
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                self.data.push_str(&value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(item: SseItem<'_>) -> String {
        match item {
            SseItem::Comment => "comment".to_owned(),
            SseItem::Event { name, data } => event(name, data),
        }
    }

    fn event(name: &str, data: &str) -> String {
        format!("{name}={data}")
    }

    fn read(text: &str) -> Vec<String> {
        let mut reader = SseReader::default();
        reader.push(text.as_bytes()).unwrap();
        let mut items = Vec::new();
        while let Some(item) = reader.next() {
            items.push(shown(item));
        }
        items.extend(reader.finish().map(shown));
        items
    }

    #[test]
    fn events_comments_and_joined_data() {
        let text = "\u{feff}: ka\n\nevent: exit\ndata: {\"a\":1}\n\ndata:x\ndata: y\nid: 3\n\n";
        assert_eq!(read(text), ["comment".to_owned(), event("exit", "{\"a\":1}"), event("message", "x\ny")]);
    }

    #[test]
    fn crlf_and_a_missing_last_blank_line() {
        assert_eq!(read("event: exit\r\ndata: 7\r\n\r\n"), [event("exit", "7")]);
        assert_eq!(read("event: exit\ndata: 7\n"), [event("exit", "7")]);
        assert_eq!(read("event: exit\ndata: 7"), [event("exit", "7")]);
        assert!(read("event: exit\n\n").is_empty());
        assert!(read(": the last comment").is_empty());
    }

    #[test]
    fn nothing_of_an_event_is_left_in_the_next() {
        assert_eq!(read("event: a\ndata: 1\n\ndata: 2\n\nevent: b\n\ndata: 3\n\n"), ["a=1", "message=2", "message=3"]);
        assert_eq!(read("event: a\n: ka\ndata: 1\n\n"), ["comment", "a=1"]);
    }
}
