//! Commands.

mod decode;

use std::time::Duration;

pub use pandastack_protocol::exec::ExecEvent;
use pandastack_protocol::exec::{ExecRequest, ExecResult};

use crate::error::{Error, Result};
use crate::events::{EventStream, pump};
use crate::http::Client;
use crate::http::request::{Limit, Request, Rule};
use decode::ExecDecoder;

/// How much longer than a command's own time limit the client waits for the answer.
pub(crate) const MARGIN: Duration = Duration::from_secs(10);

/// How long a command without a time limit may be silent before the server begins its answer.
const FIRST_OUTPUT: Duration = Duration::from_secs(300);

/// Output of a running command; its last event is [`ExecEvent::Exit`].
pub type ExecStream = EventStream<ExecEvent>;

impl Client {
    /// Runs a command and waits for its end. A non-zero exit code is a result.
    ///
    /// # Errors
    /// `sandbox_timeout` with the output so far if the command reached its own limit.
    pub async fn exec(&self, sandbox: &str, command: &ExecRequest) -> Result<ExecResult> {
        let limit = own_limit(command)?.map_or(Limit::Client, |own| Limit::AtLeast(own.saturating_add(MARGIN)));
        let request = Request::post(&["sandboxes", sandbox, "exec"]).json(command)?;
        self.json(request.rule(Rule::WarmUp).limit(limit).runs_code()).await
    }

    /// Runs a command and streams its output.
    ///
    /// # Errors
    /// As [`Self::exec`] before the first event; later the stream's last item is the error.
    pub async fn exec_stream(&self, sandbox: &str, command: &ExecRequest) -> Result<ExecStream> {
        let limit = own_limit(command)?.map(|own| self.config().timeout.max(own.saturating_add(MARGIN)));
        let request = Request::post(&["sandboxes", sandbox, "exec", "stream"]).json(command)?;
        let request = request.accept("text/event-stream").rule(Rule::WarmUp).runs_code();
        let deadline = self.stream_deadline(limit);
        // A server may begin its answer only with the first output.
        let response = self.send(request.limit(Limit::Exactly(limit.unwrap_or(FIRST_OUTPUT)))).await?;
        Ok(pump(self, response, ExecDecoder::default(), deadline))
    }
}

fn own_limit(command: &ExecRequest) -> Result<Option<Duration>> {
    let Some(seconds) = &command.timeout_seconds else { return Ok(None) };
    let limit =
        seconds.as_f64().filter(|seconds| *seconds > 0.0).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    limit
        .map(Some)
        .ok_or_else(|| Error::option(format!("a time limit must be a positive number of seconds: `{seconds}`")))
}
