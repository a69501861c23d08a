//! Records from the engine.

use std::io;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use pandastack_guest_protocol::record::{Decoder, Record, RecordError};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::descriptor::{Descriptor, retry};

/// Bytes per read.
const CHUNK: usize = 256 << 10;

/// Between two looks at a stream that has ended: the engine may open it again.
const REOPEN: Duration = Duration::from_millis(100);

/// By this signal an engine that takes over asks to skip what the one before has left.
fn takeover() -> SigSet {
    SigSet::from(Signal::SIGUSR1)
}

/// Keeps the signal pending until the reader takes it: a handler runs when its thread gets to, which may be after what the new engine wrote has been
/// read. To be called before there are threads, which inherit the mask; what they start sets a mask of its own.
///
/// # Errors
/// What the system said.
pub(crate) fn hold_signals() -> nix::Result<()> {
    takeover().thread_block()
}

/// Reads records; starts by skipping to the first marker.
pub(super) struct RecordReader {
    input: Descriptor,
    signals: AsyncFd<SignalFd>,
    decoder: Decoder,
    buffer: Vec<u8>,
}

impl RecordReader {
    pub(super) fn new() -> io::Result<Self> {
        let signals = SignalFd::with_flags(&takeover(), SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        Ok(Self {
            input: Descriptor::new(0, Interest::READABLE)?,
            // SAFETY: an owned descriptor, which is closed only after the registration is gone.
            signals: unsafe { AsyncFd::register_with_interest(signals, Interest::READABLE) }?,
            decoder: Decoder::skipping(),
            buffer: vec![0; CHUNK],
        })
    }

    /// The next record.
    ///
    /// # Errors
    /// If the engine broke the layer. The reader then skips to the next marker by itself.
    pub(super) async fn next(&mut self) -> Result<Record, RecordError> {
        loop {
            match self.decoder.next_record() {
                Ok(Some(record)) => return Ok(record),
                Ok(None) => self.fill().await,
                Err(error) => {
                    self.decoder.resync();
                    return Err(error);
                }
            }
        }
    }

    /// The signal was pending before the engine that sent it wrote a byte. So if it is looked for between a read and the use of what was read,
    /// nothing of that engine is skipped, and nothing of the one before is taken for its.
    async fn fill(&mut self) {
        let outcome = tokio::select! {
            biased;
            Ok(mut ready) = self.signals.readable() => {
                ready.clear_ready();
                self.input.read_now(&mut self.buffer)
            }
            outcome = self.input.read(&mut self.buffer) => outcome,
        };
        if self.is_taken_over() {
            self.decoder.resync();
        }
        match outcome {
            Ok(length) if length > 0 => self.decoder.push(self.buffer.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(_) | Err(_) => tokio::time::sleep(REOPEN).await,
        }
    }

    fn is_taken_over(&self) -> bool {
        let taken = retry(|| Ok(self.signals.get_ref().read_signal()?));
        matches!(taken, Ok(Some(_)))
    }
}
