//! What the agent says on its standard error: traced, and its last words kept.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes kept.
const TAIL: usize = 4 << 10;

/// The last words of an agent.
#[derive(Debug, Clone, Default)]
pub(super) struct LastWords(Arc<Mutex<VecDeque<u8>>>);

impl LastWords {
    /// Reads until the pipe ends. What is not kept is only traced, so a sandbox cannot fill memory or disk.
    pub(super) async fn collect(self, sandbox_id: String, mut pipe: impl AsyncRead + Unpin) {
        let mut bytes = [0; TAIL];
        while let Ok(length) = pipe.read(&mut bytes).await {
            if length == 0 {
                break;
            }
            tracing::trace!(sandbox_id, said = %String::from_utf8_lossy(&bytes[..length]).escape_debug(), "agent");
            let mut tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            tail.extend(&bytes[..length]);
            let excess = tail.len().saturating_sub(TAIL);
            tail.drain(..excess);
        }
    }

    /// The last line, cut to 300 bytes and without control characters; empty if there is none.
    pub(super) fn line(&self) -> String {
        let tail: Vec<u8> = self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        let text = String::from_utf8_lossy(&tail);
        let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let line: String = line.chars().filter(|character| !character.is_control()).collect();
        line[..line.floor_char_boundary(300.min(line.len()))].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_flood_leaves_only_its_last_line() {
        let words = LastWords::default();
        let mut said = vec![b'x'; 1 << 20];
        said.extend_from_slice(b"\npanicked at \x1b[31mhere\n\n");
        words.clone().collect("id".to_owned(), said.as_slice()).await;
        assert_eq!(words.line(), "panicked at [31mhere");
        assert!(words.0.lock().unwrap().len() <= TAIL);
    }
}
