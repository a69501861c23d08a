//! Sandboxes: how they are made, watched, found again after a restart of the engine, and ended.

mod adopt;
mod create;
mod end;
mod host;
mod identity;
mod plan;
mod pool;
mod process;
mod reaper;
mod restore;
mod template;
mod watch;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pandastack_protocol::sandbox::SandboxInfo;

pub(crate) use pool::ReadyPool;
use process::SandboxProcess;
pub(crate) use template::VerifiedTemplates;

use crate::guest::{Activity, Connection, GuestClient};
use crate::store::SandboxRow;

/// A sandbox that takes requests.
pub(crate) struct Sandbox {
    row: Mutex<SandboxRow>,
    process: SandboxProcess,
    connection: Arc<Connection>,
    activity: Arc<Activity>,
    is_ending: AtomicBool,
}

impl Sandbox {
    fn new(row: SandboxRow, process: SandboxProcess, connection: Arc<Connection>) -> Arc<Self> {
        Arc::new(Self {
            row: Mutex::new(row),
            process,
            connection,
            activity: Arc::default(),
            is_ending: AtomicBool::new(false),
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

    /// When it was last used.
    pub(crate) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// The way in.
    pub(crate) fn guest(&self) -> GuestClient {
        self.connection.client(&self.activity)
    }
}
