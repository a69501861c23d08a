//! What is written to stdout and stderr.

use std::io::{self, Write};

use serde::Serialize;

use crate::error::{CliError, Result};

/// Writes data as indented JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(CliError::new)?;
    line(&text)
}

/// Writes a line of data.
pub(crate) fn line(text: &str) -> Result<()> {
    bytes(format!("{text}\n").as_bytes())
}

/// Writes data as it is. A reader that has gone away ends the program quietly, as it does other commands.
pub(crate) fn bytes(bytes: &[u8]) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(141),
        written => Ok(written?),
    }
}

/// Says something to people.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Passes on what a program wrote to its stderr.
pub(crate) fn stderr(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Says why a command failed.
pub(crate) fn report(error: &CliError) {
    say(&format!("error: {}", error.message));
    if let Some(hint) = &error.hint {
        say(&format!("hint: {hint}"));
    }
}
