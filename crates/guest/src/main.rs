//! The guest agent: pid 1 of a sandbox.
//!
//! Standard input and output carry the records of `pandastack_guest_protocol::record`; inside of them runs one HTTP/2 connection
//! whose routes run commands, kernels and files. `docs/exec/design.md` tells how processes are kept apart from the agent.

mod agent;
mod context;
mod egress;
mod exec;
mod file;
mod identity;
mod kernel;
mod log;
mod output;
mod process;
mod refusal;
mod server;
mod transport;
mod user;

use std::process::ExitCode;

/// Two: one keeps answering while the other moves the bytes of a flood.
const WORKER_THREADS: usize = 2;

fn main() -> ExitCode {
    log::prepare();
    if let Err(error) = process::harden() {
        log::line(&format!("cannot prepare the agent's process: {error}"));
    }
    if let Err(error) = transport::hold_signals() {
        log::line(&format!("cannot hold back signals: {error}"));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKER_THREADS).enable_all().build();
    match runtime {
        // On a worker: the main thread would have to wake one for each record.
        Ok(runtime) => runtime.block_on(async { tokio::spawn(agent::run()).await.unwrap_or(ExitCode::FAILURE) }),
        Err(error) => {
            log::line(&format!("cannot start: {error}"));
            ExitCode::FAILURE
        }
    }
}
