//! The way out of a sandbox. It has no network; the guest agent carries each connection of its programs to the proxy here,
//! which applies the [`policy`] to names and to the addresses they resolve to.
//!
//! Why it is built like this: `docs/egress/design.md`.

mod connect;
pub mod dial;
#[cfg(test)]
mod fake;
pub mod gateway;
mod http_proxy;
pub mod network;
pub mod policy;
pub mod proxy;
mod socks;
pub mod upstream;
mod watched;

pub use dial::Dialer;
pub use upstream::UpstreamProxies;
