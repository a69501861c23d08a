//! The task that owns the kernel of a context.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pandastack_guest_protocol::exec::{Failure, FailureCode};
use pandastack_guest_protocol::frame::Kind;
use tokio::sync::{mpsc, oneshot};

use super::cell::{Cell, Running, Verdict};
use super::handle::Figures;
use crate::identity::{Environment, Identity};
use crate::kernel::{Kernel, Kernels};
use crate::log;
use crate::output::append_json;
use crate::refusal::Refusal;

/// How many kernels are tried.
const ATTEMPTS: u32 = 2;

/// What a context was created with.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    /// Added to the sandbox's environment.
    pub(super) env: Environment,
    /// Default `/root`.
    pub(super) cwd: Option<String>,
}

type Reply = oneshot::Sender<Result<(), Refusal>>;

/// Orders overtake cells that wait.
#[derive(Debug)]
pub(super) enum Order {
    /// Interrupt the running cell.
    Interrupt,
    /// A new kernel.
    Restart(Reply),
    /// The sandbox has a new identity.
    Configure { reseed: bool },
    /// The kernel is to end its helper processes.
    Quiesce(oneshot::Sender<()>),
    /// Somebody new has the context.
    HandOver(Settings, Reply),
    /// The end.
    Close(oneshot::Sender<()>),
}

/// Keeps one kernel.
pub(super) struct Keeper {
    kernels: Arc<Kernels>,
    identity: Arc<Identity>,
    settings: Settings,
    /// `None` after its death, until the next cell.
    kernel: Option<Kernel>,
    /// True if a kernel died and no cell has told so yet.
    lost: bool,
    cells: u64,
}

impl Keeper {
    /// Takes a kernel and gives it its settings.
    ///
    /// # Errors
    /// If none can be had.
    pub(super) async fn start(
        kernels: Arc<Kernels>,
        identity: Arc<Identity>,
        settings: Settings,
    ) -> Result<Self, Refusal> {
        let mut keeper = Self { kernels, identity, settings, kernel: None, lost: false, cells: 0 };
        keeper.replace_kernel().await?;
        Ok(keeper)
    }

    /// Runs cells one after another until the context is closed.
    pub(super) async fn keep(
        mut self,
        mut cells: mpsc::UnboundedReceiver<Cell>,
        mut orders: mpsc::UnboundedReceiver<Order>,
        figures: Arc<Figures>,
    ) {
        let closed = loop {
            tokio::select! {
                biased;
                order = orders.recv() => match order {
                    Some(Order::Close(reply)) => break Some(reply),
                    Some(order) => self.carry_out(order).await,
                    None => break None,
                },
                Some(cell) = cells.recv() => {
                    let closed = self.run(cell, &mut orders, &figures).await;
                    if closed.is_some() {
                        break closed;
                    }
                }
                () = idle(&mut self.kernel) => self.lose_kernel(),
            }
        };
        self.kernel = None;
        cells.close();
        while let Some(cell) = cells.recv().await {
            cell.fail(&closed_failure());
        }
        if let Some(reply) = closed {
            let _ = reply.send(());
        }
    }

    /// Runs one cell. Gives the reply of a `Close` that came meanwhile.
    async fn run(
        &mut self,
        cell: Cell,
        orders: &mut mpsc::UnboundedReceiver<Order>,
        figures: &Figures,
    ) -> Option<oneshot::Sender<()>> {
        let mut closed = None;
        if !cell.outbox.is_closed() {
            closed = self.run_wanted(cell, orders).await;
            figures.ended.fetch_add(1, Ordering::Relaxed);
        }
        figures.pending.fetch_sub(1, Ordering::Relaxed);
        closed
    }

    async fn run_wanted(
        &mut self,
        cell: Cell,
        orders: &mut mpsc::UnboundedReceiver<Order>,
    ) -> Option<oneshot::Sender<()>> {
        if let Err(refusal) = self.ensure_kernel().await {
            cell.fail(&refusal.0);
            return None;
        }
        let kernel = self.kernel.as_mut()?;
        self.cells += 1;
        let lost = std::mem::take(&mut self.lost);
        let (verdict, later) = Running::new(self.cells, cell, lost).follow(kernel, orders).await;
        let mut closed = None;
        let mut restarted = None;
        match verdict {
            Verdict::Alive => {}
            // The cell itself told so.
            Verdict::Dead => self.kernel = None,
            Verdict::DeadUntold => self.lose_kernel(),
            Verdict::Restart(reply) => {
                self.kernel = None;
                restarted = Some(reply);
            }
            Verdict::Close(reply) => closed = Some(reply),
        }
        if let Some(reply) = restarted {
            let _ = reply.send(self.replace_kernel().await);
        }
        for order in later {
            self.carry_out(order).await;
        }
        closed
    }

    async fn carry_out(&mut self, order: Order) {
        match order {
            Order::Interrupt | Order::Close(_) => {}
            Order::Quiesce(reply) => {
                if let Some(kernel) = &mut self.kernel {
                    kernel.quiesce().await;
                }
                let _ = reply.send(());
            }
            Order::Restart(reply) => {
                self.lost = false;
                let _ = reply.send(self.replace_kernel().await);
            }
            Order::Configure { reseed } => {
                if let Err(error) = self.configure(None, reseed).await {
                    log::line(&format!("a kernel did not take its new identity: {error}"));
                    self.lose_kernel();
                }
            }
            Order::HandOver(settings, reply) => {
                let cwd = settings.cwd.clone();
                self.settings.env.extend(settings.env);
                self.settings.cwd = settings.cwd.or(self.settings.cwd.take());
                let outcome = self.configure(cwd.as_deref(), false).await;
                let _ = reply.send(
                    outcome
                        .map_err(|error| Refusal::internal(format!("the kernel did not take its settings: {error}"))),
                );
            }
        }
    }

    async fn configure(&mut self, cwd: Option<&str>, reseed: bool) -> io::Result<()> {
        let environment = self.identity.environment(&self.settings.env);
        match &mut self.kernel {
            Some(kernel) => kernel.configure(&environment, cwd, reseed, &self.identity.limits()).await,
            None => Ok(()),
        }
    }

    async fn ensure_kernel(&mut self) -> Result<(), Refusal> {
        if self.kernel.is_some() { Ok(()) } else { self.replace_kernel().await }
    }

    async fn replace_kernel(&mut self) -> Result<(), Refusal> {
        let cwd = self.settings.cwd.clone().unwrap_or_else(|| "/root".into());
        let mut outcome = Ok(());
        // The kernel that stood by may have died just now.
        for _ in 0..ATTEMPTS {
            self.kernel = None;
            self.kernel = Some(self.kernels.take().await?);
            outcome = self.configure(Some(&cwd), true).await;
            if outcome.is_ok() {
                return Ok(());
            }
        }
        self.kernel = None;
        outcome.map_err(|error| Refusal::internal(format!("the kernel did not take its settings: {error}")))
    }

    fn lose_kernel(&mut self) {
        self.kernel = None;
        self.lost = true;
    }
}

/// Between cells: passes over what threads and children print. Resolves when the kernel is gone.
async fn idle(kernel: &mut Option<Kernel>) {
    let Some(kernel) = kernel else { return std::future::pending().await };
    let (_, mut messages, stdout, stderr) = kernel.split();
    let mut background = Vec::new();
    loop {
        tokio::select! {
            message = messages.next() => if message.is_err() {
                return;
            },
            () = stdout.fill() => stdout.take(&mut background),
            () = stderr.fill() => stderr.take(&mut background),
        }
        background.clear();
    }
}

fn closed_failure() -> Failure {
    Failure { code: FailureCode::NotFound, error: "the code context was closed".into() }
}

impl Cell {
    /// Answers with a failure instead of an outcome.
    pub(super) fn fail(mut self, failure: &Failure) {
        append_json(Kind::Failure, failure, &mut self.outbox.frames);
        self.outbox.finish();
    }
}
