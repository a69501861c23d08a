//! A cell answered in one piece.

use axum::http::StatusCode;
use pandastack_protocol::code_context::{ExecutionAnswer, ExecutionError, ExecutionEvent, ExecutionStatus, MimeBundle};
use pandastack_protocol::error::ErrorCode;

use super::error::ApiError;
use super::execution::{EventReader, is_last};
use super::limits::show_seconds;
use super::output::{Frames, KeptOutput};

/// Most bytes of results in one answer; later ones are dropped and `truncated` set.
const MAX_RESULTS: usize = 64 << 20;

/// Runs a cell to its end.
///
/// # Errors
/// 504 at the time limit, or what else kept the cell from ending, with the execution so far.
pub(super) async fn run_to_end(
    mut frames: impl Frames,
    timeout_ms: Option<u64>,
    max_output_bytes: Option<u64>,
) -> Result<ExecutionAnswer, ApiError> {
    let mut reader = EventReader::default();
    let mut collector = Collector::new(max_output_bytes);
    loop {
        let events = match frames.next().await {
            Some(frame) => reader.read(frame),
            None => reader.cut(),
        };
        for event in events {
            if is_last(&event) {
                return collector.finish(event, timeout_ms);
            }
            collector.take(event);
        }
    }
}

struct Collector {
    stdout: KeptOutput,
    stderr: KeptOutput,
    results: Vec<Shown>,
    result_bytes: usize,
    results_dropped: bool,
    /// Results are to be forgotten when the next one comes.
    clear_pending: bool,
    error: Option<(String, ExecutionError)>,
}

struct Shown {
    data: MimeBundle,
    is_main: bool,
    display_id: Option<String>,
}

impl Shown {
    /// In bytes; one without content costs something too.
    fn size(&self) -> usize {
        self.data.iter().map(|(mime, content)| 64 + mime.len() + content.len()).sum::<usize>() + 64
    }
}

impl Collector {
    fn new(max_output_bytes: Option<u64>) -> Self {
        Self {
            stdout: KeptOutput::new(max_output_bytes),
            stderr: KeptOutput::new(max_output_bytes),
            results: Vec::new(),
            result_bytes: 0,
            results_dropped: false,
            clear_pending: false,
            error: None,
        }
    }

    fn take(&mut self, event: ExecutionEvent) {
        match event {
            ExecutionEvent::Stdout { text } => self.stdout.push(text.as_bytes()),
            ExecutionEvent::Stderr { text } => self.stderr.push(text.as_bytes()),
            ExecutionEvent::Result { data, is_main, display_id, update } => {
                self.show(Shown { data, is_main, display_id }, update)
            }
            ExecutionEvent::Clear { wait: true } => self.clear_pending = true,
            ExecutionEvent::Clear { wait: false } => self.clear(),
            ExecutionEvent::Error { text, error } => self.error = Some((text, error)),
            _ => {}
        }
    }

    fn clear(&mut self) {
        self.clear_pending = false;
        self.results.clear();
        self.result_bytes = 0;
    }

    fn show(&mut self, shown: Shown, update: bool) {
        if self.clear_pending {
            self.clear();
        }
        if !update {
            if self.has_room(0, shown.size()) {
                self.results.push(shown);
            }
            return;
        }
        // What was displayed by an earlier cell is not part of this answer, and so cannot be changed in it.
        for index in 0..self.results.len() {
            let earlier = &self.results[index];
            if earlier.display_id == shown.display_id && self.has_room(earlier.size(), shown.size()) {
                self.results[index].data = shown.data.clone();
            }
        }
    }

    /// Counts `added` bytes that take the place of `removed` ones, if that many may be kept.
    fn has_room(&mut self, removed: usize, added: usize) -> bool {
        let bytes = self.result_bytes - removed + added;
        if bytes > MAX_RESULTS {
            self.results_dropped = true;
            return false;
        }
        self.result_bytes = bytes;
        true
    }

    fn finish(self, last: ExecutionEvent, timeout_ms: Option<u64>) -> Result<ExecutionAnswer, ApiError> {
        let mut answer = self.into_answer();
        match last {
            ExecutionEvent::End { status, execution_count, exit_code, duration_ms, restarted, .. } => {
                (answer.status, answer.duration_ms, answer.restarted) = (status, duration_ms, restarted);
                (answer.exit, answer.exit_code) = (exit_code, exit_code);
                answer.execution_count = (execution_count > 0).then_some(execution_count);
                explain(&mut answer);
                if status != ExecutionStatus::TimedOut {
                    return Ok(answer);
                }
                let text = timeout_ms.map_or_else(
                    || "cell timeout".to_owned(),
                    |limit| format!("cell timeout after {}s", show_seconds(limit)),
                );
                Err(with_execution(ApiError::sandbox_timeout(text), answer))
            }
            ExecutionEvent::Failure { code, error } => {
                Err(with_execution(ApiError::new(status_of(code), code, error), answer))
            }
            _ => Err(with_execution(
                ApiError::new(StatusCode::BAD_GATEWAY, ErrorCode::Interrupted, super::execution::CUT),
                answer,
            )),
        }
    }

    fn into_answer(self) -> ExecutionAnswer {
        let ((stdout, stdout_cut), (stderr, stderr_cut)) = (self.stdout.finish(), self.stderr.finish());
        let (error, error_info) = self.error.unzip();
        let main_result = self.results.iter().rposition(|shown| shown.is_main);
        let results = self.results.into_iter().map(|shown| shown.data).collect();
        let truncated = stdout_cut || stderr_cut || self.results_dropped;
        ExecutionAnswer {
            stdout,
            stderr,
            error,
            error_info,
            results,
            main_result,
            truncated,
            ..ExecutionAnswer::default()
        }
    }
}

/// Says in words what the official SDKs could not tell otherwise: they know no status.
fn explain(answer: &mut ExecutionAnswer) {
    let text = match answer.status {
        ExecutionStatus::Interrupted => "the cell was interrupted",
        ExecutionStatus::KernelDied => "the kernel died: variables are lost, files are not",
        ExecutionStatus::Ok | ExecutionStatus::Error | ExecutionStatus::TimedOut => return,
    };
    answer.error.get_or_insert_with(|| text.to_owned());
    if answer.exit_code == 0 {
        (answer.exit, answer.exit_code) = (1, 1);
    }
}

fn with_execution(mut error: ApiError, answer: ExecutionAnswer) -> ApiError {
    error.body.stdout = Some(answer.stdout.clone());
    error.body.stderr = Some(answer.stderr.clone());
    error.body.execution = Some(answer);
    error
}

fn status_of(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::BadRequest => StatusCode::BAD_REQUEST,
        ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::Conflict => StatusCode::CONFLICT,
        ErrorCode::SandboxGone => StatusCode::GONE,
        ErrorCode::Interrupted => StatusCode::BAD_GATEWAY,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests;
