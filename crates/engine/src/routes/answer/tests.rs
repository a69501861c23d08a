use pandastack_guest_protocol::frame::Kind;
use serde_json::json;

use super::super::output::tests::{Scripted, frame};
use super::*;

const END: &str = r#"{"status":"ok","execution_count":2,"exit_code":0,"duration_ms":5}"#;

async fn run(frames: &[(Kind, &str)]) -> Result<serde_json::Value, ApiError> {
    let frames = frames.iter().map(|(kind, payload)| frame(*kind, payload)).collect();
    run_to_end(Scripted::new(frames), Some(30_000), None).await.map(|answer| serde_json::to_value(answer).unwrap())
}

fn text(content: &str, display_id: &str, update: bool) -> String {
    json!({"data": {"text/plain": content}, "display_id": display_id, "update": update}).to_string()
}

#[tokio::test]
async fn an_answer_has_what_the_official_sdks_read() {
    let main = r#"{"data":{"text/plain":"42"},"is_main":true}"#;
    let answer =
        run(&[(Kind::Stdout, "out"), (Kind::Stderr, "err"), (Kind::Result, main), (Kind::End, END)]).await.unwrap();
    let expected = json!({
        "stdout": "out", "stderr": "err", "exit": 0, "exit_code": 0, "duration_ms": 5, "results": [{"text/plain": "42"}],
        "main_result": 0, "execution_count": 2, "status": "ok",
    });
    assert_eq!(answer, expected);
}

#[tokio::test]
async fn a_traceback_is_an_answer() {
    let error = r#"{"name":"ZeroDivisionError","value":"division by zero","text":"Traceback\nZeroDivisionError: division by zero","line":1}"#;
    let end = r#"{"status":"error","execution_count":1,"exit_code":1,"duration_ms":1}"#;
    let answer = run(&[(Kind::Error, error), (Kind::End, end)]).await.unwrap();
    assert_eq!(answer["error"], "Traceback\nZeroDivisionError: division by zero");
    assert_eq!(answer["error_info"]["name"], "ZeroDivisionError");
    assert_eq!((&answer["exit"], &answer["exit_code"]), (&json!(1), &json!(1)));
}

#[tokio::test]
async fn displays_are_updated_and_cleared() {
    let (first, second, update) = (text("1", "a", false), text("2", "b", false), text("3", "a", true));
    let answer = run(&[(Kind::Result, &first), (Kind::Result, &second), (Kind::Result, &update), (Kind::End, END)])
        .await
        .unwrap();
    assert_eq!(answer["results"], json!([{"text/plain": "3"}, {"text/plain": "2"}]));
    let answer =
        run(&[(Kind::Result, &first), (Kind::Clear, "{}"), (Kind::Result, &second), (Kind::End, END)]).await.unwrap();
    assert_eq!(answer["results"], json!([{"text/plain": "2"}]));
    let waiting = [(Kind::Result, first.as_str()), (Kind::Clear, r#"{"wait":true}"#), (Kind::End, END)];
    assert_eq!(run(&waiting).await.unwrap()["results"], json!([{"text/plain": "1"}]));
    let replaced =
        [(Kind::Result, first.as_str()), (Kind::Clear, r#"{"wait":true}"#), (Kind::Result, &second), (Kind::End, END)];
    assert_eq!(run(&replaced).await.unwrap()["results"], json!([{"text/plain": "2"}]));
    let stranger = text("4", "of an earlier cell", true);
    assert_eq!(run(&[(Kind::Result, &stranger), (Kind::End, END)]).await.unwrap()["results"], json!([]));
}

#[tokio::test]
async fn a_time_limit_is_an_error_with_the_execution_so_far() {
    let end = r#"{"status":"timed_out","execution_count":3,"exit_code":1,"duration_ms":30000,"restarted":true}"#;
    let shown = text("1", "a", false);
    let error = run(&[(Kind::Stdout, "so far"), (Kind::Result, &shown), (Kind::End, end)]).await.unwrap_err();
    assert_eq!((error.status.as_u16(), error.body.error.as_str()), (504, "cell timeout after 30s"));
    assert_eq!(error.body.code, Some(ErrorCode::SandboxTimeout));
    assert_eq!(error.body.stdout.as_deref(), Some("so far"));
    let execution = error.body.execution.unwrap();
    assert_eq!((execution.results.len(), execution.status, execution.restarted), (1, ExecutionStatus::TimedOut, true));
}

#[tokio::test]
async fn interrupts_and_dead_kernels_are_told_in_words() {
    let end = r#"{"status":"kernel_died","execution_count":3,"exit_code":0,"duration_ms":1,"restarted":true}"#;
    let answer = run(&[(Kind::End, end)]).await.unwrap();
    assert_eq!(answer["error"], "the kernel died: variables are lost, files are not");
    assert_eq!(
        (&answer["exit"], &answer["status"], &answer["restarted"]),
        (&json!(1), &json!("kernel_died"), &json!(true))
    );
}

#[tokio::test]
async fn a_cut_stream_is_an_error_with_the_execution_so_far() {
    let error = run(&[(Kind::Stdout, "so far")]).await.unwrap_err();
    assert_eq!((error.status.as_u16(), error.body.code), (502, Some(ErrorCode::Interrupted)));
    assert_eq!(error.body.execution.unwrap().stdout, "so far");
}

#[tokio::test]
async fn output_is_cut_to_what_was_asked_for() {
    let frames = vec![frame(Kind::Stdout, "x".repeat(1000)), frame(Kind::End, END)];
    let answer = run_to_end(Scripted::new(frames), None, Some(10)).await.unwrap();
    assert_eq!((answer.stdout.as_str(), answer.truncated), ("xxxxx\n[… 990 bytes left out …]\nxxxxx", true));
}

#[tokio::test]
async fn many_displays_that_one_update_makes_large_are_bounded() {
    let (small, large) = (text("", "a", false), text(&"x".repeat(16 << 20), "a", true));
    let mut frames = vec![(Kind::Result, small.as_str()); 100];
    frames.extend([(Kind::Result, large.as_str()), (Kind::Result, large.as_str()), (Kind::End, END)]);
    let answer = run(&frames).await.unwrap();
    let results = answer["results"].as_array().unwrap();
    let bytes: usize = results.iter().map(|result| result["text/plain"].as_str().unwrap().len()).sum();
    assert_eq!((results.len(), bytes, &answer["truncated"]), (100, 3 * (16 << 20), &json!(true)));
}
