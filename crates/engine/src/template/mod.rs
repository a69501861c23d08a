//! Templates: an immutable root image and a checkpoint of a sandbox that was booted from it and is warm.
//!
//! See `docs/template/design.md`.

mod bake;
mod base;
mod build;
mod certificates;
mod cpu;
mod definition;
mod error;
mod hash;
mod host;
mod image;
mod kernels;
mod metadata;
mod step;
mod store;
mod warm;

pub use bake::{bake, clean_bake};
pub use build::{BuildOptions, Progress, build, import};
pub use cpu::cpu_features;
pub(crate) use cpu::missing;
pub use definition::{Definition, resolve_name};
pub use error::TemplateError;
pub(crate) use hash::hash_file;
pub use host::{BUILD_COMMANDS, free_bytes, is_real_root, missing_commands};
pub(crate) use metadata::CHECKPOINT_FILES;
pub use metadata::Template;
pub use store::{find, list, prune};
pub use warm::{RecordWarmUp, WarmUp};
