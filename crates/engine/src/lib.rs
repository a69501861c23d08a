//! The local engine: gVisor sandboxes on this machine behind the `/v1` API.

pub mod access;
pub mod cgroup;
pub mod clock;
pub mod doctor;
pub mod egress;
pub mod engine;
pub mod error;
pub mod event;
pub mod guest;
pub mod home;
mod host;
pub mod image;
pub mod limits;
pub mod privilege;
mod request;
pub mod router;
pub mod routes;
pub mod runsc;
mod sandbox;
pub mod server;
mod socket;
pub mod store;
pub mod template;
pub mod usage;
