//! The Node addon: JavaScript values in, client calls, JavaScript values out. It decides nothing: defaults, checks and retries
//! belong to `lib/` and to the client.
#![expect(private_interfaces, reason = "the addon is called from JavaScript only")]

mod cancel;
mod client;
mod code_context;
mod exec;
mod file;
mod health;
mod lifecycle;
mod lines;
mod outcome;
mod sandbox;
mod stream;
mod template;
mod token;
mod upload;
