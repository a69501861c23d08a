//! What the user is told when a command fails.

use std::fmt::Display;

use pandastack_protocol::error::ErrorCode;

/// Result of a command.
pub(crate) type Result<T, E = CliError> = std::result::Result<T, E>;

/// A failed command.
#[derive(Debug)]
pub(crate) struct CliError {
    /// What failed.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl CliError {
    /// An error that says `message`.
    pub(crate) fn new(message: impl Display) -> Self {
        Self { message: message.to_string(), hint: None }
    }

    /// Adds what to do about it.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<pandastack_client::Error> for CliError {
    fn from(error: pandastack_client::Error) -> Self {
        let causes = error.causes();
        // A message may end with its innermost cause; what lies between adds nothing then.
        let told = causes.last().is_some_and(|cause| error.message().ends_with(cause.as_str()));
        let causes: String =
            if told { String::new() } else { causes.iter().map(|cause| format!(": {cause}")).collect() };
        let hint = match error.code() {
            ErrorCode::Auth if error.status().is_some() => {
                Some("make a key with `pandastack token create` and set PANDASTACK_API_KEY")
            }
            ErrorCode::Engine => Some("`pandastack engine doctor` tells what is missing"),
            ErrorCode::Network => Some("check PANDASTACK_API; `PANDASTACK_API=local` runs sandboxes on this machine"),
            _ => None,
        };
        Self { message: format!("{}{causes}", error.message()), hint: hint.map(str::to_owned) }
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        Self::new(error)
    }
}

impl From<pandastack_engine::runsc::RunscError> for CliError {
    fn from(error: pandastack_engine::runsc::RunscError) -> Self {
        Self::new(error).with_hint("`pandastack engine setup` installs what the local engine needs")
    }
}

impl From<pandastack_engine::template::TemplateError> for CliError {
    fn from(error: pandastack_engine::template::TemplateError) -> Self {
        use pandastack_engine::template::TemplateError;
        let hint = match &error {
            TemplateError::NeedsRoot { .. } => Some(build_as_root()),
            _ => None,
        };
        Self { hint, ..Self::new(error) }
    }
}

/// The commands that give an ordinary user the default template.
fn build_as_root() -> String {
    let command = std::env::current_exe().map_or_else(|_| "pandastack".to_owned(), |path| path.display().to_string());
    format!(
        "these three commands do it, two of them as root:\n  \
         sudo env PANDASTACK_HOME=/var/lib/pandastack {command} engine setup\n  \
         sudo cp /var/lib/pandastack/templates/names/code-interpreter/rootfs.erofs /var/tmp/code-interpreter.erofs\n  \
         {command} template import /var/tmp/code-interpreter.erofs"
    )
}

impl From<pandastack_engine::server::ServeError> for CliError {
    fn from(error: pandastack_engine::server::ServeError) -> Self {
        use pandastack_engine::error::EngineError;
        use pandastack_engine::server::ServeError;
        let running = matches!(error, ServeError::Engine(EngineError::AlreadyRunning(_)));
        let error = Self::new(error);
        if running {
            error.with_hint("`pandastack engine status` shows it, `pandastack engine stop` ends it")
        } else {
            error
        }
    }
}
