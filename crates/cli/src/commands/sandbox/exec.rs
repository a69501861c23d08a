//! `pandastack sandbox exec`

use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pandastack_client::ExecEvent;
use pandastack_protocol::exec::ExecRequest;

use crate::api;
use crate::arguments::ExecArguments;
use crate::commands::exit_code;
use crate::error::{CliError, Result};
use crate::output;

/// Runs a command, passes its output on as it comes, and ends with its exit code.
pub(crate) async fn exec(arguments: ExecArguments) -> Result<ExitCode> {
    let client = api::client(&arguments.server)?;
    let request = ExecRequest {
        cmd: Some(command_line(&arguments.command)),
        timeout_seconds: arguments.timeout.map(seconds).transpose()?,
        ..ExecRequest::default()
    };
    let mut events = client.exec_stream(&arguments.id, &request).await?;
    while let Some(event) = events.next().await {
        match event? {
            ExecEvent::Stdout { text, base64 } => output::bytes(&raw(text, base64))?,
            ExecEvent::Stderr { text, .. } => output::stderr(&text),
            ExecEvent::Exit { exit_code: code, .. } => return Ok(exit_code(code)),
        }
    }
    Err(CliError::new("the command's output was cut"))
}

/// The bytes that the command wrote, where the server tells them.
fn raw(text: String, base64: Option<String>) -> Vec<u8> {
    base64.and_then(|base64| STANDARD.decode(base64).ok()).unwrap_or_else(|| text.into_bytes())
}

/// One word is a shell command; several are a program and its arguments.
fn command_line(words: &[String]) -> String {
    match words {
        [command] => command.clone(),
        words => words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" "),
    }
}

fn quote(word: &str) -> String {
    let plain =
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./=:,@%+".contains(&byte));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

fn seconds(limit: f64) -> Result<serde_json::Number> {
    let limit = if limit.fract() == 0.0 && limit.abs() < 1e15 {
        Some((limit as i64).into())
    } else {
        serde_json::Number::from_f64(limit)
    };
    limit.ok_or_else(|| CliError::new("the time limit must be a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str]) -> String {
        command_line(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn words_survive_the_shell() {
        assert_eq!(line(&["echo $HOME"]), "echo $HOME");
        assert_eq!(line(&["ls", "-l", "a b", "it's", ""]), r"ls -l 'a b' 'it'\''s' ''");
    }
}
