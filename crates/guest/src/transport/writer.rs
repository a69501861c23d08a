//! Records to the engine: whole ones, one after another.

use std::io;

use pandastack_guest_protocol::record::{Kind, encode};
use tokio::io::Interest;
use tokio::sync::{Mutex, Notify};

use super::descriptor::Descriptor;
use crate::log;

/// Writes records; holds back `Mux` between `Freeze` and `Thaw`.
pub(super) struct RecordWriter {
    state: Mutex<State>,
    changed: Notify,
}

struct State {
    output: Descriptor,
    frozen: bool,
    epoch: u64,
    record: Vec<u8>,
}

impl State {
    async fn write(&mut self, kind: Kind, payload: &[u8]) -> io::Result<()> {
        self.record.clear();
        encode(kind, payload, &mut self.record);
        self.output.write_all(&self.record).await
    }
}

impl RecordWriter {
    pub(super) fn new() -> io::Result<Self> {
        let output = Descriptor::new(1, Interest::WRITABLE)?;
        let state = State { output, frozen: false, epoch: 0, record: Vec::new() };
        Ok(Self { state: Mutex::new(state), changed: Notify::new() })
    }

    /// Writes bytes of the connection of `epoch`. Must not be cancelled.
    ///
    /// # Errors
    /// If the epoch is over.
    pub(super) async fn write_mux(&self, epoch: u64, payload: &[u8]) -> io::Result<()> {
        loop {
            let changed = self.changed.notified();
            let mut state = self.state.lock().await;
            if state.epoch != epoch {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            if !state.frozen {
                return state.write(Kind::Mux, payload).await;
            }
            drop(state);
            changed.await;
        }
    }

    /// Ends the epoch before, thaws, and acknowledges the new one.
    pub(super) async fn begin_epoch(&self, epoch: u64, ack: &[u8]) {
        let mut state = self.state.lock().await;
        state.epoch = epoch;
        state.frozen = false;
        report(state.write(Kind::HelloAck, ack).await);
        drop(state);
        self.changed.notify_waiters();
    }

    /// Writes `Frozen` behind the record that is being written, and then nothing more.
    pub(super) async fn freeze(&self) {
        let mut state = self.state.lock().await;
        report(state.write(Kind::Frozen, &[]).await);
        state.frozen = true;
    }

    /// Goes on writing.
    pub(super) async fn thaw(&self) {
        self.state.lock().await.frozen = false;
        self.changed.notify_waiters();
    }
}

fn report(outcome: io::Result<()>) {
    if let Err(error) = outcome {
        log::line(&format!("cannot write to the engine: {error}"));
    }
}
