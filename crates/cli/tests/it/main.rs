//! The binary as its users call it. No sandbox is made: `runsc` is a script that only says its version.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod context;
mod engine;
mod offline;
