//! Records on standard input and output, and the HTTP/2 connection inside of them.

mod connection;
mod descriptor;
mod reader;
mod writer;

use std::sync::Arc;

use pandastack_guest_protocol::hello::{Hello, HelloAck};
use pandastack_guest_protocol::record::{Kind, Record};

use crate::agent::Agent;
use crate::log;
use connection::Connection;
use reader::RecordReader;
pub(crate) use reader::hold_signals;
use writer::RecordWriter;

/// Serves the engine for ever.
///
/// # Errors
/// If standard input or output cannot be used at all.
pub(crate) async fn serve(agent: Arc<Agent>) -> std::io::Result<()> {
    let mut reader = RecordReader::new()?;
    let mut link = Link { agent, writer: Arc::new(RecordWriter::new()?), epochs: 0, connection: None };
    loop {
        match reader.next().await {
            Ok(record) => link.take(record).await,
            Err(error) => {
                log::line(&format!("{error}; waiting for the next hello"));
                link.connection = None;
            }
        }
    }
}

struct Link {
    agent: Arc<Agent>,
    writer: Arc<RecordWriter>,
    /// Counts the hellos that were taken; the engine's own numbers are only echoed.
    epochs: u64,
    connection: Option<Connection>,
}

impl Link {
    async fn take(&mut self, record: Record) {
        match record.kind {
            Kind::Mux => {
                if let Some(connection) = &self.connection {
                    connection.push(record.payload);
                }
            }
            Kind::Hello => self.begin_epoch(&record.payload).await,
            Kind::Freeze => self.writer.freeze().await,
            Kind::Thaw => self.writer.thaw().await,
            Kind::HelloAck | Kind::Frozen => {
                log::line(&format!("ignored a record that only the agent sends: `{:?}`", record.kind))
            }
        }
    }

    async fn begin_epoch(&mut self, payload: &[u8]) {
        let hello: Hello = match serde_json::from_slice(payload) {
            Ok(hello) => hello,
            Err(error) => return log::line(&format!("ignored a hello that cannot be read: {error}")),
        };
        // Dropping the connection ends its commands and interrupts its cells.
        self.connection = None;
        self.epochs += 1;
        self.agent.begin_epoch(&hello);
        let ack = HelloAck {
            epoch: hello.epoch,
            version: env!("CARGO_PKG_VERSION").into(),
            kernel_ready: self.agent.kernels.is_ready(),
        };
        let ack = serde_json::to_vec(&ack).unwrap_or_default();
        self.writer.begin_epoch(self.epochs, &ack).await;
        self.connection = Some(Connection::start(Arc::clone(&self.agent), Arc::clone(&self.writer), self.epochs));
    }
}
