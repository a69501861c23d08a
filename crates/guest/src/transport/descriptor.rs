//! A standard descriptor as a non-blocking byte stream.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Standard input or output, duplicated, without waiting.
pub(super) struct Descriptor(AsyncFd<OwnedFd>);

impl Descriptor {
    pub(super) fn new(standard: RawFd, interest: Interest) -> io::Result<Self> {
        // SAFETY: the standard descriptors stay open as long as the process lives; the duplicate is owned here.
        let owned = unsafe {
            let standard = std::os::fd::BorrowedFd::borrow_raw(standard);
            OwnedFd::from_raw_fd(fcntl(standard, FcntlArg::F_DUPFD_CLOEXEC(3))?)
        };
        let flags = OFlag::from_bits_truncate(fcntl(&owned, FcntlArg::F_GETFL)?);
        fcntl(&owned, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
        // SAFETY: an owned descriptor, which is closed only after the registration is gone.
        Ok(Self(unsafe { AsyncFd::register_with_interest(owned, interest) }?))
    }

    /// Reads what is there, waiting for at least one byte. 0 at the end of the stream.
    pub(super) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.async_io(Interest::READABLE, |fd| retry(|| Ok(nix::unistd::read(fd, buffer)?))).await
    }

    /// Reads what is there without asking the event queue first: after a restore its edge may be lost.
    pub(super) fn read_now(&self, buffer: &mut [u8]) -> io::Result<usize> {
        retry(|| Ok(nix::unistd::read(self.0.get_ref(), buffer)?))
    }

    /// Writes everything. Must not be cancelled, or half a record stays written.
    pub(super) async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written =
                self.0.async_io(Interest::WRITABLE, |fd| retry(|| Ok(nix::unistd::write(fd, bytes)?))).await?;
            bytes = bytes.get(written..).unwrap_or_default();
        }
        Ok(())
    }
}

impl AsRawFd for Descriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.0.get_ref().as_raw_fd()
    }
}

/// System calls are interrupted by resume and restore.
pub(super) fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
