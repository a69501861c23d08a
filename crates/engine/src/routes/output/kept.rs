//! Output that is answered in one piece.

use std::collections::VecDeque;

/// Most bytes of one stream that are kept unless the client asks for fewer.
pub(crate) const MAX_KEPT: usize = 16 << 20;

/// Head and tail of a stream; what is between is dropped.
#[derive(Debug)]
pub(crate) struct KeptOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    dropped: u64,
}

impl KeptOutput {
    /// Keeps at most `limit` bytes, and never more than [`MAX_KEPT`].
    pub(crate) fn new(limit: Option<u64>) -> Self {
        let limit = limit.map_or(MAX_KEPT, |limit| usize::try_from(limit).unwrap_or(MAX_KEPT).min(MAX_KEPT));
        Self { head: Vec::new(), tail: VecDeque::new(), half: limit.div_ceil(2), dropped: 0 }
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(head);
        let skipped = rest.len().saturating_sub(self.half);
        self.tail.extend(&rest[skipped..]);
        let excess = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..excess);
        self.dropped += (skipped + excess) as u64;
    }

    /// The text, and whether something was dropped. Where it was, a line says how much.
    pub(crate) fn finish(mut self) -> (String, bool) {
        if self.dropped == 0 {
            self.head.extend(self.tail);
            return (
                String::from_utf8(self.head)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
                false,
            );
        }
        let tail = self.tail.make_contiguous();
        let broken = tail.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
        let whole = last_boundary(&self.head);
        let dropped = self.dropped + broken as u64 + (self.head.len() - whole) as u64;
        let (head, tail) = (String::from_utf8_lossy(&self.head[..whole]), String::from_utf8_lossy(&tail[broken..]));
        (format!("{head}\n[… {dropped} bytes left out …]\n{tail}"), true)
    }
}

/// The end of the last sequence that is whole.
fn last_boundary(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(limit: u64, pieces: &[&str]) -> (String, bool) {
        let mut output = KeptOutput::new(Some(limit));
        for piece in pieces {
            output.push(piece.as_bytes());
        }
        output.finish()
    }

    #[test]
    fn what_fits_is_kept_as_it_is() {
        assert_eq!(kept(10, &["01234", "56789"]), ("0123456789".into(), false));
        assert_eq!(kept(10, &["0123456789"]), ("0123456789".into(), false));
        assert_eq!(kept(10, &["é", "é", "é", "é", "é"]), ("ééééé".into(), false));
    }

    #[test]
    fn head_and_tail_of_more_are_kept() {
        assert_eq!(kept(10, &["0123456789abcdef"]), ("01234\n[… 6 bytes left out …]\nbcdef".into(), true));
        assert_eq!(kept(10, &["012", "3456789ab", "cd", "ef"]), ("01234\n[… 6 bytes left out …]\nbcdef".into(), true));
        assert_eq!(kept(0, &["abc"]), ("\n[… 3 bytes left out …]\n".into(), true));
    }

    #[test]
    fn sequences_are_not_cut() {
        assert_eq!(kept(10, &["éééééééé"]), ("éé\n[… 8 bytes left out …]\néé".into(), true));
    }

    #[test]
    fn memory_is_bounded() {
        let mut output = KeptOutput::new(Some(u64::MAX));
        for _ in 0..100 {
            output.push(&[b'x'; 1 << 20]);
        }
        assert!(output.head.len() + output.tail.len() <= MAX_KEPT);
        assert!(output.finish().1);
    }
}
