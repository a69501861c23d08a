//! gVisor's `runsc`: finding and installing it, and its commands as typed calls.

mod command;
mod error;
#[cfg(test)]
pub(crate) mod fake;
mod find;
mod install;
pub(crate) mod left;
mod spec;
mod version;

pub use command::{ContainerState, ContainerStatus, Deadlines, GuestStdio, Runsc};
pub use error::RunscError;
pub use find::{FoundRunsc, find, probe};
pub use install::{InstallOptions, install};
pub use spec::{GUEST_PATH, KERNELS_PATH, SandboxSpec, TMPFS_MOUNTS, write_bundle};
pub use version::{GO_MODULE_VERSION, PINNED_VERSION, Version};
