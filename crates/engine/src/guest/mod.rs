//! The engine's end of the connection with the guest agent.
//!
//! [`transport`] carries records over the sandbox's named pipes, [`connection`] gives the sandbox its identity and keeps one HTTP/2
//! connection per epoch inside of the records, [`client`] speaks the agent's routes. Every byte from a sandbox is hostile: lengths are
//! limited where they are read, and what breaks the layers ends the connection with a reason.

mod activity;
mod client;
mod connection;
mod frame_stream;
mod json;
mod request;
mod stderr;
mod transport;

pub use activity::Activity;
pub use client::{FileContent, GuestClient};
pub use connection::Connection;
pub use frame_stream::FrameStream;
pub(crate) use json::read as read_json;
pub use request::EgressStream;

#[cfg(test)]
mod tests;
