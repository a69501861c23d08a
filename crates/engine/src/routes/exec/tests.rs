use serde_json::json;

use super::super::output::tests::{Scripted, frame};
use super::*;

fn guest_request(body: serde_json::Value) -> Result<guest::ExecRequest, String> {
    to_guest(serde_json::from_value(body).unwrap()).map_err(|error| error.body.error)
}

#[test]
fn requests_are_checked() {
    for (body, error) in [
        (json!({}), "cmd required"),
        (json!({"cmd": ""}), "cmd required"),
        (json!({"cmd": "a", "argv": ["a"]}), "give either cmd or argv, not both"),
        (json!({"cmd": "a\0b"}), "cmd must not contain NUL"),
        (json!({"argv": ["a", "\0"]}), "argv must not contain NUL"),
        (json!({"cmd": "a", "cwd": "/\0"}), "cwd must not contain NUL"),
        (json!({"cmd": "a", "timeout_seconds": 0}), "timeout_seconds must be greater than 0: `0`"),
        (json!({"cmd": "a", "timeout_seconds": -1.5}), "timeout_seconds must be greater than 0: `-1.5`"),
        (json!({"cmd": "a", "env": {"A=B": "c"}}), "no name for an environment variable: `A=B`"),
    ] {
        assert_eq!(guest_request(body).unwrap_err(), error);
    }
    let long = guest_request(json!({"cmd": "x".repeat(MAX_COMMAND)})).unwrap_err();
    assert!(long.starts_with("cmd too long: 131072 bytes"), "{long}");
}

#[test]
fn fractions_of_seconds_count() {
    assert_eq!(guest_request(json!({"cmd": "a", "timeout_seconds": 1.5})).unwrap().timeout_ms, Some(1500));
    assert_eq!(guest_request(json!({"cmd": "a", "timeout_seconds": 0.0001})).unwrap().timeout_ms, Some(1));
    assert_eq!(guest_request(json!({"cmd": "a"})).unwrap().timeout_ms, None);
}

#[tokio::test]
async fn output_is_answered_in_one_piece() {
    let frames = vec![
        frame(Kind::Stdout, b"\xc3"),
        frame(Kind::Stderr, "e"),
        frame(Kind::Stdout, b"\xa9\xff"),
        frame(Kind::Exit, r#"{"exit_code":7,"duration_ms":12}"#),
    ];
    let result = run_to_end(Scripted::new(frames), None).await.unwrap();
    assert_eq!(
        result,
        ExecResult {
            stdout: "é\u{fffd}".into(),
            stderr: "e".into(),
            exit_code: 7,
            duration_ms: Some(12),
            truncated: false
        }
    );
}

#[tokio::test]
async fn a_time_limit_keeps_the_output_so_far() {
    let frames = vec![
        frame(Kind::Stdout, "so far"),
        frame(Kind::Exit, r#"{"exit_code":143,"timed_out":true,"duration_ms":1000}"#),
    ];
    let error = run_to_end(Scripted::new(frames), Some(1000)).await.unwrap_err();
    assert_eq!((error.status.as_u16(), error.body.code), (504, Some(ErrorCode::SandboxTimeout)));
    assert_eq!(error.body.error, "command timeout after 1s");
    assert_eq!((error.body.stdout.as_deref(), error.body.stderr.as_deref()), (Some("so far"), Some("")));
}

#[tokio::test]
async fn a_cut_stream_is_an_error_with_the_output_so_far() {
    let error = run_to_end(Scripted::new(vec![frame(Kind::Stdout, "so far")]), None).await.unwrap_err();
    assert_eq!(error.body.code, Some(ErrorCode::Interrupted));
    assert_eq!(error.body.stdout.as_deref(), Some("so far"));
    let gone = EngineError::SandboxGone { id: "x".into(), reason: "deleted".into() };
    let error = run_to_end(Scripted::new(vec![frame(Kind::Stdout, "so far"), Err(gone)]), None).await.unwrap_err();
    assert_eq!((error.status.as_u16(), error.body.code), (410, Some(ErrorCode::SandboxGone)));
    let error = run_to_end(Scripted::new(vec![frame(Kind::Exit, "[")]), None).await.unwrap_err();
    assert_eq!(error.body.code, Some(ErrorCode::Server));
}
