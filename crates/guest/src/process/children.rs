//! The children of the agent, and the one reaper for all of them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::log;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With this exit code.
    Exited(i32),
    /// By this signal.
    Signaled(i32),
}

impl Ended {
    /// The exit code as a shell gives it: 128 + N after signal N.
    pub(crate) fn code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Signaled(signal) => 128 + signal,
        }
    }

    /// The signal, if one ended the process.
    pub(crate) fn signal(self) -> Option<i32> {
        match self {
            Self::Exited(_) => None,
            Self::Signaled(signal) => Some(signal),
        }
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exited(code) => write!(formatter, "exit code {code}"),
            Self::Signaled(signal) => match Signal::try_from(*signal) {
                Ok(name) => write!(formatter, "signal {signal} ({name})"),
                Err(_) => write!(formatter, "signal {signal}"),
            },
        }
    }
}

/// Who waits for which child.
#[derive(Debug, Default)]
pub(crate) struct Children {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    waiting: HashMap<i32, oneshot::Sender<Ended>>,
    /// Forks under way.
    forking: usize,
    /// Children that were reaped while a fork was under way, and that nobody waits for yet.
    unclaimed: HashMap<i32, Ended>,
}

impl Children {
    /// Runs `fork` and registers the child, even if it ends before `fork` returns.
    pub(super) fn fork_registered(
        &self,
        fork: impl FnOnce() -> nix::Result<Pid>,
    ) -> nix::Result<(Pid, oneshot::Receiver<Ended>)> {
        self.lock().forking += 1;
        let outcome = fork();
        let mut table = self.lock();
        table.forking -= 1;
        let (sender, receiver) = oneshot::channel();
        if let Ok(pid) = outcome {
            match table.unclaimed.remove(&pid.as_raw()) {
                Some(ended) => drop(sender.send(ended)),
                None => drop(table.waiting.insert(pid.as_raw(), sender)),
            }
        }
        if table.forking == 0 {
            table.unclaimed.clear();
        }
        Ok((outcome?, receiver))
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reaps every child that has ended.
    fn reap(&self) {
        let mut table = self.lock();
        loop {
            let (pid, ended) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) => (pid, Ended::Exited(code)),
                Ok(WaitStatus::Signaled(pid, signal, _)) => (pid, Ended::Signaled(signal as i32)),
                Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return,
                Ok(_) | Err(Errno::EINTR) => continue,
                Err(error) => return log::line(&format!("cannot reap: {error}")),
            };
            match table.waiting.remove(&pid.as_raw()) {
                Some(sender) => drop(sender.send(ended)),
                None if table.forking > 0 => drop(table.unclaimed.insert(pid.as_raw(), ended)),
                None => {}
            }
        }
    }

    /// Reaps for ever.
    pub(crate) async fn keep_reaping(&self) {
        let mut ended = match signal(SignalKind::child()) {
            Ok(ended) => ended,
            Err(error) => return log::line(&format!("cannot watch for ended children: {error}")),
        };
        loop {
            self.reap();
            ended.recv().await;
        }
    }
}
