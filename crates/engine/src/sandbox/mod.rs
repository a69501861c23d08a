//! Sandboxes: how they are made, watched, found again after a restart of the engine, and ended.

mod adopt;
mod blank;
mod bounds;
mod copy;
mod create;
mod demand;
mod egress;
mod end;
mod find;
mod fork;
mod hibernate;
mod identity;
mod oom;
mod pack;
mod pause;
mod plan;
mod pool;
mod process;
mod promote;
mod reaper;
mod restore;
mod room;
mod snapshot;
mod template;
mod turn;
mod watch;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pandastack_protocol::sandbox::SandboxInfo;

pub(crate) use blank::BlankPool;
pub(crate) use bounds::Bounds;
pub(crate) use demand::Demand;
pub(crate) use find::Found;
pub(crate) use pool::ReadyPool;
use process::SandboxProcess;
pub(crate) use template::VerifiedTemplates;
pub(crate) use turn::Turns;

use crate::cgroup::Group;
use crate::egress::SandboxEgress;
use crate::error::EngineError;
use crate::guest::{Activity, Connection, GuestClient};
use crate::limits::Limits;
use crate::store::{RowStatus, SandboxRow};

/// A sandbox that takes requests.
pub(crate) struct Sandbox {
    row: Mutex<SandboxRow>,
    process: SandboxProcess,
    connection: Arc<Connection>,
    group: Group,
    /// Kills for want of memory that are known of.
    memory_kills: AtomicU64,
    activity: Arc<Activity>,
    egress: Arc<SandboxEgress>,
    is_ending: AtomicBool,
    is_hibernating: AtomicBool,
}

impl Sandbox {
    fn new(
        row: SandboxRow,
        process: SandboxProcess,
        connection: Arc<Connection>,
        group: Group,
        egress: Arc<SandboxEgress>,
    ) -> Arc<Self> {
        Arc::new(Self {
            row: Mutex::new(row),
            process,
            connection,
            memory_kills: AtomicU64::new(group.memory_kills().unwrap_or_default()),
            group,
            activity: Arc::default(),
            egress,
            is_ending: AtomicBool::new(false),
            is_hibernating: AtomicBool::new(false),
        })
    }

    /// What is remembered of it.
    pub(crate) fn row(&self) -> MutexGuard<'_, SandboxRow> {
        self.row.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As the API shows it.
    pub(crate) fn info(&self) -> SandboxInfo {
        self.row().info()
    }

    /// Why it can no longer be used, once that is so.
    pub(crate) fn end_reason(&self) -> Option<Arc<str>> {
        self.connection.end_reason()
    }

    /// Itself, unless it can no longer be used.
    pub(crate) fn unended(self: Arc<Self>) -> Result<Arc<Self>, EngineError> {
        match self.end_reason() {
            Some(reason) => Err(EngineError::SandboxGone { id: self.row().id.clone(), reason: reason.to_string() }),
            None => Ok(self),
        }
    }

    /// What it may use.
    pub(crate) fn limits(&self) -> Limits {
        self.row().limits
    }

    /// What its processes use together.
    pub(crate) fn group(&self) -> &Group {
        &self.group
    }

    /// True if processes of it were killed for want of memory since this was asked last.
    fn was_short_of_memory(&self) -> bool {
        let kills = self.group.memory_kills().unwrap_or_default();
        self.memory_kills.swap(kills, Ordering::AcqRel) < kills
    }

    /// True while all its processes stand still.
    pub(crate) fn is_paused(&self) -> bool {
        self.row().status == RowStatus::Paused
    }

    /// Refuses what a paused sandbox cannot do.
    fn check_not_paused(&self) -> Result<(), EngineError> {
        if self.is_paused() {
            return Err(EngineError::Conflict(format!("sandbox is paused: {}; resume it first", self.row().id)));
        }
        Ok(())
    }

    /// True from the decision to store it on disk.
    fn is_hibernating(&self) -> bool {
        self.is_hibernating.load(Ordering::Acquire)
    }

    fn set_hibernating(&self, is_hibernating: bool) {
        self.is_hibernating.store(is_hibernating, Ordering::Release);
    }

    /// True for the one who may end it.
    fn claim_end(&self) -> bool {
        !self.is_ending.swap(true, Ordering::AcqRel)
    }

    /// Gives the right to end it back.
    fn release_end(&self) {
        self.is_ending.store(false, Ordering::Release);
    }

    /// What it may reach.
    pub(crate) fn egress(&self) -> &Arc<SandboxEgress> {
        &self.egress
    }

    /// When it was last used.
    pub(crate) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// The way in.
    pub(crate) fn guest(&self) -> GuestClient {
        self.connection.client(&self.activity)
    }
}
