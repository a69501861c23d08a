//! Code contexts.

use napi::bindgen_prelude::*;
use napi_derive::napi;
use pandastack_client::protocol::code_context::{CreateCodeContext, ExecutionEvent, RunCode};
use serde_json::Value;

use crate::cancel::{CancelToken, run};
use crate::client::{NativeClient, json};
use crate::outcome::{Json, Outcome, from_js};
use crate::stream::{Pull, merged};

/// What a running cell shows.
#[napi]
pub struct NativeExecutionStream(Pull<ExecutionEvent>);

#[napi]
impl NativeExecutionStream {
    /// The next events; an empty array means that the stream has ended.
    #[napi(ts_return_type = "Promise<ExecutionEvent[]>")]
    pub fn next_batch<'env>(&self, env: &'env Env, limit: u32) -> napi::Result<PromiseRaw<'env, Outcome<Json>>> {
        let pull = self.0.clone();
        run(env, None, async move { json(merged(pull.next(limit).await?, join)) })
    }

    /// Closes the connection, which interrupts the cell.
    #[napi]
    pub fn close(&self) {
        self.0.close();
    }
}

fn join(last: &mut ExecutionEvent, next: ExecutionEvent) -> Option<ExecutionEvent> {
    use ExecutionEvent::{Stderr, Stdout};
    match (last, next) {
        (Stdout { text }, Stdout { text: more }) | (Stderr { text }, Stderr { text: more }) => {
            text.push_str(&more);
            None
        }
        (_, next) => Some(next),
    }
}

#[napi]
impl NativeClient {
    /// Creates a context.
    #[napi(
        ts_args_type = "sandbox: string, options: CreateCodeContext, cancel?: CancelToken | null",
        ts_return_type = "Promise<CodeContextInfo>"
    )]
    pub fn create_code_context<'env>(
        &self,
        env: &'env Env,
        sandbox: String,
        options: Value,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Json>>> {
        let (client, options) = (self.client_for(cancel), from_js::<CreateCodeContext>(options)?);
        run(env, cancel, async move { json(client.create_code_context(&sandbox, &options).await?) })
    }

    /// The contexts of a sandbox.
    #[napi(ts_return_type = "Promise<CodeContextInfo[]>")]
    pub fn list_code_contexts<'env>(
        &self,
        env: &'env Env,
        sandbox: String,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Json>>> {
        let client = self.client_for(cancel);
        run(env, cancel, async move { json(client.list_code_contexts(&sandbox).await?) })
    }

    /// Ends a context.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn delete_code_context<'env>(
        &self,
        env: &'env Env,
        sandbox: String,
        context: String,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<()>>> {
        let client = self.client_for(cancel);
        run(env, cancel, async move { client.delete_code_context(&sandbox, &context).await })
    }

    /// Interrupts the running cell.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn interrupt_code_context<'env>(
        &self,
        env: &'env Env,
        sandbox: String,
        context: String,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<()>>> {
        let client = self.client_for(cancel);
        run(env, cancel, async move { client.interrupt_code_context(&sandbox, &context).await })
    }

    /// Replaces the kernel.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn restart_code_context<'env>(
        &self,
        env: &'env Env,
        sandbox: String,
        context: String,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<()>>> {
        let client = self.client_for(cancel);
        run(env, cancel, async move { client.restart_code_context(&sandbox, &context).await })
    }

    /// Runs a cell and streams what it shows.
    #[napi(
        ts_args_type = "sandbox: string, context: string, cell: RunCode, cancel?: CancelToken | null",
        ts_return_type = "Promise<NativeExecutionStream>"
    )]
    pub fn run_code<'env>(
        &self,
        env: &'env Env,
        sandbox: String,
        context: String,
        cell: Value,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<NativeExecutionStream>>> {
        let (client, cell) = (self.client_for(cancel), from_js::<RunCode>(cell)?);
        run(env, cancel, async move {
            Ok(NativeExecutionStream(Pull::new(client.run_code(&sandbox, &context, &cell).await?)))
        })
    }
}
