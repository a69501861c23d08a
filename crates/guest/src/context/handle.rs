//! A context as its routes see it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::response::Response;
use pandastack_guest_protocol::context::{ContextInfo, RunRequest};
use tokio::sync::{mpsc, oneshot};

use super::cell::Cell;
use super::keeper::{Keeper, Order, Settings};
use crate::identity::check_environment;
use crate::output::stream;
use crate::refusal::Refusal;

/// Most cells that wait in one context.
const MAX_WAITING: u64 = 1000;

/// Figures that the keeper of the kernel and the routes share.
#[derive(Debug, Default)]
pub(super) struct Figures {
    /// Cells that have ended.
    pub(super) ended: AtomicU64,
    /// Cells that run or wait.
    pub(super) pending: AtomicU64,
}

/// A context.
#[derive(Debug)]
pub(crate) struct Context {
    id: String,
    language: &'static str,
    created_at_ms: u64,
    figures: Arc<Figures>,
    /// True after a restore or a fork, until somebody takes it.
    inherited: AtomicBool,
    cells: mpsc::UnboundedSender<Cell>,
    orders: mpsc::UnboundedSender<Order>,
}

impl Context {
    /// A context whose kernel is kept by a task of its own.
    pub(super) fn new(id: String, language: &'static str, keeper: Keeper) -> Arc<Self> {
        let figures = Arc::new(Figures::default());
        let (cells, cells_receiver) = mpsc::unbounded_channel();
        let (orders, orders_receiver) = mpsc::unbounded_channel();
        tokio::spawn(keeper.keep(cells_receiver, orders_receiver, Arc::clone(&figures)));
        let created_at_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        Arc::new(Self { id, language, created_at_ms, figures, inherited: AtomicBool::new(false), cells, orders })
    }

    /// Describes the context.
    pub(crate) fn info(&self) -> ContextInfo {
        ContextInfo {
            id: self.id.clone(),
            language: self.language.into(),
            created_at_ms: self.created_at_ms,
            cells: self.figures.ended.load(Ordering::Relaxed),
            busy: self.figures.pending.load(Ordering::Relaxed) > 0,
        }
    }

    /// Queues a cell; its frames follow in the answer.
    ///
    /// # Errors
    /// If the request makes no sense or too many cells wait.
    pub(crate) fn run(&self, request: RunRequest) -> Result<Response, Refusal> {
        if request.code.is_empty() {
            return Err(Refusal::bad_request("the code is empty"));
        }
        check_environment(&request.env)?;
        if self.figures.pending.load(Ordering::Relaxed) >= MAX_WAITING {
            return Err(Refusal::conflict(format!("too many cells wait in the code context: `{MAX_WAITING}`")));
        }
        let (outbox, response) = stream();
        self.figures.pending.fetch_add(1, Ordering::Relaxed);
        if self.cells.send(Cell { request, outbox }).is_err() {
            return Err(Refusal::not_found(format!("the code context was closed: `{}`", self.id)));
        }
        Ok(response)
    }

    /// Interrupts the running cell, if any.
    pub(crate) fn interrupt(&self) {
        let _ = self.orders.send(Order::Interrupt);
    }

    /// Replaces the kernel; a running cell ends.
    ///
    /// # Errors
    /// If no new kernel can be had.
    pub(crate) async fn restart(&self) -> Result<(), Refusal> {
        self.ask(Order::Restart).await?
    }

    /// Gives an inherited context to somebody new.
    ///
    /// # Errors
    /// If its kernel does not take the settings.
    pub(super) async fn hand_over(&self, settings: Settings) -> Result<(), Refusal> {
        self.ask(|reply| Order::HandOver(settings, reply)).await?
    }

    /// The kernel takes the sandbox's new identity before its next cell. A copy may be handed over.
    pub(super) fn take_identity(&self, copy: bool) {
        if copy {
            self.inherited.store(true, Ordering::Relaxed);
        }
        let _ = self.orders.send(Order::Configure { reseed: copy });
    }

    /// True for the one who may have an inherited context.
    pub(super) fn claim(&self) -> bool {
        self.inherited.swap(false, Ordering::Relaxed)
    }

    /// The kernel ends its helper processes, unless a cell runs.
    pub(super) async fn quiesce(&self) {
        let _ = self.ask(Order::Quiesce).await;
    }

    /// Ends the kernel and all cells.
    pub(super) async fn close(&self) {
        let _ = self.ask(Order::Close).await;
    }

    async fn ask<T>(&self, order: impl FnOnce(oneshot::Sender<T>) -> Order) -> Result<T, Refusal> {
        let (reply, answer) = oneshot::channel();
        let closed = || Refusal::not_found(format!("the code context was closed: `{}`", self.id));
        self.orders.send(order(reply)).map_err(|_| closed())?;
        answer.await.map_err(|_| closed())
    }
}
