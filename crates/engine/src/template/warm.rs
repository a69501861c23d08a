//! Waiting until a freshly booted sandbox is warm, and freezing its agent.

use std::time::Duration;

use pandastack_guest_protocol::hello::{Hello, HelloAck};
use pandastack_guest_protocol::record::{Decoder, Kind, Record, encode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;

use crate::runsc::GuestStdio;

/// Pause between two questions whether the kernel is warm.
const POLL: Duration = Duration::from_millis(100);

/// What has to happen between the start of a sandbox and its checkpoint.
pub trait WarmUp: Sync {
    /// Returns once the sandbox is warm and its agent frozen. `stdio` are its pipes.
    ///
    /// # Errors
    /// A sentence that says what did not happen.
    fn warm_up(&self, stdio: &GuestStdio) -> impl Future<Output = Result<(), String>> + Send;
}

/// Says hello until a kernel stands by, then freezes the agent.
#[derive(Debug, Clone)]
pub struct RecordWarmUp {
    /// For everything together.
    pub deadline: Duration,
}

impl Default for RecordWarmUp {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(120) }
    }
}

impl WarmUp for RecordWarmUp {
    async fn warm_up(&self, stdio: &GuestStdio) -> Result<(), String> {
        let mut link = Link::open(stdio)?;
        match tokio::time::timeout(self.deadline, link.warm_and_freeze()).await {
            Ok(outcome) => outcome,
            Err(_) => Err(format!("no {} within {} s", link.awaited, self.deadline.as_secs())),
        }
    }
}

/// The engine's end of the pipes.
struct Link {
    sender: pipe::Sender,
    receiver: pipe::Receiver,
    decoder: Decoder,
    awaited: &'static str,
}

impl Link {
    fn open(stdio: &GuestStdio) -> Result<Self, String> {
        let mut options = pipe::OpenOptions::new();
        options.read_write(true);
        Ok(Self {
            sender: options.open_sender(&stdio.stdin).map_err(|error| format!("cannot open stdin: {error}"))?,
            receiver: options.open_receiver(&stdio.stdout).map_err(|error| format!("cannot open stdout: {error}"))?,
            decoder: Decoder::skipping(),
            awaited: "answer of the agent",
        })
    }

    async fn warm_and_freeze(&mut self) -> Result<(), String> {
        for epoch in 1.. {
            if self.hello(epoch).await?.kernel_ready {
                break;
            }
            self.awaited = "warm kernel";
            tokio::time::sleep(POLL).await;
        }
        self.awaited = "frozen agent";
        self.send(Kind::Freeze, &[]).await?;
        while self.receive().await?.kind != Kind::Frozen {}
        Ok(())
    }

    async fn hello(&mut self, epoch: u64) -> Result<HelloAck, String> {
        let hello = Hello { epoch, sandbox_id: "template".to_owned(), ..Hello::default() };
        self.send(Kind::Hello, &serde_json::to_vec(&hello).map_err(|error| error.to_string())?).await?;
        loop {
            let record = self.receive().await?;
            if record.kind == Kind::HelloAck {
                let ack: HelloAck = serde_json::from_slice(&record.payload)
                    .map_err(|error| format!("the agent's answer cannot be read: {error}"))?;
                if ack.epoch == epoch {
                    return Ok(ack);
                }
            }
        }
    }

    async fn send(&mut self, kind: Kind, payload: &[u8]) -> Result<(), String> {
        let mut bytes = Vec::new();
        encode(kind, payload, &mut bytes);
        self.sender.write_all(&bytes).await.map_err(|error| format!("cannot write to the agent: {error}"))
    }

    async fn receive(&mut self) -> Result<Record, String> {
        loop {
            if let Some(record) = self.decoder.next_record().map_err(|error| error.to_string())? {
                return Ok(record);
            }
            let mut buffer = [0; 4096];
            let length = self
                .receiver
                .read(&mut buffer)
                .await
                .map_err(|error| format!("cannot read from the agent: {error}"))?;
            self.decoder.push(&buffer[..length]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An agent whose kernel is ready at the `ready_at`-th hello; 0 means never. Gives the kinds of the records that it got.
    async fn agent(stdio: GuestStdio, ready_at: u64) -> Vec<Kind> {
        let mut link =
            Link::open(&GuestStdio { stdin: stdio.stdout, stdout: stdio.stdin, stderr: stdio.stderr }).unwrap();
        link.send(Kind::Mux, b"noise before the first answer").await.unwrap();
        let mut seen = Vec::new();
        loop {
            let record = link.receive().await.unwrap();
            seen.push(record.kind);
            if record.kind == Kind::Freeze {
                link.send(Kind::Frozen, &[]).await.unwrap();
                return seen;
            }
            let hello: Hello = serde_json::from_slice(&record.payload).unwrap();
            let ack = HelloAck {
                epoch: hello.epoch,
                version: "1".into(),
                kernel_ready: ready_at != 0 && hello.epoch >= ready_at,
            };
            link.send(Kind::HelloAck, &serde_json::to_vec(&ack).unwrap()).await.unwrap();
        }
    }

    fn pipes() -> (tempfile::TempDir, GuestStdio) {
        let folder = tempfile::tempdir().unwrap();
        let stdio = GuestStdio::of(folder.path());
        stdio.make().unwrap();
        (folder, stdio)
    }

    #[tokio::test]
    async fn asks_until_the_kernel_is_warm_and_then_freezes() {
        let (_folder, stdio) = pipes();
        let agent = tokio::spawn(agent(stdio.clone(), 3));
        RecordWarmUp::default().warm_up(&stdio).await.unwrap();
        assert_eq!(agent.await.unwrap(), [Kind::Hello, Kind::Hello, Kind::Hello, Kind::Freeze]);
    }

    #[tokio::test]
    async fn says_what_did_not_come() {
        let (_folder, stdio) = pipes();
        let warm_up = RecordWarmUp { deadline: Duration::from_millis(300) };
        let silent = warm_up.warm_up(&stdio).await.unwrap_err();
        assert!(silent.contains("no answer of the agent"), "{silent}");
        let (_folder, stdio) = pipes();
        let agent = tokio::spawn(agent(stdio.clone(), 0));
        let cold = warm_up.warm_up(&stdio).await.unwrap_err();
        assert!(cold.contains("no warm kernel"), "{cold}");
        agent.abort();
    }
}
