//! What a cell showed, from any server: a stream of events, or one piece with results in either of two shapes.

use pandastack_protocol::code_context::{ExecutionAnswer, ExecutionError, ExecutionEvent, ExecutionStatus};
use pandastack_protocol::error::ErrorCode;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::events::{Decoder, Item};
use crate::http::lines::Lines;

/// Reads one event a line.
#[derive(Default)]
pub(super) struct ExecutionDecoder(Lines);

impl Decoder for ExecutionDecoder {
    type Event = ExecutionEvent;

    fn push(&mut self, piece: &[u8]) -> Result<()> {
        self.0.push(piece)
    }

    fn next(&mut self) -> Option<Result<Item<ExecutionEvent>>> {
        loop {
            let line = self.0.next()?;
            if let Some(item) = item_of(line) {
                return Some(item);
            }
        }
    }

    fn finish(&mut self) -> Option<Result<Item<ExecutionEvent>>> {
        // A cut line is no event; only a complete one without its line end counts.
        item_of(self.0.rest()).filter(Result::is_ok)
    }
}

fn item_of(line: &[u8]) -> Option<Result<Item<ExecutionEvent>>> {
    if line.trim_ascii().is_empty() {
        return None;
    }
    let event = match parse(line) {
        Ok(event) => event,
        Err(error) => return Some(Err(error)),
    };
    Some(match event {
        ExecutionEvent::Keepalive => Ok(Item::Alive),
        ExecutionEvent::Unknown => return None,
        ExecutionEvent::Failure { code, error } => Err(Error::new(code, error)),
        ExecutionEvent::End { .. } => Ok(Item::Last(event)),
        _ => Ok(Item::Event(event)),
    })
}

fn parse(line: &[u8]) -> Result<ExecutionEvent> {
    let broken = |error: serde_json::Error| {
        Error::new(ErrorCode::Interrupted, "a line of the stream cannot be understood").with_source(error)
    };
    let mut value: Value = serde_json::from_slice(line).map_err(broken)?;
    if value["type"] == "result" {
        value["data"] = Value::Object(bundle(value["data"].take()));
    }
    serde_json::from_value(value).map_err(broken)
}

/// Brings a one-piece answer into the shape of [`ExecutionAnswer`]. None: it is no object.
pub(super) fn normalised(answer: Value) -> Option<Value> {
    let Value::Object(mut answer) = answer else { return None };
    let exit = ["exit", "exit_code"].iter().find_map(|key| answer.get(*key).and_then(Value::as_i64)).unwrap_or(0);
    answer.insert("exit".into(), exit.into());
    answer.insert("exit_code".into(), exit.into());
    for key in ["stdout", "stderr"] {
        let text = answer.remove(key).map(text_of).unwrap_or_default();
        answer.insert(key.into(), text.into());
    }
    if let Some(error) = answer
        .remove("error")
        .filter(|error| !matches!(error, Value::Null))
        .map(text_of)
        .filter(|text| !text.is_empty())
    {
        answer.insert("error".into(), error.into());
    }
    let results = answer.remove("results").map(bundles).unwrap_or_default();
    answer.insert("results".into(), results.into());
    answer.retain(|_, value| !value.is_null());
    Some(Value::Object(answer))
}

/// Results are MIME bundles, or pairs of `type` and `data`. Which pairs belong to one object a server does not say: each is a result.
fn bundles(results: Value) -> Vec<Value> {
    let Value::Array(results) = results else { return Vec::new() };
    let mut found: Vec<Map<String, Value>> = Vec::new();
    for result in results {
        let Value::Object(mut result) = result else { continue };
        match result.get("type").and_then(Value::as_str).map(str::to_owned) {
            Some(mime) => {
                let text = result.remove("data").map(text_of).unwrap_or_default();
                found.push(Map::from_iter([(mime, Value::String(text))]));
            }
            None => found.push(bundle(Value::Object(result))),
        }
    }
    found.into_iter().map(Value::Object).collect()
}

/// MIME type → text.
fn bundle(data: Value) -> Map<String, Value> {
    let Value::Object(data) = data else { return Map::new() };
    let present = data.into_iter().filter(|(_, value)| !value.is_null());
    present.map(|(mime, value)| (mime, Value::String(text_of(value)))).collect()
}

/// Text as it is, lines joined, anything else as JSON.
fn text_of(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        Value::Array(lines) if lines.iter().all(Value::is_string) => lines.iter().filter_map(Value::as_str).collect(),
        other => other.to_string(),
    }
}

/// The events that would have led to `answer`.
pub(super) fn events_of(answer: ExecutionAnswer) -> Vec<ExecutionEvent> {
    let mut events = Vec::new();
    if !answer.stdout.is_empty() {
        events.push(ExecutionEvent::Stdout { text: answer.stdout });
    }
    if !answer.stderr.is_empty() {
        events.push(ExecutionEvent::Stderr { text: answer.stderr });
    }
    for (index, data) in answer.results.into_iter().enumerate() {
        let is_main = answer.main_result == Some(index);
        events.push(ExecutionEvent::Result { data, is_main, display_id: None, update: false });
    }
    let failed = answer.error.is_some();
    if let Some(text) = answer.error {
        let error = answer.error_info.unwrap_or_else(|| error_of(&text));
        events.push(ExecutionEvent::Error { text, error });
    }
    let status = if failed && answer.status == ExecutionStatus::Ok { ExecutionStatus::Error } else { answer.status };
    events.push(ExecutionEvent::End {
        status,
        execution_count: answer.execution_count.unwrap_or_default(),
        exit_code: answer.exit_code,
        duration_ms: answer.duration_ms,
        restarted: answer.restarted,
        truncated: answer.truncated,
    });
    events
}

/// The parts of a formatted traceback: its last line is `Name: value`.
fn error_of(text: &str) -> ExecutionError {
    let last = text.trim_end().lines().next_back().unwrap_or_default();
    let (name, value) = last.split_once(": ").unwrap_or((last, ""));
    ExecutionError {
        name: name.to_owned(),
        value: value.to_owned(),
        traceback: text.lines().map(str::to_owned).collect(),
        line: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(value: Value) -> ExecutionAnswer {
        serde_json::from_value(normalised(value).unwrap()).unwrap()
    }

    #[test]
    fn both_shapes_of_results_and_values_that_are_no_strings() {
        let answer = answer(json!({
            "stdout": ["a\n", "b"], "stderr": null, "exit": null, "exit_code": 3, "duration_ms": null,
            "results": [
                {"type": "text/plain", "data": "42"},
                {"text/html": ["<b>\n", "x"], "application/json": {"a": [1]}, "image/png": null},
                7, null,
            ],
        }));
        assert_eq!((answer.stdout.as_str(), answer.exit, answer.exit_code), ("a\nb", 3, 3));
        assert_eq!(answer.results.len(), 2);
        assert_eq!(answer.results[0]["text/plain"], "42");
        assert_eq!(answer.results[1]["text/html"], "<b>\nx");
        assert_eq!(answer.results[1]["application/json"], r#"{"a":[1]}"#);
        assert!(!answer.results[1].contains_key("image/png"));
    }

    #[test]
    fn an_answer_without_results_or_anything_else() {
        assert_eq!(answer(json!({})), ExecutionAnswer::default());
        assert_eq!(answer(json!({"error": "", "results": null})).error, None);
    }

    #[test]
    fn an_error_string_is_taken_apart() {
        let events = events_of(answer(json!({"error": "Traceback\nZeroDivisionError: division by zero\n", "exit": 1})));
        assert!(matches!(&events[0], ExecutionEvent::Error { error, .. }
            if error.name == "ZeroDivisionError" && error.value == "division by zero"));
        assert!(matches!(events[1], ExecutionEvent::End { status: ExecutionStatus::Error, exit_code: 1, .. }));
    }

    #[test]
    fn a_cut_last_line_is_no_event() {
        let mut decoder = ExecutionDecoder::default();
        decoder.push(b"{\"type\":\"stdout\",\"text\":\"a\"}\n{\"type\":\"new\"}\n\r\n{\"type\":\"end\"").unwrap();
        assert!(matches!(decoder.next(), Some(Ok(Item::Event(ExecutionEvent::Stdout { .. })))));
        assert!(decoder.next().is_none());
        assert!(decoder.finish().is_none());
    }
}
