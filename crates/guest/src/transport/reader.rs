//! Records from the engine.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use pandastack_guest_protocol::record::{Decoder, Record, RecordError};
use tokio::io::Interest;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

use super::descriptor::Descriptor;

/// Bytes per read.
const CHUNK: usize = 256 << 10;

/// Between two looks at a stream that has ended: the engine may open it again.
const REOPEN: Duration = Duration::from_millis(100);

/// Set inside the signal handler, so that what the engine writes after the signal cannot overtake it.
static RESYNC: AtomicBool = AtomicBool::new(false);

extern "C" fn ask_for_resync(_: libc::c_int) {
    RESYNC.store(true, Ordering::SeqCst);
}

/// Reads records; starts by skipping to the first marker.
pub(super) struct RecordReader {
    input: Descriptor,
    signals: Signals,
    decoder: Decoder,
    buffer: Vec<u8>,
}

impl RecordReader {
    pub(super) fn new() -> io::Result<Self> {
        let action = SigAction::new(SigHandler::Handler(ask_for_resync), SaFlags::SA_RESTART, SigSet::empty());
        // SAFETY: the handler only stores to an atomic. The handler that tokio installs next calls it.
        unsafe { sigaction(Signal::SIGUSR1, &action) }?;
        Ok(Self {
            input: Descriptor::new(0, Interest::READABLE)?,
            signals: signal(SignalKind::user_defined1())?,
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

    async fn fill(&mut self) {
        let outcome = tokio::select! {
            biased;
            _ = self.signals.recv() => self.input.read_now(&mut self.buffer),
            outcome = self.input.read(&mut self.buffer) => outcome,
        };
        if RESYNC.swap(false, Ordering::SeqCst) {
            self.decoder.resync();
        }
        match outcome {
            Ok(length) if length > 0 => self.decoder.push(self.buffer.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(_) | Err(_) => tokio::time::sleep(REOPEN).await,
        }
    }
}
