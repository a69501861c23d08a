//! Python kernels: processes forked from a warm zygote. `docs/code_context/kernel-protocol.md` tells what is said to them.

mod message;
mod nursery;
mod process;
mod zygote;

pub(crate) use message::{Done, Execute, Message};
pub(crate) use nursery::Kernels;
pub(crate) use process::{Kernel, Messages, send};
