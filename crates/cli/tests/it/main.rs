//! The binary as its users call it. No sandbox is made: `runsc` is a script that only says its version.

mod context;
mod engine;
mod offline;
