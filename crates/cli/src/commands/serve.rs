//! `pandastack serve`

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use pandastack_engine::access::TcpAccess;
use pandastack_engine::engine::EngineConfig;
use pandastack_engine::runsc;
use pandastack_engine::server::{self, Listening, ServeOptions};
use pandastack_protocol::env_vars;
use tracing_subscriber::EnvFilter;

use crate::api;
use crate::arguments::ServeArguments;
use crate::error::{CliError, Result};
use crate::output;
use crate::runtime::block_on_as_daemon;

/// Serves until it is stopped.
pub(crate) fn serve(arguments: ServeArguments) -> Result<ExitCode> {
    start_log();
    block_on_as_daemon(async {
        let home = api::home()?;
        let runsc = runsc::find(&home).await?;
        let config = config(&arguments, EngineConfig::new(home, runsc))?;
        server::serve(config, options(arguments), tell).await?;
        Ok(ExitCode::SUCCESS)
    })
}

fn config(arguments: &ServeArguments, defaults: EngineConfig) -> Result<EngineConfig> {
    let limits = defaults.limits.with(&arguments.limits.asked()).map_err(CliError::new)?;
    Ok(EngineConfig {
        limits,
        most_sandboxes: arguments.most_sandboxes.unwrap_or(defaults.most_sandboxes),
        most_memory_mb: arguments.most_memory_mb.unwrap_or(defaults.most_memory_mb),
        least_free_disk_mb: arguments.least_free_disk_mb.unwrap_or(defaults.least_free_disk_mb),
        pack_after_seconds: arguments.pack_after_seconds.unwrap_or(defaults.pack_after_seconds),
        ..defaults
    })
}

fn options(arguments: ServeArguments) -> ServeOptions {
    ServeOptions {
        socket: arguments.socket,
        listen: arguments.listen,
        tcp: TcpAccess { remote: arguments.allow_remote, names: arguments.allow_host },
        exit_when_idle: arguments.exit_when_idle.map(Duration::from_secs),
    }
}

fn tell(listening: &Listening) {
    output::say(&format!("listening on unix:{}", listening.socket.display()));
    if let Some(address) = listening.tcp {
        output::say(&format!("listening on http://{address}"));
    }
}

/// Logs to stderr, by default what is out of the ordinary.
fn start_log() {
    let chosen = std::env::var(env_vars::LOG).ok().filter(|filter| !filter.is_empty());
    let filter = EnvFilter::try_new(chosen.as_deref().unwrap_or("info,hyper=warn,h2=warn"));
    let filter = filter.unwrap_or_else(|error| {
        output::say(&format!("warning: {} is no log filter: {error}", env_vars::LOG));
        EnvFilter::new("info")
    });
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(false);
    // A line that cannot be written, as the disk is full, is lost: to tell so would end the task that logs.
    log.log_internal_errors(false).init();
}
