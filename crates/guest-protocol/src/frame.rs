//! Frames: what the streamed bodies of [`crate::route::EXEC`] and [`crate::route::context_run`] consist of.
//!
//! A frame is one byte of [`Kind`], a 4-byte little-endian length and the payload. `Stdout` and `Stderr` carry raw bytes, all others JSON.
//! A stream ends with exactly one `Exit`, `End` or `Failure`; a stream that stops without one was cut.

use thiserror::Error;

/// Longest payload of a frame, in bytes. Results (a big chart, a big table) are the long ones; who reads one holds it several times over.
pub const MAX_PAYLOAD: usize = 64 << 20;

/// Longest payload of a frame that only says how something ended, in bytes.
pub const MAX_SHORT_PAYLOAD: usize = 1 << 20;

/// Length of kind and length prefix, in bytes.
pub const HEADER: usize = 5;

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Raw bytes of standard output.
    Stdout = 1,
    /// Raw bytes of standard error.
    Stderr = 2,
    /// [`crate::exec::Exit`]: the command ended.
    Exit = 3,
    /// [`crate::context::ResultFrame`]: a displayed object.
    Result = 4,
    /// [`crate::context::ErrorFrame`]: the cell raised.
    Error = 5,
    /// [`crate::context::ClearFrame`]: results so far are to be forgotten.
    Clear = 6,
    /// [`crate::context::End`]: the cell ended.
    End = 7,
    /// [`crate::exec::Failure`]: no outcome can be had.
    Failure = 8,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Self> {
        use Kind::*;
        [Stdout, Stderr, Exit, Result, Error, Clear, End, Failure].into_iter().find(|kind| *kind as u8 == byte)
    }

    /// Longest payload, in bytes.
    fn max_payload(self) -> usize {
        match self {
            Self::Stdout | Self::Stderr | Self::Result | Self::Error => MAX_PAYLOAD,
            Self::Exit | Self::Clear | Self::End | Self::Failure => MAX_SHORT_PAYLOAD,
        }
    }
}

/// The sender broke the framing.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum FrameError {
    /// A length over [`MAX_PAYLOAD`], or for a short frame over [`MAX_SHORT_PAYLOAD`].
    #[error("frame too long: `{0}` bytes")]
    Length(u32),
    /// A kind this version does not know.
    #[error("unknown frame kind: `{0}`")]
    Kind(u8),
}

/// Appends a frame to `out`.
pub fn encode(kind: Kind, payload: &[u8], out: &mut Vec<u8>) {
    out.push(kind as u8);
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    out.extend_from_slice(payload);
}

/// Reads kind and payload length from the first [`HEADER`] bytes of a frame.
///
/// # Errors
/// If the kind is unknown or the length over the limit.
pub fn parse_header(header: [u8; HEADER]) -> Result<(Kind, usize), FrameError> {
    let kind = Kind::from_byte(header[0]).ok_or(FrameError::Kind(header[0]))?;
    let length = u32::from_le_bytes([header[1], header[2], header[3], header[4]]);
    if length as usize > kind.max_payload() {
        return Err(FrameError::Length(length));
    }
    Ok((kind, length as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_round_trips_and_hostile_ones_are_refused() {
        let mut bytes = Vec::new();
        encode(Kind::Stderr, b"abc", &mut bytes);
        assert_eq!(parse_header(*bytes.first_chunk().unwrap()), Ok((Kind::Stderr, 3)));
        assert_eq!(&bytes[HEADER..], b"abc");
        assert_eq!(parse_header([0, 0, 0, 0, 0]), Err(FrameError::Kind(0)));
        assert_eq!(parse_header([1, 255, 255, 255, 255]), Err(FrameError::Length(u32::MAX)));
        for kind in [Kind::Exit, Kind::Clear, Kind::End, Kind::Failure] {
            assert_eq!(parse_header([kind as u8, 1, 0, 16, 0]), Err(FrameError::Length((1 << 20) + 1)), "{kind:?}");
        }
    }
}
