//! Streams out of and into a sandbox.

use bytes::Bytes;
use pandastack_guest_protocol::frame::Kind;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::error::EngineError;

/// The frames of a command or a cell. Dropping it ends the command or interrupts the cell.
pub struct FrameStream {}

impl FrameStream {
    /// The next frame. Output may come in several pieces, all other frames are whole. The last one is `Exit` or `End`, then comes
    /// `None`. A `Failure` frame is an [`EngineError::Guest`]; a stream that was cut ends in an error too.
    pub async fn next(&mut self) -> Option<Result<(Kind, Bytes), EngineError>> {
        None
    }
}

/// The bytes of one connection that a program in the sandbox made to its proxy.
pub type EgressStream = Box<dyn ReadWrite>;

/// Both directions.
pub trait ReadWrite: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ReadWrite for T {}
