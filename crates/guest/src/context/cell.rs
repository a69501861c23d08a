//! One cell, from its order to its end.

use std::io;
use std::time::Duration;

use nix::sys::signal::Signal;
use pandastack_guest_protocol::context::{End, EndStatus, ErrorFrame, RunRequest};
use pandastack_guest_protocol::exec::{Failure, FailureCode};
use pandastack_guest_protocol::frame::Kind;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::keeper::Order;
use crate::exec::at;
use crate::kernel::{Done, Execute, Kernel, Message, Messages, send};
use crate::output::{Outbox, append_json};
use crate::refusal::Refusal;

/// Between two interrupts of a cell that does not stop: the first may have come before the cell began, or been swallowed.
const AGAIN: Duration = Duration::from_millis(500);

/// How many interrupts a cell gets before its kernel is killed, if it must stop.
const INTERRUPTS: u32 = 4;

/// A cell that waits.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) request: RunRequest,
    pub(super) outbox: Outbox,
}

/// What became of the kernel.
pub(super) enum Verdict {
    /// It can take the next cell.
    Alive,
    /// It is dead, and the cell told so.
    Dead,
    /// It is dead, and nobody was there to be told.
    DeadUntold,
    /// It is to be replaced.
    Restart(oneshot::Sender<Result<(), Refusal>>),
    /// The context is to end.
    Close(oneshot::Sender<()>),
}

/// Why a cell is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    TimedOut,
    Requested,
    Abandoned,
}

/// What the loop of a cell does next.
enum Step {
    Continue,
    Ended(Done),
    /// The kernel is gone.
    Died,
    /// The kernel did not stop.
    Kill,
    Restart(oneshot::Sender<Result<(), Refusal>>),
    Close(oneshot::Sender<()>),
}

/// A cell that runs.
pub(super) struct Running {
    id: u64,
    request: RunRequest,
    outbox: Outbox,
    /// True if the kernel was replaced before this cell and nobody was told.
    lost: bool,
    started: Instant,
    deadline: Option<Instant>,
    stop: Option<Stop>,
    interrupts: u32,
    interrupt_at: Option<Instant>,
    later: Vec<Order>,
}

impl Running {
    pub(super) fn new(id: u64, cell: Cell, lost: bool) -> Self {
        let started = Instant::now();
        let deadline = cell.request.timeout_ms.and_then(|timeout| started.checked_add(Duration::from_millis(timeout)));
        Self {
            id,
            request: cell.request,
            outbox: cell.outbox,
            lost,
            started,
            deadline,
            stop: None,
            interrupts: 0,
            interrupt_at: None,
            later: Vec::new(),
        }
    }

    /// Runs the cell to its end. Gives orders that have to wait until then, too.
    pub(super) async fn follow(
        mut self,
        kernel: &mut Kernel,
        orders: &mut mpsc::UnboundedReceiver<Order>,
    ) -> (Verdict, Vec<Order>) {
        self.drop_background(kernel);
        let last = self.turn(kernel, orders).await;
        let later = std::mem::take(&mut self.later);
        let verdict = match last {
            Step::Ended(done) => {
                self.tell_end(&done);
                Verdict::Alive
            }
            Step::Died => self.bury(kernel, None).await,
            Step::Kill => self.bury(kernel, Some("did not stop when it was interrupted and was killed")).await,
            Step::Restart(reply) => {
                self.bury(kernel, Some("was restarted on request")).await;
                Verdict::Restart(reply)
            }
            Step::Close(reply) => {
                self.drain(kernel);
                append_json(
                    Kind::Failure,
                    &Failure { code: FailureCode::NotFound, error: "the code context was closed".into() },
                    &mut self.outbox.frames,
                );
                Verdict::Close(reply)
            }
            Step::Continue => Verdict::Alive,
        };
        // A slow reader must not hold up the next cell.
        self.outbox.finish();
        (verdict, later)
    }

    /// What was printed before the cell began does not belong to it.
    fn drop_background(&mut self, kernel: &mut Kernel) {
        self.drain(kernel);
        self.outbox.frames.clear();
    }

    fn drain(&mut self, kernel: &mut Kernel) {
        kernel.stdout.drain(&mut self.outbox.frames);
        kernel.stderr.drain(&mut self.outbox.frames);
    }

    async fn turn(&mut self, kernel: &mut Kernel, orders: &mut mpsc::UnboundedReceiver<Order>) -> Step {
        let interrupt = kernel.interrupter();
        let request = std::mem::take(&mut self.request);
        let execute = Execute { id: self.id, code: &request.code, env: &request.env, store_history: true };
        let (kernel_orders, mut messages, stdout, stderr) = kernel.split();
        let sending = send(kernel_orders, &execute);
        tokio::pin!(sending);
        let mut sent = false;
        loop {
            let full = self.outbox.is_full();
            let step = tokio::select! {
                outcome = &mut sending, if !sent => {
                    sent = true;
                    if outcome.is_ok() { Step::Continue } else { Step::Died }
                }
                message = messages.next(), if !full => {
                    stdout.drain(&mut self.outbox.frames);
                    stderr.drain(&mut self.outbox.frames);
                    self.take_all(message, &mut messages)
                }
                () = stdout.fill(), if !full => { stdout.take(&mut self.outbox.frames); Step::Continue }
                () = stderr.fill(), if !full => { stderr.take(&mut self.outbox.frames); Step::Continue }
                taken = self.outbox.flush(), if self.stop != Some(Stop::Abandoned) => {
                    if taken { Step::Continue } else { self.begin_stop(Stop::Abandoned) }
                }
                () = at(self.deadline), if self.stop.is_none() => self.begin_stop(Stop::TimedOut),
                () = at(self.interrupt_at) => self.interrupt(&interrupt),
                Some(order) = orders.recv() => self.obey(order),
            };
            if self.stop == Some(Stop::Abandoned) {
                self.outbox.frames.clear();
            }
            if !matches!(step, Step::Continue) {
                return step;
            }
        }
    }

    fn begin_stop(&mut self, stop: Stop) -> Step {
        // A limit that was reached stays the reason.
        if self.stop != Some(Stop::TimedOut) || stop == Stop::Abandoned {
            self.stop = Some(stop);
        }
        self.interrupts = 0;
        self.interrupt_at = Some(Instant::now());
        Step::Continue
    }

    /// Interrupts, again and again; whoever may not run on is killed in the end.
    fn interrupt(&mut self, interrupt: &impl Fn()) -> Step {
        if self.interrupts >= INTERRUPTS {
            self.interrupt_at = None;
            return if self.stop == Some(Stop::Requested) { Step::Continue } else { Step::Kill };
        }
        interrupt();
        self.interrupts += 1;
        self.interrupt_at = Some(Instant::now() + AGAIN);
        Step::Continue
    }

    fn obey(&mut self, order: Order) -> Step {
        match order {
            Order::Interrupt => self.begin_stop(Stop::Requested),
            Order::Restart(reply) => Step::Restart(reply),
            Order::Close(reply) => Step::Close(reply),
            // The helpers may be at work for the cell.
            Order::Quiesce(_) => Step::Continue,
            later @ (Order::Configure { .. } | Order::HandOver(..)) => {
                self.later.push(later);
                Step::Continue
            }
        }
    }

    /// Takes a message and those that came with it: what was written before them has been read already.
    fn take_all(&mut self, first: io::Result<Message>, messages: &mut Messages<'_>) -> Step {
        let mut next = Some(first);
        while let Some(message) = next {
            match message.map_or(Step::Died, |message| self.take(message)) {
                Step::Continue => next = messages.next_received(),
                last => return last,
            }
        }
        Step::Continue
    }

    /// Messages of an earlier cell are passed over.
    fn take(&mut self, message: Message) -> Step {
        match message {
            Message::Result(id, result) if id == self.id => append_json(Kind::Result, &result, &mut self.outbox.frames),
            Message::Clear(id, clear) if id == self.id => append_json(Kind::Clear, &clear, &mut self.outbox.frames),
            Message::Error(id, error) if id == self.id => append_json(Kind::Error, &error, &mut self.outbox.frames),
            Message::Done(done) if done.id == self.id => return Step::Ended(done),
            _ => {}
        }
        Step::Continue
    }

    fn tell_end(&mut self, done: &Done) {
        let status = match (self.stop, done.status.as_str()) {
            (Some(Stop::TimedOut), _) => EndStatus::TimedOut,
            (_, "interrupted") => EndStatus::Interrupted,
            (_, "ok") => EndStatus::Ok,
            _ => EndStatus::Error,
        };
        self.append_end(status, done.execution_count, done.exit_code, self.lost);
    }

    /// Tells the death of the kernel, or kills it first.
    async fn bury(&mut self, kernel: &mut Kernel, killed: Option<&str>) -> Verdict {
        let how = match killed {
            Some(how) => how.to_string(),
            None => match kernel.exit_code().await {
                Some(code) if code < 0 => format!("was ended by {}", name_of(-code)),
                Some(code) => format!("ended with exit code {code}"),
                None => "ended".into(),
            },
        };
        self.drain(kernel);
        if self.stop == Some(Stop::Abandoned) {
            self.outbox.frames.clear();
            return Verdict::DeadUntold;
        }
        let value = format!("the Python process {how}: variables are lost, files are kept");
        let text = format!("KernelDied: {value}");
        let error = ErrorFrame { name: "KernelDied".into(), value, traceback: vec![text.clone()], text, line: None };
        append_json(Kind::Error, &error, &mut self.outbox.frames);
        let status = if self.stop == Some(Stop::TimedOut) { EndStatus::TimedOut } else { EndStatus::KernelDied };
        self.append_end(status, 0, 1, true);
        Verdict::Dead
    }

    fn append_end(&mut self, status: EndStatus, execution_count: u64, exit_code: i32, restarted: bool) {
        let duration_ms = self.started.elapsed().as_millis() as u64;
        append_json(
            Kind::End,
            &End { status, execution_count, exit_code, duration_ms, restarted },
            &mut self.outbox.frames,
        );
    }
}

fn name_of(signal: i32) -> String {
    match Signal::try_from(signal) {
        Ok(Signal::SIGKILL) => "signal 9 (SIGKILL; often because memory ran out)".into(),
        Ok(name) => format!("signal {signal} ({name})"),
        Err(_) => format!("signal {signal}"),
    }
}
