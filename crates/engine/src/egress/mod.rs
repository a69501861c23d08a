//! The way out of a sandbox. It has no network; the guest agent carries each connection of its programs to the proxy here,
//! which applies the [`policy`] to names and to the addresses they resolve to.
//!
//! Why it is built like this: `docs/egress/design.md`.

mod authority;
mod carried;
mod connect;
pub mod dial;
#[cfg(test)]
mod fake;
pub mod gateway;
mod http_proxy;
mod intercept;
pub mod keys;
pub mod network;
pub mod policy;
mod proxy;
pub mod record;
mod rule;
pub mod rules;
pub mod sandbox;
pub mod secret;
mod socks;
mod tls;
mod tunnel;
pub mod upstream;
mod watched;

pub use dial::Outside;
pub use sandbox::SandboxEgress;
pub use upstream::UpstreamProxies;
