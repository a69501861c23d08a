//! Every environment variable that the product reads. An empty value counts as unset.

/// Server: `local`, `http://…`, `https://…` or `unix:/path`. Default: the hosted service.
pub const API: &str = "PANDASTACK_API";
/// Fallback for [`API`], as read by the 0.9.0 command line.
pub const API_URL: &str = "PANDASTACK_API_URL";
/// API key, `pds_…`.
pub const API_KEY: &str = "PANDASTACK_API_KEY";
/// Fallback for [`API_KEY`], as named in the documentation.
pub const TOKEN: &str = "PANDASTACK_TOKEN";
/// Folder of the local engine: state, templates, socket. Default `$XDG_STATE_HOME/pandastack` or `~/.local/state/pandastack`.
pub const HOME: &str = "PANDASTACK_HOME";
/// The `pandastack` binary that the SDK starts the local engine with. Default: the one of the platform package.
pub const BINARY: &str = "PANDASTACK_BINARY";
/// The `runsc` binary. Default: `runsc` on PATH, then `$PANDASTACK_HOME/bin/runsc`.
pub const RUNSC: &str = "PANDASTACK_RUNSC";
/// URL below which `ARCHITECTURE/runsc` and `ARCHITECTURE/runsc.sha512` lie for installing. Default: the latest official release.
pub const RUNSC_URL: &str = "PANDASTACK_RUNSC_URL";
/// The guest agent's binary. Default: `pandastack-guest` beside the `pandastack` binary.
pub const GUEST: &str = "PANDASTACK_GUEST";
/// Most sandboxes of the local engine. Default 128.
pub const MOST_SANDBOXES: &str = "PANDASTACK_MOST_SANDBOXES";
/// Most memory of all sandboxes of the local engine, in MiB. Default: four fifths of the host's.
pub const MOST_MEMORY_MB: &str = "PANDASTACK_MOST_MEMORY_MB";
/// Log filter of the engine, for example `info` or `pandastack_engine=debug`.
pub const LOG: &str = "PANDASTACK_LOG";
/// How long the client waits for a new sandbox to answer its first calls, in milliseconds. Default 20000.
pub const EXEC_READY_TIMEOUT_MS: &str = "PANDASTACK_EXEC_READY_TIMEOUT_MS";
