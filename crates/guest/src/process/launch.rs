//! The child's side between fork and exec: only system calls, no allocation, no lock.

use std::os::fd::{AsRawFd, RawFd};
use std::ptr;

use nix::errno::Errno;

use super::capability;
use super::namespace::resources;
use super::program::Program;

/// Where a start failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Step {
    Setup = 1,
    Cwd = 2,
    User = 3,
    Exec = 4,
}

impl Step {
    pub(super) fn from_byte(byte: u8) -> Self {
        match byte {
            2 => Self::Cwd,
            3 => Self::User,
            4 => Self::Exec,
            _ => Self::Setup,
        }
    }
}

/// Null-terminated arrays for `execve`, built before the fork.
pub(super) struct Pointers {
    argv: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
}

impl Pointers {
    pub(super) fn new(program: &Program) -> Self {
        let terminated =
            |texts: &[std::ffi::CString]| texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect();
        Self { argv: terminated(&program.argv), environment: terminated(&program.environment) }
    }
}

/// Becomes the program, or reports why not through `report` (5 bytes: step and errno) and ends.
pub(super) fn become_program(program: &Program, pointers: &Pointers, stdin: RawFd, report: RawFd) -> ! {
    let (step, error) = match try_become(program, pointers, stdin) {
        Ok(never) => match never {},
        Err(failure) => failure,
    };
    let number = (error as i32).to_ne_bytes();
    let message = [step as u8, number[0], number[1], number[2], number[3]];
    // SAFETY: plain system calls on a buffer of this frame.
    unsafe {
        libc::write(report, message.as_ptr().cast(), message.len());
        libc::_exit(127)
    }
}

fn try_become(program: &Program, pointers: &Pointers, stdin: RawFd) -> Result<std::convert::Infallible, (Step, Errno)> {
    reset_signals();
    place_descriptors(program, stdin).map_err(|error| (Step::Setup, error))?;
    // SAFETY: plain system call with a string that lives on.
    Errno::result(unsafe { libc::chdir(program.cwd.as_ptr()) }).map_err(|error| (Step::Cwd, error))?;
    drop_rights(program).map_err(|error| (Step::User, error))?;
    Err((Step::Exec, execute(program, pointers)))
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

/// Everything behind the standard three (and the control socket) closes at exec. `report` lies above them by construction.
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

/// Tries each candidate as `execvp` does. Gives the error that tells most.
fn execute(program: &Program, pointers: &Pointers) -> Errno {
    let mut told = Errno::ENOENT;
    for candidate in &program.candidates {
        // SAFETY: null-terminated arrays of strings that live on.
        unsafe { libc::execve(candidate.as_ptr(), pointers.argv.as_ptr(), pointers.environment.as_ptr()) };
        match Errno::last() {
            Errno::ENOENT | Errno::ENOTDIR => {}
            Errno::EACCES => told = Errno::EACCES,
            other => return other,
        }
    }
    told
}
