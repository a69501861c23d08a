//! Records: the outermost layer on the agent's stdin and stdout.
//!
//! A record is a 4-byte little-endian length of what follows, one byte of [`Kind`], and the payload. A reader that cannot know
//! where in a record the other side stopped (the engine was killed, the sandbox was restored) calls [`Decoder::resync`]: it
//! then skips everything up to [`MARKER`], which precedes every `Hello` and `HelloAck`. A reader in step meets the marker as an impossible
//! length and simply goes on behind it.

use thiserror::Error;

/// Precedes every `Hello` and `HelloAck`. Its first four bytes are no valid record length.
pub const MARKER: [u8; 32] = *b"\xff\xff\xff\xff\x00PandaStack record marker 1\x0a";

/// Longest payload of a record, in bytes.
pub const MAX_PAYLOAD: usize = 1 << 20;

/// Length prefix and kind.
const HEADER: usize = 5;

/// What a record carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Bytes of the HTTP/2 connection of the current epoch, both ways.
    Mux = 0,
    /// Engine to agent: begin a new epoch ([`crate::hello::Hello`] as JSON). Preceded by [`MARKER`].
    Hello = 1,
    /// Agent to engine: the epoch has begun ([`crate::hello::HelloAck`] as JSON). Preceded by [`MARKER`].
    HelloAck = 2,
    /// Engine to agent: stop writing after the current record. No payload; the engine writes nothing more until `Thaw` or `Hello`.
    Freeze = 3,
    /// Agent to engine: nothing more will be written until `Thaw` or `Hello`. No payload.
    Frozen = 4,
    /// Engine to agent: go on as before. No payload.
    Thaw = 5,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Mux, Self::Hello, Self::HelloAck, Self::Freeze, Self::Frozen, Self::Thaw]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// What the payload is.
    pub kind: Kind,
    /// At most [`MAX_PAYLOAD`] bytes.
    pub payload: Vec<u8>,
}

/// The other side broke the record layer; nothing after it can be trusted until a resync.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum RecordError {
    /// A length over the limit, or zero.
    #[error("record length out of range: `{0}`")]
    Length(u32),
    /// A kind this version does not know.
    #[error("unknown record kind: `{0}`")]
    Kind(u8),
    /// A marker whose tail is not the marker.
    #[error("damaged record marker")]
    Marker,
}

/// Appends a record to `out`, with the marker before `Hello` and `HelloAck`.
///
/// # Panics
/// If `payload` is longer than [`MAX_PAYLOAD`]: writers split `Mux` bytes, and control payloads are small.
pub fn encode(kind: Kind, payload: &[u8], out: &mut Vec<u8>) {
    assert!(payload.len() <= MAX_PAYLOAD, "record payload too long: {}", payload.len());
    if matches!(kind, Kind::Hello | Kind::HelloAck) {
        out.extend_from_slice(&MARKER);
    }
    let length = (payload.len() + 1) as u32;
    out.extend_from_slice(&length.to_le_bytes());
    out.push(kind as u8);
    out.extend_from_slice(payload);
}

/// Turns bytes as they come into records.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    start: usize,
    skipping: bool,
}

impl Decoder {
    /// A decoder in step: the next byte begins a record or a marker.
    pub fn new() -> Self {
        Self::default()
    }

    /// A decoder that skips to the first marker.
    pub fn skipping() -> Self {
        Self { skipping: true, ..Self::default() }
    }

    /// From now on skips everything up to the next marker, also what was pushed but not yet read.
    pub fn resync(&mut self) {
        self.skipping = true;
    }

    /// Takes bytes from the other side.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 && (self.start == self.buffer.len() || self.start > MAX_PAYLOAD) {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole record, or `None` until more bytes are pushed.
    ///
    /// # Errors
    /// If the other side broke the layer. The decoder stays where it is; call [`Decoder::resync`] or give up.
    pub fn next_record(&mut self) -> Result<Option<Record>, RecordError> {
        loop {
            if self.skipping && !self.skip_to_marker() {
                return Ok(None);
            }
            let pending = &self.buffer[self.start..];
            let Some(prefix) = pending.first_chunk::<4>() else { return Ok(None) };
            if *prefix == MARKER[..4] {
                let Some(head) = pending.get(..MARKER.len()) else { return Ok(None) };
                if head != MARKER {
                    return Err(RecordError::Marker);
                }
                self.start += MARKER.len();
                continue;
            }
            let length = u32::from_le_bytes(*prefix);
            if length == 0 || length as usize > MAX_PAYLOAD + 1 {
                return Err(RecordError::Length(length));
            }
            let end = 4 + length as usize;
            let Some(record) = pending.get(..end) else { return Ok(None) };
            let kind = Kind::from_byte(record[4]).ok_or(RecordError::Kind(record[4]))?;
            let payload = record[HEADER..].to_vec();
            self.start += end;
            return Ok(Some(Record { kind, payload }));
        }
    }

    /// Drops bytes until the buffer begins behind a marker; keeps a tail that may be the start of one.
    fn skip_to_marker(&mut self) -> bool {
        let pending = &self.buffer[self.start..];
        if let Some(at) = pending.windows(MARKER.len()).position(|window| window == MARKER) {
            self.start += at + MARKER.len();
            self.skipping = false;
            return true;
        }
        let keep = pending.len().min(MARKER.len() - 1);
        self.start = self.buffer.len() - keep;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(decoder: &mut Decoder) -> Vec<Record> {
        std::iter::from_fn(|| decoder.next_record().unwrap()).collect()
    }

    #[test]
    fn records_survive_any_split() {
        let mut bytes = Vec::new();
        encode(Kind::Hello, b"{}", &mut bytes);
        encode(Kind::Mux, &[7; 300], &mut bytes);
        encode(Kind::Freeze, b"", &mut bytes);
        for cut in 0..bytes.len() {
            let mut decoder = Decoder::new();
            decoder.push(&bytes[..cut]);
            let mut records = all(&mut decoder);
            decoder.push(&bytes[cut..]);
            records.extend(all(&mut decoder));
            let kinds: Vec<_> = records.iter().map(|record| record.kind).collect();
            assert_eq!(kinds, [Kind::Hello, Kind::Mux, Kind::Freeze], "cut at {cut}");
            assert_eq!(records[1].payload, vec![7; 300]);
        }
    }

    #[test]
    fn resync_skips_half_a_record_and_finds_the_marker_at_any_split() {
        let mut bytes = vec![0x10, 0, 0, 0, 0, 1, 2, 3];
        bytes.extend_from_slice(&MARKER[..9]);
        encode(Kind::HelloAck, b"{\"epoch\":2}", &mut bytes);
        for cut in 0..bytes.len() {
            let mut decoder = Decoder::skipping();
            decoder.push(&bytes[..cut]);
            let mut records = all(&mut decoder);
            decoder.push(&bytes[cut..]);
            records.extend(all(&mut decoder));
            assert_eq!(records, [Record { kind: Kind::HelloAck, payload: b"{\"epoch\":2}".to_vec() }], "cut at {cut}");
        }
    }

    #[test]
    fn hostile_lengths_and_kinds_are_refused() {
        let mut decoder = Decoder::new();
        decoder.push(&[0, 0, 0, 0, 0]);
        assert_eq!(decoder.next_record(), Err(RecordError::Length(0)));
        let mut decoder = Decoder::new();
        decoder.push(&[0, 0, 0, 0x7f, 0]);
        assert_eq!(decoder.next_record(), Err(RecordError::Length(0x7f00_0000)));
        let mut decoder = Decoder::new();
        decoder.push(&[1, 0, 0, 0, 99]);
        assert_eq!(decoder.next_record(), Err(RecordError::Kind(99)));
        let mut decoder = Decoder::new();
        decoder.push(&[0xff; 40]);
        assert_eq!(decoder.next_record(), Err(RecordError::Marker));
    }
}
