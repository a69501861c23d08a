//! Server-sent events.

use super::lines::Lines;
use crate::error::Result;

/// One event, or a sign of life.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SseItem {
    /// An event with its name (`message` if it has none) and data.
    Event {
        /// Its name.
        name: String,
        /// Its data lines, joined.
        data: String,
    },
    /// A comment: servers send them to keep a connection open.
    Comment,
}

/// Puts events together from pieces of a stream.
#[derive(Debug, Default)]
pub(crate) struct SseReader {
    lines: Lines,
    name: Option<String>,
    data: Option<String>,
    first_seen: bool,
}

impl SseReader {
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<()> {
        self.lines.push(piece)
    }

    /// The next complete item.
    pub(crate) fn next(&mut self) -> Option<SseItem> {
        loop {
            let line = self.lines.next()?;
            let mut line = String::from_utf8_lossy(line).into_owned();
            if !std::mem::replace(&mut self.first_seen, true) {
                line = line.trim_start_matches('\u{feff}').to_owned();
            }
            if line.is_empty() {
                if let Some(event) = self.take() {
                    return Some(event);
                }
            } else if line.starts_with(':') {
                return Some(SseItem::Comment);
            } else {
                self.field(&line);
            }
        }
    }

    /// The event that the stream's end left without its blank line.
    pub(crate) fn finish(&mut self) -> Option<SseItem> {
        let line = String::from_utf8_lossy(self.lines.rest()).into_owned();
        if !line.starts_with(':') {
            self.field(&line);
        }
        self.take()
    }

    fn take(&mut self) -> Option<SseItem> {
        let name = self.name.take();
        let data = self.data.take()?;
        Some(SseItem::Event { name: name.unwrap_or_else(|| "message".to_owned()), data })
    }

    fn field(&mut self, line: &str) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match (field, &mut self.data) {
            ("event", _) => self.name = Some(value.to_owned()),
            ("data", Some(data)) => {
                data.push('\n');
                data.push_str(value);
            }
            ("data", data) => *data = Some(value.to_owned()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<SseItem> {
        let mut reader = SseReader::default();
        reader.push(text.as_bytes()).unwrap();
        let mut items: Vec<_> = std::iter::from_fn(|| reader.next()).collect();
        items.extend(reader.finish());
        items
    }

    fn event(name: &str, data: &str) -> SseItem {
        SseItem::Event { name: name.into(), data: data.into() }
    }

    #[test]
    fn events_comments_and_joined_data() {
        let text = "\u{feff}: ka\n\nevent: exit\ndata: {\"a\":1}\n\ndata:x\ndata: y\nid: 3\n\n";
        assert_eq!(read(text), [SseItem::Comment, event("exit", "{\"a\":1}"), event("message", "x\ny")]);
    }

    #[test]
    fn crlf_and_a_missing_last_blank_line() {
        assert_eq!(read("event: exit\r\ndata: 7\r\n\r\n"), [event("exit", "7")]);
        assert_eq!(read("event: exit\ndata: 7\n"), [event("exit", "7")]);
        assert_eq!(read("event: exit\ndata: 7"), [event("exit", "7")]);
        assert!(read("event: exit\n\n").is_empty());
    }
}
