//! Lines of a stream that arrives in pieces: ends are LF, CR or CRLF, wherever the pieces are cut.

use pandastack_protocol::error::ErrorCode;

use crate::error::{Error, Result};

/// Most bytes of one line: a displayed object is one.
const MAX_LINE: usize = 256 << 20;

/// Splits what is pushed into lines. Every byte is looked at once.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    buffer: Vec<u8>,
    start: usize,
    searched: usize,
    after_cr: bool,
}

impl Lines {
    /// Takes the next piece.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<()> {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        if self.buffer.len() + piece.len() > MAX_LINE {
            return Err(Error::new(
                ErrorCode::Network,
                format!("a line of the stream is longer than {MAX_LINE} bytes"),
            ));
        }
        self.buffer.extend_from_slice(piece);
        Ok(())
    }

    /// The next complete line without its end, if there is one.
    pub(crate) fn next(&mut self) -> Option<&[u8]> {
        if self.after_cr && self.start < self.buffer.len() {
            self.after_cr = false;
            if self.buffer[self.start] == b'\n' {
                self.start += 1;
                self.searched = self.searched.max(self.start);
            }
        }
        let Some(found) = memchr::memchr2(b'\n', b'\r', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            return None;
        };
        let (start, end) = (self.start, self.searched + found);
        self.after_cr = self.buffer[end] == b'\r';
        self.start = end + 1;
        self.searched = self.start;
        Some(&self.buffer[start..end])
    }

    /// What came after the last line end.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.buffer[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for piece in pieces {
            lines.push(piece).unwrap();
            while let Some(line) = lines.next() {
                found.push(String::from_utf8(line.to_vec()).unwrap());
            }
        }
        found.push(String::from_utf8(lines.rest().to_vec()).unwrap());
        found
    }

    #[test]
    fn every_cut_and_every_line_end_gives_the_same_lines() {
        for end in ["\n", "\r", "\r\n"] {
            let text = ["ä1", "", "b😀", "", "", "c"].join(end);
            for cut in 0..=text.len() {
                for cut2 in cut..=text.len() {
                    let bytes = text.as_bytes();
                    let lines = split(&[&bytes[..cut], &bytes[cut..cut2], &bytes[cut2..]]);
                    assert_eq!(lines, ["ä1", "", "b😀", "", "", "c"], "{end:?} cut at {cut} and {cut2}");
                }
            }
        }
    }

    #[test]
    fn a_long_line_in_small_pieces_is_searched_once() {
        let mut lines = Lines::default();
        for _ in 0..100_000 {
            lines.push(b"0123456789").unwrap();
            assert!(lines.next().is_none());
        }
        lines.push(b"\n").unwrap();
        assert_eq!(lines.next().map(<[u8]>::len), Some(1_000_000));
    }
}
