//! Bytes to text, piece by piece.

/// Decodes one stream of UTF-8. A sequence is never cut; what is no UTF-8 becomes U+FFFD.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The beginning of a sequence, at most 3 bytes.
    pending: Vec<u8>,
}

/// A piece of output.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    /// As text.
    pub text: String,
    /// The bytes that the text stands for, if it does not tell them.
    pub raw: Option<Vec<u8>>,
}

impl Decoder {
    /// Decodes what is whole in `bytes` and what was left before.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Piece {
        let mut whole = std::mem::take(&mut self.pending);
        whole.extend_from_slice(bytes);
        self.pending = whole.split_off(whole.len() - incomplete_tail(&whole));
        decode(whole)
    }

    /// Decodes what was left.
    pub(crate) fn finish(&mut self) -> Piece {
        decode(std::mem::take(&mut self.pending))
    }
}

fn decode(bytes: Vec<u8>) -> Piece {
    match String::from_utf8(bytes) {
        Ok(text) => Piece { text, raw: None },
        Err(error) => {
            Piece { text: String::from_utf8_lossy(error.as_bytes()).into_owned(), raw: Some(error.into_bytes()) }
        }
    }
}

/// Length of the sequence that begins at the end of `bytes` and may be completed later.
fn incomplete_tail(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    let Some(start) = tail.iter().rposition(|byte| *byte & 0xc0 != 0x80) else { return 0 };
    let sequence = &tail[start..];
    let is_incomplete =
        std::str::from_utf8(sequence).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none());
    if is_incomplete { sequence.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_pieces(bytes: &[u8], size: usize) -> (String, Vec<u8>) {
        let mut decoder = Decoder::default();
        let mut text = String::new();
        let mut raw = Vec::new();
        let pieces: Vec<Piece> = bytes.chunks(size).map(|chunk| decoder.push(chunk)).collect();
        for piece in pieces.into_iter().chain([decoder.finish()]) {
            raw.extend(piece.raw.unwrap_or_else(|| piece.text.clone().into_bytes()));
            text.push_str(&piece.text);
        }
        (text, raw)
    }

    #[test]
    fn no_sequence_is_cut_whatever_the_pieces() {
        let text = "aé€😀漢z".repeat(40);
        for size in 1..20 {
            assert_eq!(in_pieces(text.as_bytes(), size).0, text, "{size}");
        }
    }

    #[test]
    fn invalid_bytes_are_replaced_and_kept_beside() {
        let bytes: Vec<u8> = (0..=255).chain(*b"\xf0\x9f\x98x\xe2\x82\xed\xa0\x80\xc3").collect();
        for size in 1..20 {
            let (text, raw) = in_pieces(&bytes, size);
            assert_eq!(raw, bytes, "{size}");
            assert_eq!(text, String::from_utf8_lossy(&bytes), "{size}");
        }
    }

    #[test]
    fn whole_text_carries_no_bytes_beside() {
        assert_eq!(Decoder::default().push("é".as_bytes()), Piece { text: "é".into(), raw: None });
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(b"\xc3"), Piece::default());
        assert_eq!(decoder.push(b"\xa9"), Piece { text: "é".into(), raw: None });
    }
}
