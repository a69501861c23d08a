//! Output of commands and cells on its way to a client.

mod decoder;
mod frames;
mod kept;
mod limited;
pub(crate) mod sse;

pub(crate) use decoder::{Decoder, Piece};
#[cfg(test)]
pub(crate) use frames::tests;
pub(crate) use frames::{Encoder, Frame, Frames, Pump};
pub(crate) use kept::KeptOutput;
pub(crate) use limited::Limited;
