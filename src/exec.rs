//! Commands.

use napi::bindgen_prelude::*;
use napi_derive::napi;
use pandastack_client::ExecEvent;
use pandastack_client::protocol::exec::ExecRequest;
use serde_json::Value;

use crate::cancel::{CancelToken, run};
use crate::client::{NativeClient, json};
use crate::outcome::{Json, Outcome, from_js};
use crate::stream::{Pull, merged};

/// An [`ExecEvent`], made without a detour through JSON.
#[napi(object, object_from_js = false)]
pub struct NativeExecEvent {
    /// `stdout`, `stderr` or `exit`.
    #[napi(js_name = "type")]
    pub kind: String,
    /// A piece of output as text.
    pub text: Option<String>,
    /// The same piece as base64, only where the text is lossy.
    pub base64: Option<String>,
    /// 128 + N after signal N.
    #[napi(js_name = "exit_code")]
    pub exit_code: Option<i32>,
    /// Wall-clock time in milliseconds.
    #[napi(js_name = "duration_ms")]
    pub duration_ms: Option<f64>,
}

impl From<ExecEvent> for NativeExecEvent {
    fn from(event: ExecEvent) -> Self {
        let output = |kind: &str, text, base64| Self {
            kind: kind.to_owned(),
            text: Some(text),
            base64,
            exit_code: None,
            duration_ms: None,
        };
        match event {
            ExecEvent::Stdout { text, base64 } => output("stdout", text, base64),
            ExecEvent::Stderr { text, base64 } => output("stderr", text, base64),
            ExecEvent::Exit { exit_code, duration_ms } => Self {
                kind: "exit".to_owned(),
                text: None,
                base64: None,
                exit_code: Some(exit_code),
                duration_ms: duration_ms.map(|duration| duration as f64),
            },
        }
    }
}

/// Output of a running command.
#[napi]
pub struct NativeExecStream(Pull<ExecEvent>);

#[napi]
impl NativeExecStream {
    /// The next events; an empty array means that the stream has ended.
    #[napi(ts_return_type = "Promise<ExecEvent[]>")]
    pub fn next_batch<'env>(
        &self,
        env: &'env Env,
        limit: u32,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Vec<NativeExecEvent>>>> {
        let pull = self.0.clone();
        run(env, None, async move {
            Ok(merged(pull.next(limit).await?, join).into_iter().map(NativeExecEvent::from).collect())
        })
    }

    /// Closes the connection, which ends the command.
    #[napi]
    pub fn close(&self) {
        self.0.close();
    }
}

fn join(last: &mut ExecEvent, next: ExecEvent) -> Option<ExecEvent> {
    use ExecEvent::{Stderr, Stdout};
    match (last, next) {
        (Stdout { text, base64: None }, Stdout { text: more, base64: None })
        | (Stderr { text, base64: None }, Stderr { text: more, base64: None }) => {
            text.push_str(&more);
            None
        }
        (_, next) => Some(next),
    }
}

#[napi]
impl NativeClient {
    /// Runs a command and waits for its end.
    #[napi(
        ts_args_type = "sandbox: string, command: ExecRequest, cancel?: CancelToken | null",
        ts_return_type = "Promise<WireExecResult>"
    )]
    pub fn exec<'env>(
        &self,
        env: &'env Env,
        sandbox: String,
        command: Value,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<Json>>> {
        let (client, command) = (self.client_for(cancel), from_js::<ExecRequest>(command)?);
        run(env, cancel, async move { json(client.exec(&sandbox, &command).await?) })
    }

    /// Runs a command and streams its output.
    #[napi(
        ts_args_type = "sandbox: string, command: ExecRequest, cancel?: CancelToken | null",
        ts_return_type = "Promise<NativeExecStream>"
    )]
    pub fn exec_stream<'env>(
        &self,
        env: &'env Env,
        sandbox: String,
        command: Value,
        cancel: Option<&CancelToken>,
    ) -> napi::Result<PromiseRaw<'env, Outcome<NativeExecStream>>> {
        let (client, command) = (self.client_for(cancel), from_js::<ExecRequest>(command)?);
        run(env, cancel, async move { Ok(NativeExecStream(Pull::new(client.exec_stream(&sandbox, &command).await?))) })
    }
}
