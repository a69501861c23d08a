//! The inner PID namespace and its init.
//!
//! Whatever runs for the user lives there. Its init mounts a `/proc` that shows nothing else, adopts orphans, and carries out the
//! agent's signals and limits for processes that the agent knows by their inner pid only.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, pipe2};
use pandastack_guest_protocol::hello::Limits;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use super::capability;
use super::children::{Children, Ended};

/// What the init is asked to do: `kill(pid, soft)`, or a limit of `pid` set to `soft` and `hard`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Order {
    verb: u32,
    pid: i32,
    soft: u64,
    hard: u64,
}

const ORDER: usize = size_of::<Order>();

/// How long the init may take to answer. Root inside can slow it down.
const PATIENCE: Duration = Duration::from_millis(500);

/// Any other verb is a resource of `prlimit`.
const KILL: u32 = u32::MAX;

/// A living inner namespace.
#[derive(Debug)]
pub(crate) struct Namespace {
    init: Pid,
    orders: File,
    /// An errno for each limit that was ordered, 0 if it was set.
    answers: Mutex<File>,
    ended: Mutex<oneshot::Receiver<Ended>>,
}

impl Namespace {
    /// Starts the init of a new namespace. The calling thread must not have entered a namespace before.
    pub(super) fn create(children: &Children) -> nix::Result<Self> {
        let (orders_in_init, orders) = pipe2(OFlag::O_CLOEXEC)?;
        let (answers, answers_in_init) = pipe2(OFlag::O_CLOEXEC)?;
        let (init, ended) = children.fork_registered(|| {
            // SAFETY: like fork, with a namespace; the child runs `serve`, which allocates nothing.
            let pid = unsafe { libc::syscall(libc::SYS_clone, libc::CLONE_NEWPID | libc::SIGCHLD, 0, 0, 0, 0) };
            match Errno::result(pid)? {
                0 => serve(&orders_in_init, &answers_in_init),
                pid => Ok(Pid::from_raw(pid as i32)),
            }
        })?;
        drop((orders_in_init, answers_in_init));
        let answers = File::from(answers);
        read_answer(&answers)?;
        for descriptor in [orders.as_fd(), answers.as_fd()] {
            fcntl(descriptor, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        Ok(Self { init, orders: File::from(orders), answers: Mutex::new(answers), ended: Mutex::new(ended) })
    }

    /// Makes all further children of the calling thread members of the namespace. The thread can then start no threads.
    pub(super) fn enter(&self) -> nix::Result<()> {
        // SAFETY: a plain system call; the descriptor it gives is owned by nobody else.
        let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, self.init.as_raw(), 0) };
        let descriptor = Errno::result(descriptor)? as i32;
        // SAFETY: just opened.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
        setns(descriptor, CloneFlags::CLONE_NEWPID)
    }

    /// False once the init has ended, and with it everything in the namespace.
    pub(crate) fn is_alive(&self) -> bool {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(ended.try_recv(), Err(TryRecvError::Empty))
    }

    /// Sends a signal to a process by its inner pid. Not heard from again: the process may be gone.
    pub(crate) fn kill(&self, inner_pid: i32, signal: Signal) {
        self.order(Order { verb: KILL, pid: inner_pid, soft: signal as u64, hard: 0 });
    }

    /// Sets the limits of a running kernel by its inner pid, and waits until they hold.
    ///
    /// # Errors
    /// If a limit cannot be set, or the init does not answer.
    pub(crate) fn limit(&self, inner_pid: i32, limits: &Limits) -> nix::Result<()> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        // Answers that came too late.
        while read_answer(&answers) != Err(Errno::EAGAIN) {
            if !self.is_alive() {
                return Err(Errno::ESRCH);
            }
        }
        for (resource, hard) in resources(limits) {
            let is_memory = resource == libc::RLIMIT_AS && limits.kernel_memory_bytes > 0;
            let soft = if is_memory { limits.kernel_memory_bytes.min(hard) } else { hard };
            self.order(Order { verb: resource, pid: inner_pid, soft, hard });
            let mut waited = [PollFd::new(answers.as_fd(), PollFlags::POLLIN)];
            let timeout = PollTimeout::try_from(PATIENCE).unwrap_or(PollTimeout::MAX);
            while poll(&mut waited, timeout) == Err(Errno::EINTR) {}
            read_answer(&answers)?;
        }
        Ok(())
    }

    fn order(&self, order: Order) {
        // Root inside may have stopped the init.
        let _ = kill(self.init, Signal::SIGCONT);
        let mut bytes = [0; ORDER];
        bytes[..4].copy_from_slice(&order.verb.to_ne_bytes());
        bytes[4..8].copy_from_slice(&order.pid.to_ne_bytes());
        bytes[8..16].copy_from_slice(&order.soft.to_ne_bytes());
        bytes[16..].copy_from_slice(&order.hard.to_ne_bytes());
        let _ = (&self.orders).write_all(&bytes);
    }
}

/// Resource numbers and values of the limits that are set.
pub(super) fn resources(limits: &Limits) -> impl Iterator<Item = (u32, u64)> {
    [
        (libc::RLIMIT_AS, limits.memory_bytes),
        (libc::RLIMIT_NPROC, limits.processes),
        (libc::RLIMIT_NOFILE, limits.open_files),
    ]
    .into_iter()
    .filter(|(_, value)| *value > 0)
}

/// `EAGAIN`: there is none.
fn read_answer(mut answers: &File) -> nix::Result<()> {
    let mut number = [0; 4];
    match answers.read_exact(&mut number) {
        Ok(()) if number == [0; 4] => Ok(()),
        Ok(()) => Err(Errno::from_raw(i32::from_ne_bytes(number))),
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Err(Errno::EAGAIN),
        Err(_) => Err(Errno::ESRCH),
    }
}

/// The init. Allocates nothing and takes no lock: it is a fork of one thread of many.
fn serve(orders: &OwnedFd, answers: &OwnedFd) -> ! {
    // SAFETY: plain system calls on descriptors and buffers that live as long as this process.
    unsafe {
        // Whatever else the agent had open must end with the agent's copy, above all the kernels' sockets.
        if libc::dup2(orders.as_raw_fd(), 0) != 0
            || libc::dup2(answers.as_raw_fd(), 1) != 1
            || libc::syscall(libc::SYS_close_range, 2, libc::c_uint::MAX, 0) != 0
        {
            libc::_exit(1);
        }
        answer(prepare());
        loop {
            let mut bytes = [0_u8; ORDER];
            match libc::read(0, bytes.as_mut_ptr().cast(), ORDER) {
                0 => libc::_exit(0),
                length if length == ORDER as isize => carry_out(&bytes),
                _ => {}
            }
        }
    }
}

fn parse(bytes: &[u8; ORDER]) -> Order {
    let number = |at: usize| {
        let mut number = [0; 8];
        number.copy_from_slice(&bytes[at..at + 8]);
        number
    };
    let [a, b, c, d, e, f, g, h] = number(0);
    Order {
        verb: u32::from_ne_bytes([a, b, c, d]),
        pid: i32::from_ne_bytes([e, f, g, h]),
        soft: u64::from_ne_bytes(number(8)),
        hard: u64::from_ne_bytes(number(16)),
    }
}

fn carry_out(bytes: &[u8; ORDER]) {
    let Order { verb, pid, soft, hard } = parse(bytes);
    // SAFETY: plain system calls.
    unsafe {
        if verb == KILL {
            libc::kill(pid, soft as i32);
        } else {
            let limit = libc::rlimit64 { rlim_cur: soft, rlim_max: hard };
            answer(Errno::result(libc::prlimit64(pid, verb as _, &raw const limit, std::ptr::null_mut())));
        }
    }
}

fn answer<T>(outcome: Result<T, Errno>) {
    let number = outcome.err().map_or(0, |error| error as i32).to_ne_bytes();
    // SAFETY: a plain system call with a buffer of this frame.
    unsafe { libc::write(1, number.as_ptr().cast(), number.len()) };
}

fn prepare() -> Result<(), Errno> {
    // SAFETY: plain system calls with constant strings.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_IGN);
        }
        libc::umount2(c"/proc".as_ptr(), libc::MNT_DETACH);
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        Errno::result(libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), flags, std::ptr::null()))?;
    }
    capability::keep_orders()
}
