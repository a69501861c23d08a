//! The host process of a sandbox.

use std::os::fd::OwnedFd;

use futures::FutureExt;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::error::EngineError;

/// Tells when the process of a sandbox ends, and can end it. Never means another process that got the same number later.
pub(super) struct SandboxProcess {
    pidfd: AsyncFd<OwnedFd>,
}

impl SandboxProcess {
    /// The process `pid`, if it is the sandbox `id`.
    pub(super) fn open(pid: i32, id: &str) -> Result<Self, EngineError> {
        let gone = |reason: &str| EngineError::SandboxGone { id: id.to_owned(), reason: reason.to_owned() };
        let pid = Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(|| gone("its process has ended"))?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|_| gone("its process has ended"))?;
        let command = std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
        // One that has ended and whose parent has not noticed yet.
        if command.is_empty() {
            return Err(gone("its process has ended"));
        }
        if !command
            .split(|byte| *byte == 0)
            .any(|argument| argument.windows(id.len()).any(|window| window == id.as_bytes()))
        {
            return Err(gone("its process number belongs to another process"));
        }
        // SAFETY: an `OwnedFd` always gives the same descriptor and keeps it open as long as it lives. There is no safe way to register one.
        let pidfd = unsafe { AsyncFd::register_with_interest(pidfd, Interest::READABLE) };
        let pidfd = pidfd.map_err(|error| EngineError::Internal(format!("cannot watch a process: {error}")))?;
        Ok(Self { pidfd })
    }

    /// Waits until the process has ended.
    pub(super) async fn ended(&self) {
        // A pidfd never becomes unreadable again, and an error of the poll means that nothing can be watched any more.
        let _ = self.pidfd.readable().await;
    }

    /// True once the process has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.ended().now_or_never().is_some()
    }

    /// Ends the process at once.
    pub(super) fn kill(&self) {
        let _ = pidfd_send_signal(self.pidfd.get_ref(), Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_of_a_process_is_seen_and_foreign_processes_are_refused() {
        let mut child = std::process::Command::new("sleep").arg("4242").spawn().unwrap();
        let pid = child.id() as i32;
        assert!(SandboxProcess::open(pid, "another-id").is_err());
        assert!(SandboxProcess::open(0, "4242").is_err());
        // The child may not have replaced its image yet.
        let process = loop {
            match SandboxProcess::open(pid, "4242") {
                Ok(process) => break process,
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
            }
        };
        assert!(tokio::time::timeout(std::time::Duration::from_millis(50), process.ended()).await.is_err());
        process.kill();
        tokio::time::timeout(std::time::Duration::from_secs(10), process.ended()).await.unwrap();
        child.wait().unwrap();
    }
}
