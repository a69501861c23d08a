//! Code contexts: kernels that keep their state, one cell at a time each.

mod cell;
mod handle;
mod keeper;
mod registry;

pub(crate) use registry::Contexts;
