//! JSON that a sandbox wrote.

use serde::de::DeserializeOwned;

use crate::error::EngineError;

/// Longest text that is told about JSON which cannot be read, in bytes.
const MAX_REASON: usize = 200;

/// Reads JSON. `noun` names it: `answer of the agent`.
///
/// # Errors
/// If it is none, or of the wrong shape. The text is short and in one line, whatever the sandbox wrote: messages of the parser quote it.
pub(crate) fn read<T: DeserializeOwned>(noun: &str, json: &[u8]) -> Result<T, EngineError> {
    serde_json::from_slice(json)
        .map_err(|error| EngineError::Internal(format!("unreadable {noun}: {}", shorten(&error.to_string()))))
}

/// The beginning of a text from a sandbox, for messages.
pub(super) fn shorten(text: &str) -> String {
    let begin = &text[..text.floor_char_boundary(MAX_REASON.min(text.len()))];
    let shown: String = begin.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    if begin.len() < text.len() { format!("{shown}…") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_sandbox_wrote_does_not_become_a_message_of_its_own() {
        let long = format!("{{\"a\":\"\\n{}\"}}", "x".repeat(1 << 20));
        for json in [long.as_str(), "", "[", "1e400", &"[".repeat(100_000), "\"\\ud800\"", "{\"a\":1}{"] {
            let error =
                read::<std::collections::BTreeMap<String, u8>>("thing", json.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("unreadable thing: ") && error.len() < 300, "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
        assert!(read::<String>("thing", b"\"\xff\"").is_err());
    }
}
