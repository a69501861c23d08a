//! When a call is sent again. A call that may have had its effect is not.

use std::sync::Mutex;
use std::time::Duration;

use pandastack_protocol::error::ErrorCode;
use reqwest::Response;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::request::{Request, Rule};
use super::{Client, answer, backoff};
use crate::error::{Error, Result};
use crate::retry_hook::Retry;

/// Most tries of a safe call.
const MAX_TRIES: u32 = 3;

/// How long after its creation a sandbox may be unknown to the node that answers.
const SETTLE: Duration = Duration::from_secs(5);
const SETTLE_PAUSE: Duration = Duration::from_millis(200);

impl Client {
    pub(super) async fn send_until(&self, request: &Request, deadline: Option<Instant>) -> Result<Response> {
        let started = Instant::now();
        for tries in 0.. {
            let error = match self.try_once(request, deadline).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            let Some(pause) = self.pause_before_next(request, &error, tries, started.elapsed()) else {
                return Err(error);
            };
            if deadline.is_some_and(|deadline| Instant::now() + pause >= deadline) && request.rule != Rule::Capacity {
                return Err(error);
            }
            self.config.on_retry.call(&Retry::of(request, &error, tries + 1, pause));
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = request.abandoned.cancelled() => return Err(error),
            }
        }
        Err(Error::new(ErrorCode::Network, "too many tries"))
    }

    async fn try_once(&self, request: &Request, deadline: Option<Instant>) -> Result<Response> {
        // Waiting for room has a budget of its own; each try then has the whole time limit.
        let deadline = if request.rule == Rule::Capacity { self.deadline(request) } else { deadline };
        let response = self.attempt(request, deadline).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        let url = self.url(request)?;
        let refusal =
            super::until(deadline, request, url.clone(), answer::refusal(response, request.runs_code)).await?;
        Err(self.advised(request, refusal).with_request(&request.method, &url))
    }

    /// None: give up.
    fn pause_before_next(&self, request: &Request, error: &Error, tries: u32, elapsed: Duration) -> Option<Duration> {
        match request.rule {
            Rule::Never => None,
            Rule::Safe => safe_pause(error, tries),
            Rule::WarmUp => (is_warming_up(error) && elapsed < self.config.warm_up).then(|| backoff::warm_up(tries)),
            Rule::Capacity => capacity_pause(error, tries, elapsed, self.config.capacity_wait),
        }
    }

    /// Like [`Client::json`] for a call about a sandbox: one that was just created may not be known everywhere yet.
    pub(crate) async fn json_about<T: DeserializeOwned>(&self, sandbox: &str, request: Request) -> Result<T> {
        match self.json(request.clone()).await {
            Err(error) if error.code() == ErrorCode::NotFound && self.created.recently(sandbox) => {
                tokio::time::sleep(SETTLE_PAUSE).await;
                self.json(request).await
            }
            other => other,
        }
    }
}

fn safe_pause(error: &Error, tries: u32) -> Option<Duration> {
    let passing = match error.status() {
        None => error.code() == ErrorCode::Network,
        Some(status) => matches!(status, 429 | 502 | 503 | 504) && error.code() != ErrorCode::SandboxTimeout,
    };
    if !passing || tries + 1 >= MAX_TRIES {
        return None;
    }
    Some(
        error.retry_after().unwrap_or_default()
            + backoff::jittered(Duration::from_millis(100), Duration::from_secs(2), tries),
    )
}

/// The server says in so many words that the sandbox was not reached. A timeout is not such a word: the command may run.
fn is_warming_up(error: &Error) -> bool {
    let unreached = ["connect: connection refused", "no route to host"];
    error.status().is_some_and(|status| status >= 500) && unreached.iter().any(|text| error.message().contains(text))
}

fn capacity_pause(error: &Error, tries: u32, elapsed: Duration, budget: Duration) -> Option<Duration> {
    let floor = match (error.status()?, error.retry_after()) {
        (507, wait) => wait.unwrap_or_default().max(Duration::from_millis(500)),
        (503, Some(wait)) if answer::is_spoken(error) => wait,
        (429, Some(wait)) => wait,
        _ => return None,
    };
    let remaining = budget.checked_sub(elapsed).filter(|remaining| !remaining.is_zero() && *remaining >= floor)?;
    let pause = floor + backoff::jittered(Duration::from_secs(1), Duration::from_secs(15), tries);
    if pause <= remaining {
        return Some(pause);
    }
    (remaining >= floor.max(Duration::from_secs(1))).then_some(remaining)
}

/// Ids of sandboxes that this client created in the last seconds.
#[derive(Debug, Default)]
pub(crate) struct CreatedLately(Mutex<Vec<(String, Instant)>>);

impl CreatedLately {
    pub(crate) fn note(&self, id: &str) {
        if let Ok(mut ids) = self.0.lock() {
            ids.retain(|(_, at)| at.elapsed() < SETTLE);
            ids.push((id.to_owned(), Instant::now()));
        }
    }

    pub(crate) fn forget(&self, id: &str) {
        if let Ok(mut ids) = self.0.lock() {
            ids.retain(|(known, _)| known != id);
        }
    }

    fn recently(&self, id: &str) -> bool {
        self.0.lock().is_ok_and(|ids| ids.iter().any(|(known, at)| known == id && at.elapsed() < SETTLE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16, retry_after: Option<u64>, body: &str) -> Error {
        Error::new(ErrorCode::Capacity, "no room")
            .with_status(status)
            .with_retry_after(retry_after.map(Duration::from_secs))
            .with_body(body.to_owned())
    }

    fn pause(error: &Error) -> Option<Duration> {
        capacity_pause(error, 0, Duration::ZERO, Duration::from_secs(60))
    }

    #[test]
    fn only_refusals_that_speak_of_room_are_waited_out() {
        let spoken = r#"{"error":"no compute capacity available"}"#;
        assert!(pause(&refusal(503, Some(5), spoken)).is_some_and(|pause| (5.0..=6.0).contains(&pause.as_secs_f64())));
        assert!(pause(&refusal(507, None, "")).is_some_and(|pause| pause.as_millis() >= 500));
        assert!(pause(&refusal(429, Some(0), "")).is_some());
        for error in [
            refusal(503, None, spoken),
            refusal(503, Some(5), "upstream"),
            refusal(503, Some(5), r#"{"error":{"message":"x"}}"#),
            refusal(429, None, spoken),
            refusal(500, Some(1), spoken),
            refusal(502, Some(1), spoken),
        ] {
            assert_eq!(pause(&error), None, "{error:?}");
        }
    }

    #[test]
    fn the_budget_ends_the_waiting() {
        let error = refusal(503, Some(5), r#"{"error":"x"}"#);
        assert_eq!(capacity_pause(&error, 0, Duration::from_secs(56), Duration::from_secs(60)), None);
        assert_eq!(capacity_pause(&error, 0, Duration::ZERO, Duration::ZERO), None);
    }

    #[test]
    fn a_timeout_is_no_reason_to_run_a_command_twice() {
        let error = |text: &str| Error::new(ErrorCode::Server, text).with_status(500);
        assert!(is_warming_up(&error("dial tcp 10.0.0.2:22: connect: connection refused")));
        assert!(!is_warming_up(&error("read tcp 10.0.0.2:22: i/o timeout")));
    }
}
