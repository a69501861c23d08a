//! Server-sent events, as all official clients can read them: LF only, ASCII only, a blank line after each.

use serde::Serialize;

/// The content type. Without the charset some clients take the text for Latin-1.
pub(crate) const CONTENT_TYPE: &str = "text/event-stream; charset=utf-8";

/// A comment, which clients skip.
pub(crate) const KEEPALIVE: &[u8] = b": ka\n\n";

/// Appends an event. `data` must serialise to a JSON object.
pub(crate) fn encode(event: &str, data: &impl Serialize, out: &mut Vec<u8>) {
    let json = serde_json::to_string(data).unwrap_or_else(|_| "{}".to_owned());
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(event.as_bytes());
    out.extend_from_slice(b"\ndata: ");
    append_ascii(&json, out);
    out.extend_from_slice(b"\n\n");
}

/// Appends JSON with everything but ASCII escaped. Outside of ASCII, JSON has only the content of strings.
fn append_ascii(json: &str, out: &mut Vec<u8>) {
    if json.bytes().all(|byte| byte < 0x7f) {
        out.extend_from_slice(json.as_bytes());
        return;
    }
    for letter in json.chars() {
        if letter.is_ascii() && letter != '\x7f' {
            out.push(letter as u8);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_ascii_and_one_line() {
        let mut out = Vec::new();
        encode("stdout", &serde_json::json!({"chunk": "é\u{85}\u{2028}😀\r\n\"\\\x7f\x01"}), &mut out);
        let expected =
            "event: stdout\ndata: {\"chunk\":\"\\u00e9\\u0085\\u2028\\ud83d\\ude00\\r\\n\\\"\\\\\\u007f\\u0001\"}\n\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
