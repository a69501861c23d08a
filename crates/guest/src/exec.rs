//! Commands: `POST /exec`.

use std::path::Path;
use std::time::Duration;

use axum::response::Response;
use nix::sys::signal::Signal;
use pandastack_guest_protocol::exec::{ExecRequest, Exit};
use pandastack_guest_protocol::frame::Kind;
use tokio::time::{Instant, sleep_until};

use crate::agent::Agent;
use crate::identity::check_environment;
use crate::output::{Outbox, Pipe, append_json, stream};
use crate::process::{Child, Ended, Program};
use crate::refusal::Refusal;
use crate::user::User;

/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(500);

/// How long output of processes that outlive the command is waited for.
const DRAIN: Duration = Duration::from_millis(300);

/// Starts a command; its frames follow in the answer.
///
/// # Errors
/// If the request makes no sense or the command cannot be started.
pub(crate) async fn run(agent: &Agent, request: ExecRequest) -> Result<Response, Refusal> {
    let (stdout, stdout_in_child) =
        Pipe::new(Kind::Stdout).map_err(|error| Refusal::from_io("cannot make a pipe", &error))?;
    let (stderr, stderr_in_child) =
        Pipe::new(Kind::Stderr).map_err(|error| Refusal::from_io("cannot make a pipe", &error))?;
    let timeout = request.timeout_ms.map(Duration::from_millis);
    let program = program(agent, request, [stdout_in_child, stderr_in_child])?;
    let started = Instant::now();
    let child = agent.spawner.start(program).await?;
    let (outbox, response) = stream();
    let deadline = timeout.and_then(|timeout| started.checked_add(timeout));
    let command = Command {
        child,
        stdout,
        stderr,
        outbox,
        started,
        deadline,
        stopping: None,
        timed_out: false,
        abandoned: false,
    };
    tokio::spawn(command.follow());
    Ok(response)
}

fn program(agent: &Agent, request: ExecRequest, pipes: [std::os::fd::OwnedFd; 2]) -> Result<Program, Refusal> {
    check_environment(&request.env)?;
    let argv = match (request.command, request.argv) {
        (Some(command), None) if !command.trim().is_empty() => vec!["/bin/bash".into(), "-c".into(), command],
        (Some(_), None) => return Err(Refusal::bad_request("the command is empty")),
        (None, Some(argv)) => argv,
        _ => return Err(Refusal::bad_request("exactly one of `command` and `argv` must be given")),
    };
    let user = request.user.as_deref().map_or_else(|| Ok(User::root()), User::find)?;
    let mut environment = agent.identity.environment(&Default::default());
    if user.uid != 0 {
        environment.extend(
            [("HOME", &user.home), ("USER", &user.name), ("LOGNAME", &user.name)]
                .map(|(name, value)| (name.into(), value.clone())),
        );
    }
    environment.extend(request.env);
    let cwd = request.cwd.unwrap_or_else(|| home_of(&user));
    if !cwd.starts_with('/') {
        return Err(Refusal::bad_request(format!("the working directory must be absolute: `{}`", cwd.escape_debug())));
    }
    Program::new(&argv, &environment, &cwd, user, agent.identity.limits(), pipes)
}

/// Where a command begins that names no folder: not in a home that was deleted.
fn home_of(user: &User) -> String {
    if Path::new(&user.home).is_dir() { user.home.clone() } else { "/".into() }
}

/// A running command and the stream of its frames.
struct Command {
    child: Child,
    stdout: Pipe,
    stderr: Pipe,
    outbox: Outbox,
    started: Instant,
    deadline: Option<Instant>,
    /// Set by SIGTERM: when SIGKILL follows.
    stopping: Option<Instant>,
    timed_out: bool,
    abandoned: bool,
}

impl Command {
    async fn follow(mut self) {
        let ended = self.run().await;
        let duration_ms = self.started.elapsed().as_millis() as u64;
        self.drain(Instant::now() + DRAIN).await;
        self.end_group().await;
        let exit = Exit { exit_code: ended.code(), signal: ended.signal(), timed_out: self.timed_out, duration_ms };
        append_json(Kind::Exit, &exit, &mut self.outbox.frames);
        self.outbox.finish();
    }

    /// Until the process has ended.
    async fn run(&mut self) -> Ended {
        loop {
            let full = self.outbox.is_full();
            tokio::select! {
                ended = &mut self.child.ended => return ended.unwrap_or(Ended::Signaled(libc::SIGKILL)),
                () = self.stdout.fill(), if !full => self.take_output(),
                () = self.stderr.fill(), if !full => self.take_output(),
                taken = self.outbox.flush(), if !self.abandoned => if !taken {
                    self.abandon();
                },
                () = at(self.deadline), if self.stopping.is_none() => {
                    self.timed_out = true;
                    self.stop();
                }
                () = at(self.stopping) => {
                    self.child.signal_group(Some(Signal::SIGKILL));
                    self.stopping = Some(Instant::now() + GRACE);
                }
            }
        }
    }

    fn take_output(&mut self) {
        self.stdout.take(&mut self.outbox.frames);
        self.stderr.take(&mut self.outbox.frames);
        if self.abandoned {
            self.outbox.frames.clear();
        }
    }

    /// Nobody reads any more.
    fn abandon(&mut self) {
        self.abandoned = true;
        self.outbox.frames.clear();
        if self.stopping.is_none() {
            self.stop();
        }
    }

    fn stop(&mut self) {
        self.child.signal_group(Some(Signal::SIGTERM));
        self.stopping = Some(Instant::now() + GRACE);
    }

    /// Reads what the command left in the pipes. Waits for the end of the streams at most until `deadline`: a process in the background
    /// may hold them for ever. Waiting for the engine to take the frames does not count.
    async fn drain(&mut self, deadline: Instant) {
        while !self.abandoned && (self.stdout.is_open() || self.stderr.is_open()) {
            let late = tokio::select! {
                () = self.stdout.fill() => false,
                () = self.stderr.fill() => false,
                () = sleep_until(deadline) => true,
            };
            if late {
                self.stdout.drain(&mut self.outbox.frames);
                self.stderr.drain(&mut self.outbox.frames);
                return;
            }
            self.take_output();
            while self.outbox.is_full() && !self.abandoned {
                self.abandoned = !self.outbox.flush().await;
            }
        }
    }

    /// After a timeout or a reset, members of the group that survived SIGTERM get SIGKILL when their grace is over.
    async fn end_group(&mut self) {
        let Some(kill_at) = self.stopping else { return };
        while self.child.signal_group(None) {
            if Instant::now() >= kill_at {
                self.child.signal_group(Some(Signal::SIGKILL));
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Waits until then; for ever if there is no such time.
pub(crate) async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
