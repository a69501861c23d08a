//! The engine's end of the connection with the guest agent.

mod client;
mod stream;

pub use client::{FileContent, GuestClient};
pub use stream::{EgressStream, FrameStream};
