//! `pandastack engine doctor`

use std::process::ExitCode;

use pandastack_engine::doctor::{self, Check, CheckState};

use crate::api;
use crate::error::Result;
use crate::output;

/// Prints each requirement with `ok`, or with what to do. Exit code 1 if sandboxes cannot run.
pub(crate) async fn doctor(json: bool) -> Result<ExitCode> {
    let checks = doctor::examine(&api::home()?).await;
    if json {
        output::json(&checks)?;
    } else {
        for check in &checks {
            output::line(&describe(check))?;
        }
    }
    let failed = checks.iter().any(|check| check.state == CheckState::Failed);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn describe(check: &Check) -> String {
    let state = match check.state {
        CheckState::Ok => "ok",
        CheckState::Warning => "warning",
        CheckState::Failed => "failed",
    };
    let line = format!("{state:<8} {}: {}", check.name, check.found);
    if check.advice.is_empty() { line } else { format!("{line}\n{:<8} -> {}", "", check.advice) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_stands_below_what_was_found() {
        let check =
            |state, advice: &str| Check { name: "runsc".into(), state, found: "none".into(), advice: advice.into() };
        assert_eq!(describe(&check(CheckState::Ok, "")), "ok       runsc: none");
        assert_eq!(describe(&check(CheckState::Failed, "install it")), "failed   runsc: none\n         -> install it");
    }
}
