//! The thread that starts programs in the inner namespace.
//!
//! A thread whose children belong to another PID namespace can start no threads, so this one does nothing else. If the namespace
//! dies (root inside can kill its init), the next start makes a new one with a new thread.

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::Pid;
use pandastack_guest_protocol::exec::FailureCode;
use thiserror::Error;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use super::children::{Children, Ended};
use super::launch::{Launch, Step};
use super::namespace::Namespace;
use super::program::{Program, shorten};
use crate::refusal::Refusal;

/// A started program, leader of its own session and process group. The group is killed if this is dropped before the program has ended.
#[derive(Debug)]
pub(crate) struct Child {
    /// Pid as the agent sees it.
    pid: Pid,
    /// Resolves once the process has ended.
    pub(crate) ended: oneshot::Receiver<Ended>,
}

impl Child {
    /// Signals the whole process group. False if there is none any more.
    pub(crate) fn signal_group(&self, signal: Option<Signal>) -> bool {
        killpg(self.pid, signal) != Err(Errno::ESRCH)
    }
}

/// A request that was given up while its program started leaves no process behind.
impl Drop for Child {
    fn drop(&mut self) {
        if matches!(self.ended.try_recv(), Err(TryRecvError::Empty)) {
            self.signal_group(Some(Signal::SIGKILL));
        }
    }
}

/// A program could not be started.
#[derive(Debug, Clone, Error)]
pub(crate) enum StartError {
    /// No process could be made.
    #[error("no process could be started: {}", .0.desc())]
    Fork(Errno),
    /// The working directory cannot be used.
    #[error("working directory cannot be used: `{path}`: {}", error.desc())]
    Cwd { path: String, error: Errno },
    /// The program cannot be executed.
    #[error("cannot execute: `{program}`: {}", error.desc())]
    Exec { program: String, error: Errno },
    /// User, limits or descriptors could not be set.
    #[error("cannot prepare the process: {}", .0.desc())]
    Setup(Errno),
}

impl From<StartError> for Refusal {
    fn from(error: StartError) -> Self {
        let code = match error {
            StartError::Fork(_) | StartError::Exec { error: Errno::ENOMEM | Errno::EAGAIN, .. } => {
                FailureCode::Exhausted
            }
            StartError::Cwd { .. } | StartError::Exec { .. } => FailureCode::BadRequest,
            StartError::Setup(_) => FailureCode::Internal,
        };
        Self::new(code, error.to_string())
    }
}

/// Gives the program back if it could not be started.
type Reply = oneshot::Sender<Result<Child, (StartError, Program)>>;

/// How long a namespace whose init was killed takes to be seen dead.
const SETTLE: Duration = Duration::from_millis(50);

struct Worker {
    requests: mpsc::Sender<(Program, Reply)>,
    namespace: Arc<Namespace>,
}

/// Starts programs.
pub(crate) struct Spawner {
    children: Arc<Children>,
    worker: Mutex<Option<Worker>>,
}

impl Spawner {
    pub(crate) fn new(children: Arc<Children>) -> Self {
        Self { children, worker: Mutex::new(None) }
    }

    /// The living namespace; a new one if the last has died.
    pub(crate) fn namespace(&self) -> Result<Arc<Namespace>, StartError> {
        self.with_worker(|worker| Arc::clone(&worker.namespace))
    }

    /// Starts a program. If the namespace has just died, in a new one.
    pub(crate) async fn start(&self, program: Program) -> Result<Child, StartError> {
        let namespace = self.namespace()?;
        match self.try_start(program).await {
            Err((StartError::Fork(error), Some(program))) => {
                tokio::time::sleep(SETTLE).await;
                if namespace.is_alive() {
                    return Err(StartError::Fork(error));
                }
                self.try_start(program).await.map_err(|(error, _)| error)
            }
            outcome => outcome.map_err(|(error, _)| error),
        }
    }

    async fn try_start(&self, program: Program) -> Result<Child, (StartError, Option<Program>)> {
        let requests = match self.with_worker(|worker| worker.requests.clone()) {
            Ok(requests) => requests,
            Err(error) => return Err((error, Some(program))),
        };
        let (reply, answer) = oneshot::channel();
        if let Err(mpsc::SendError((program, _))) = requests.send((program, reply)) {
            return Err((StartError::Fork(Errno::ECHILD), Some(program)));
        }
        match answer.await {
            Ok(outcome) => outcome.map_err(|(error, program)| (error, Some(program))),
            Err(_) => Err((StartError::Fork(Errno::ECHILD), None)),
        }
    }

    fn with_worker<T>(&self, use_worker: impl FnOnce(&Worker) -> T) -> Result<T, StartError> {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let living = match worker.take() {
            Some(living) if living.namespace.is_alive() => living,
            _ => start_worker(Arc::clone(&self.children)).map_err(StartError::Fork)?,
        };
        Ok(use_worker(worker.insert(living)))
    }
}

fn start_worker(children: Arc<Children>) -> nix::Result<Worker> {
    let (ready, outcome) = mpsc::channel();
    let (requests, receiver) = mpsc::channel();
    let run = move || match prepare(&children) {
        Ok((namespace, stdin)) => {
            let _ = ready.send(Ok(namespace));
            serve(&children, &receiver, stdin.as_raw_fd());
        }
        Err(error) => drop(ready.send(Err(error))),
    };
    std::thread::Builder::new().name("spawner".into()).spawn(run).map_err(|_| Errno::EAGAIN)?;
    let namespace = outcome.recv().unwrap_or(Err(Errno::ECHILD))?;
    Ok(Worker { requests, namespace })
}

fn prepare(children: &Children) -> nix::Result<(Arc<Namespace>, File)> {
    // For `Launch::start`; the children set a mask of their own.
    SigSet::all().thread_block()?;
    let namespace = Arc::new(Namespace::create(children)?);
    namespace.enter()?;
    let stdin = File::open("/dev/null").map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO)))?;
    Ok((namespace, stdin))
}

fn serve(children: &Children, requests: &mpsc::Receiver<(Program, Reply)>, stdin: RawFd) {
    while let Ok((program, reply)) = requests.recv() {
        let outcome = start(children, &program, stdin);
        let _ = reply.send(outcome.map_err(|error| (error, program)));
    }
}

fn start(children: &Children, program: &Program, stdin: RawFd) -> Result<Child, StartError> {
    let mut launch = Launch::new(program, stdin);
    let (pid, ended) = children.fork_registered(|| launch.start()).map_err(StartError::Fork)?;
    match launch.failure() {
        None => Ok(Child { pid, ended }),
        Some(failure) => Err(explain(program, failure)),
    }
}

fn explain(program: &Program, (step, error): (Step, Errno)) -> StartError {
    match step {
        Step::Cwd => StartError::Cwd { path: shorten(&program.cwd.to_string_lossy()), error },
        Step::Exec => {
            let program = program.argv.first().map_or_else(String::new, |name| shorten(&name.to_string_lossy()));
            StartError::Exec { program, error }
        }
        Step::Setup => StartError::Setup(error),
    }
}
