//! The zygote process: started, asked to fork, and listened to.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use bytes::BytesMut;
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use pandastack_guest_protocol::frame::{HEADER, Kind};
use pandastack_guest_protocol::hello::Limits;
use tokio::io::AsyncReadExt;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio_util::codec::{Decoder, LengthDelimitedCodec};

use super::message::{Fork, ZygoteMessage, codec, encode};
use crate::identity::Environment;
use crate::output::Pipe;
use crate::process::{Child, Namespace, Program, Spawner};
use crate::refusal::Refusal;
use crate::user::User;

/// Where the kernel package lies in the image.
const PACKAGE: &str = "/opt/pandastack/kernels";

const ARGV: [&str; 5] = ["/usr/bin/python3", "-m", "pandastack_kernel.zygote", "--control-fd", "3"];

/// How much of what the zygote says last is kept for messages, in bytes.
const LAST_WORDS: usize = 4 << 10;

/// Where the zygote finds its own package, and then what the sandbox has of its own.
fn python_path(own: Option<&String>) -> String {
    let package = std::env::var("PANDASTACK_KERNELS").unwrap_or_else(|_| PACKAGE.into());
    match own {
        Some(own) if !own.is_empty() => format!("{package}:{own}"),
        _ => package,
    }
}

/// A running zygote.
pub(super) struct Zygote {
    pub(super) namespace: Arc<Namespace>,
    child: Child,
    control: UnixStream,
    codec: LengthDelimitedCodec,
    received: BytesMut,
    stdout: Pipe,
    stderr: Pipe,
    last_words: Vec<u8>,
}

impl Zygote {
    pub(super) async fn start(spawner: &Spawner, environment: &Environment) -> Result<Self, Refusal> {
        let failed = |error: io::Error| Refusal::from_io("the Python kernel cannot be started", &error);
        let (near, far) = std::os::unix::net::UnixStream::pair().map_err(failed)?;
        near.set_nonblocking(true).map_err(failed)?;
        let control = UnixStream::from_std(near).map_err(failed)?;
        let (stdout, stdout_far) = Pipe::new(Kind::Stdout).map_err(failed)?;
        let (stderr, stderr_far) = Pipe::new(Kind::Stderr).map_err(failed)?;
        let mut environment = environment.clone();
        environment.insert("PYTHONPATH".into(), python_path(environment.get("PYTHONPATH")));
        let program = Program::new(
            &ARGV.map(String::from),
            &environment,
            "/",
            User::root(),
            Limits::default(),
            [stdout_far, stderr_far],
        )?;
        let child = spawner.start(program.with_control(far.into())).await?;
        let namespace = spawner.namespace()?;
        Ok(Self {
            namespace,
            child,
            control,
            codec: codec(),
            received: BytesMut::new(),
            stdout,
            stderr,
            last_words: Vec::new(),
        })
    }

    /// The next message. Can be cancelled.
    ///
    /// # Errors
    /// With a text for people once the zygote is gone or talks nonsense.
    pub(super) async fn next(&mut self) -> Result<ZygoteMessage, String> {
        loop {
            match self.codec.decode(&mut self.received) {
                Ok(Some(message)) => {
                    return ZygoteMessage::parse(&message)
                        .map_err(|error| format!("the zygote talks nonsense: {error}"));
                }
                Ok(None) => {}
                Err(error) => return Err(format!("the zygote talks nonsense: {error}")),
            }
            tokio::select! {
                biased;
                read = self.control.read_buf(&mut self.received) => if !matches!(read, Ok(length) if length > 0) {
                    return Err(self.obituary().await);
                },
                () = self.stdout.fill() => self.keep_words(),
                () = self.stderr.fill() => self.keep_words(),
            }
        }
    }

    /// Asks for a kernel.
    pub(super) async fn fork(&self, id: &str, cwd: &str, far: &[OwnedFd; 3]) -> io::Result<()> {
        let payload = encode(&Fork { id, cwd })?;
        let mut message = (payload.len() as u32).to_le_bytes().to_vec();
        message.extend_from_slice(&payload);
        let descriptors = far.each_ref().map(AsRawFd::as_raw_fd);
        let rights = [ControlMessage::ScmRights(&descriptors)];
        let parts = [IoSlice::new(&message)];
        let send = || Ok(sendmsg::<()>(self.control.as_raw_fd(), &parts, &rights, MsgFlags::MSG_NOSIGNAL, None)?);
        let sent = self.control.async_io(Interest::WRITABLE, send).await?;
        if sent == message.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    fn keep_words(&mut self) {
        let mut frames = Vec::new();
        self.stdout.take(&mut frames);
        self.stderr.take(&mut frames);
        self.last_words.extend(frames.get(HEADER..).unwrap_or_default());
        let surplus = self.last_words.len().saturating_sub(LAST_WORDS);
        self.last_words.drain(..surplus);
    }

    async fn obituary(&mut self) -> String {
        let waiting = tokio::time::timeout(std::time::Duration::from_millis(500), &mut self.child.ended);
        let how = waiting
            .await
            .ok()
            .and_then(Result::ok)
            .map_or_else(|| "closed its socket".into(), |ended| format!("ended with {ended}"));
        let mut frames = Vec::new();
        self.stderr.drain(&mut frames);
        self.last_words.extend(frames.get(HEADER..).unwrap_or_default());
        let words = String::from_utf8_lossy(&self.last_words);
        format!("the zygote of the Python kernels {how}: {}", words.trim().lines().last().unwrap_or("no message"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_sandbox_has_on_its_path_stays_there() {
        assert_eq!(python_path(None), PACKAGE);
        assert_eq!(python_path(Some(&String::new())), PACKAGE);
        assert_eq!(python_path(Some(&"/a:/b".into())), format!("{PACKAGE}:/a:/b"));
    }
}
