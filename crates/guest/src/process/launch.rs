//! The child's side between fork and exec: only system calls, no allocation, no lock.

use std::convert::Infallible;
use std::ffi::CString;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr;

use nix::errno::Errno;
use nix::unistd::Pid;

use super::capability;
use super::namespace::resources;
use super::program::Program;

/// Where a start failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Setup,
    Cwd,
    Exec,
}

/// All that the child needs, and where it says why it failed. It shares the memory of the agent until it executes or ends.
pub(super) struct Launch<'a> {
    program: &'a Program,
    argv: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
    stdin: RawFd,
    failure: Option<(Step, Errno)>,
}

/// Bytes of stack for the child: its frames hold a few numbers and pointers.
const STACK: usize = 256 << 10;

impl<'a> Launch<'a> {
    pub(super) fn new(program: &'a Program, stdin: RawFd) -> Self {
        // Null-terminated arrays for `execve`.
        let terminated = |texts: &[CString]| texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect();
        let (argv, environment) = (terminated(&program.argv), terminated(&program.environment));
        Self { program, argv, environment, stdin, failure: None }
    }

    /// Starts the child and waits until it has executed the program, or ended. The calling thread must have all signals blocked: a handler
    /// that runs in the child would run on the agent's memory.
    ///
    /// A real fork would make gVisor copy page after page of the agent afterwards, which costs more than all the rest.
    pub(super) fn start(&mut self) -> nix::Result<Pid> {
        let mut stack = vec![0_u128; STACK / size_of::<u128>()];
        let top = stack.as_mut_ptr_range().end;
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: the child runs `run` on a stack of its own, with a pointer to `self`, and this thread stands still until it is done with both.
        let pid = unsafe { libc::clone(run, top.cast(), flags, ptr::from_mut(self).cast()) };
        Errno::result(pid).map(Pid::from_raw)
    }

    /// Why the program was not executed, if it was not.
    pub(super) fn failure(&self) -> Option<(Step, Errno)> {
        self.failure
    }
}

extern "C" fn run(launch: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the pointer that `Launch::start` passes; its thread does not touch what it points to meanwhile.
    let launch = unsafe { &mut *launch.cast::<Launch<'_>>() };
    let Err(failure) = launch.try_become();
    launch.failure = Some(failure);
    // SAFETY: ends the child without running anything of the agent's.
    unsafe { libc::_exit(127) }
}

impl Launch<'_> {
    fn try_become(&self) -> Result<Infallible, (Step, Errno)> {
        reset_signals();
        place_descriptors(self.program, self.stdin).map_err(|error| (Step::Setup, error))?;
        // SAFETY: plain system call with a string that lives on.
        Errno::result(unsafe { libc::chdir(self.program.cwd.as_ptr()) }).map_err(|error| (Step::Cwd, error))?;
        drop_rights(self.program).map_err(|error| (Step::Setup, error))?;
        Err((Step::Exec, self.execute()))
    }

    /// Tries each candidate as `execvp` does. Gives the error that tells most.
    fn execute(&self) -> Errno {
        let mut told = Errno::ENOENT;
        for candidate in &self.program.candidates {
            // SAFETY: null-terminated arrays of strings that live on.
            unsafe { libc::execve(candidate.as_ptr(), self.argv.as_ptr(), self.environment.as_ptr()) };
            match Errno::last() {
                Errno::ENOENT | Errno::ENOTDIR => {}
                Errno::EACCES => told = Errno::EACCES,
                other => return other,
            }
        }
        told
    }
}

fn reset_signals() {
    // SAFETY: plain system calls; the set is filled before it is used.
    unsafe {
        libc::setsid();
        libc::umask(0o022);
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
}

/// Everything behind the standard three (and the control socket) closes at exec.
fn place_descriptors(program: &Program, stdin: RawFd) -> Result<(), Errno> {
    // SAFETY: descriptors of this process; duplicates onto 0 to 3 replace only the agent's own.
    unsafe {
        Errno::result(libc::dup2(stdin, 0))?;
        Errno::result(libc::dup2(program.stdout.as_raw_fd(), 1))?;
        Errno::result(libc::dup2(program.stderr.as_raw_fd(), 2))?;
        let mut first_closed: libc::c_uint = 3;
        if let Some(control) = &program.control {
            if control.as_raw_fd() == 3 {
                Errno::result(libc::fcntl(3, libc::F_SETFD, 0))?;
            } else {
                Errno::result(libc::dup2(control.as_raw_fd(), 3))?;
            }
            first_closed = 4;
        }
        Errno::result(libc::syscall(
            libc::SYS_close_range,
            first_closed,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        ))?;
    }
    Ok(())
}

fn drop_rights(program: &Program) -> Result<(), Errno> {
    let user = &program.user;
    // SAFETY: plain system calls; the group list lives on.
    unsafe {
        for (resource, value) in resources(&program.limits) {
            let limit = libc::rlimit64 { rlim_cur: value, rlim_max: value };
            Errno::result(libc::prlimit64(0, resource as _, &raw const limit, ptr::null_mut()))?;
        }
        capability::bound()?;
        Errno::result(libc::syscall(libc::SYS_setgroups, user.groups.len(), user.groups.as_ptr()))?;
        Errno::result(libc::syscall(libc::SYS_setresgid, user.gid, user.gid, user.gid))?;
        Errno::result(libc::syscall(libc::SYS_setresuid, user.uid, user.uid, user.uid))?;
    }
    Ok(())
}
