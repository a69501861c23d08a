//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use pandastack_protocol::env_vars;
use pandastack_protocol::limits::SandboxLimits;

/// Sandboxes for agent code, on this machine or on a server.
#[derive(Debug, Parser)]
#[command(name = "pandastack", version, about)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the local engine in the foreground
    Serve(ServeArguments),
    /// Set up, look at and stop the local engine
    #[command(subcommand)]
    Engine(EngineCommand),
    /// Templates of the local engine
    #[command(subcommand)]
    Template(TemplateCommand),
    /// Make, list and use sandboxes
    #[command(subcommand)]
    Sandbox(SandboxCommand),
    /// API keys of a server
    #[command(subcommand)]
    Token(TokenCommand),
    /// Run Python code in a sandbox of its own
    Run(RunArguments),
    /// Print the version
    Version,
}

/// Which server.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServerArguments {
    /// `local`, `http://…`, `https://…` or `unix:/path` [default: PANDASTACK_API, else the hosted service]
    #[arg(long, value_name = "SERVER")]
    pub api: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Unix socket [default: engine.sock in PANDASTACK_HOME]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// TCP address besides, such as 127.0.0.1:8080; clients then need a key
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Let --listen take an address that other machines can reach
    #[arg(long)]
    pub allow_remote: bool,
    /// Host name under which clients may ask over TCP, besides localhost; may be repeated
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// Stop after this many seconds without sandboxes and requests
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub exit_when_idle: Option<u64>,
    /// Most sandboxes that run, are paused or are being made [default: 128]
    #[arg(long, value_name = "COUNT", env = env_vars::MOST_SANDBOXES)]
    pub most_sandboxes: Option<usize>,
    /// Most memory of all sandboxes together, in MiB [default: four fifths of the host's]
    #[arg(long, value_name = "MIB", env = env_vars::MOST_MEMORY_MB)]
    pub most_memory_mb: Option<u32>,
    /// Disk space that must be free before a snapshot, a fork or a hibernation, in MiB [default: 1024]
    #[arg(long, value_name = "MIB")]
    pub least_free_disk_mb: Option<u32>,
    /// Age at which images of snapshots and hibernated sandboxes are packed, in seconds [default: 120]
    #[arg(long, value_name = "SECONDS")]
    pub pack_after_seconds: Option<u64>,
    #[command(flatten, next_help_heading = "What a sandbox may use if its maker does not say")]
    pub limits: LimitArguments,
}

/// Limits of a sandbox.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct LimitArguments {
    /// CPU time in processors, such as 0.5 [default: all]
    #[arg(long, value_name = "PROCESSORS")]
    pub cpu: Option<f64>,
    /// Memory of its programs, in MiB [default: a quarter of the host's, 1024 to 8192]
    #[arg(long, value_name = "MIB")]
    pub memory_mb: Option<u32>,
    /// Processes and threads [default: 512]
    #[arg(long, value_name = "COUNT")]
    pub processes: Option<u32>,
    /// What its programs may write, in GiB [default: 4; creation is slower with another]
    #[arg(long, value_name = "GIB")]
    pub disk_gb: Option<u32>,
    /// Open files of a process [default: 65536]
    #[arg(long, value_name = "COUNT")]
    pub open_files: Option<u32>,
    /// Longest time of a cell, in seconds [default: none]
    #[arg(long, value_name = "SECONDS")]
    pub cell_seconds: Option<u32>,
    /// Most bytes of each output stream of a cell or command [default: none]
    #[arg(long, value_name = "BYTES")]
    pub output_bytes: Option<u64>,
}

impl LimitArguments {
    /// As they are asked for.
    pub(crate) fn asked(&self) -> SandboxLimits {
        let Self { cpu, memory_mb, processes, disk_gb, open_files, cell_seconds, output_bytes } = *self;
        SandboxLimits {
            cpu,
            memory_mb,
            processes,
            disk_gb,
            open_files,
            cell_seconds,
            output_bytes,
            ..SandboxLimits::default()
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum EngineCommand {
    /// Install what the engine lacks and build the default template
    Setup,
    /// Tell what the engine needs and what is missing
    Doctor {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Tell whether the engine runs and what it does
    Status {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Stop the engine; its sandboxes go on and are found again by the next one
    Stop {
        /// End all sandboxes too
        #[arg(long)]
        kill: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum TemplateCommand {
    /// Build a template, or what has changed of it
    Build {
        /// Its name
        #[arg(default_value = "code-interpreter")]
        name: String,
    },
    /// List the templates
    List,
    /// Make a template from the root image of another home
    Import {
        /// The image, such as rootfs.erofs
        path: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Make a sandbox
    Create(CreateArguments),
    /// List the sandboxes
    List(ServerArguments),
    /// Show a sandbox
    Get {
        #[command(flatten)]
        server: ServerArguments,
        /// Its id
        id: String,
    },
    /// Run a command in a sandbox
    Exec(ExecArguments),
    /// End sandboxes
    Kill {
        #[command(flatten)]
        server: ServerArguments,
        /// Their ids
        #[arg(required = true)]
        ids: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CreateArguments {
    #[command(flatten)]
    pub server: ServerArguments,
    /// Template [default: the server's]
    #[arg(long)]
    pub template: Option<String>,
    /// Idle time after which the sandbox is deleted, in seconds
    #[arg(long, value_name = "SECONDS")]
    pub ttl: Option<i64>,
    /// Never delete it for idling
    #[arg(long)]
    pub persistent: bool,
    /// Label; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub metadata: Vec<(String, String)>,
    #[command(flatten, next_help_heading = "What it may use (local engine only)")]
    pub limits: LimitArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ExecArguments {
    #[command(flatten)]
    pub server: ServerArguments,
    /// The sandbox
    pub id: String,
    /// Time limit in seconds
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<f64>,
    /// A shell command, or a program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a key; it is shown only once
    Create {
        #[command(flatten)]
        server: ServerArguments,
        /// A name for it
        #[arg(long)]
        label: Option<String>,
    },
    /// List the keys, without their secrets
    List(ServerArguments),
    /// Revoke a key
    Revoke {
        #[command(flatten)]
        server: ServerArguments,
        /// `pds_` and the first 8 digits
        prefix: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub server: ServerArguments,
    /// A Python file, or `-` for stdin
    #[arg(required_unless_present = "code", conflicts_with = "code")]
    pub file: Option<PathBuf>,
    /// The code itself
    #[arg(short, long, value_name = "CODE")]
    pub code: Option<String>,
    /// Folder for charts [default: charts are not saved]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Time limit in seconds
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<f64>,
    /// Template [default: the server's]
    #[arg(long)]
    pub template: Option<String>,
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_command_keeps_its_own_options() {
        let Command::Sandbox(SandboxCommand::Exec(exec)) =
            Arguments::parse_from(["pandastack", "sandbox", "exec", "id", "--timeout", "1.5", "ls", "-l", "--", "x"])
                .command
        else {
            panic!("not an exec");
        };
        assert_eq!((exec.timeout, exec.command), (Some(1.5), ["ls", "-l", "--", "x"].map(str::to_owned).to_vec()));
    }

    #[test]
    fn code_comes_from_one_place() {
        for wrong in [&["pandastack", "run"][..], &["pandastack", "run", "a.py", "-c", "1"]] {
            assert!(Arguments::try_parse_from(wrong).is_err(), "{wrong:?}");
        }
    }
}
