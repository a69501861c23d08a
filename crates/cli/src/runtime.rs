//! The asynchronous runtime of a command.

use crate::error::{CliError, Result};

/// Runs a future to its end on a new runtime.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| CliError::new(format!("cannot start threads: {error}")))?;
    let result = runtime.block_on(future);
    runtime.shutdown_background();
    result
}

/// Like [`block_on`], for commands that run sandboxes: an ordinary user enters a user namespace first, as long as there is one thread only.
pub(crate) fn block_on_with_sandboxes<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    pandastack_engine::privilege::enter_user_namespace().map_err(CliError::new)?;
    block_on(future)
}

/// Like [`block_on_with_sandboxes`], for the daemon, which gives up what it does not need.
pub(crate) fn block_on_as_daemon<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    pandastack_engine::privilege::enter_user_namespace().map_err(CliError::new)?;
    pandastack_engine::privilege::drop_unneeded().map_err(CliError::new)?;
    block_on(future)
}
