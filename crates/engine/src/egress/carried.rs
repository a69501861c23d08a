//! One connection of a sandbox while it is carried: where it leads, and what can end it.

use std::future::pending;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::policy::{Destination, Refusal};
use super::rules::Rules;
use super::sandbox::SandboxEgress;

/// How long a program may take from connecting to the end of its first request's head.
pub(super) const FIRST_HEAD_LIMIT: Duration = Duration::from_secs(10);

/// Where a connection leads.
#[derive(Debug, Clone)]
pub(super) struct Reached {
    pub(super) destination: Destination,
    pub(super) port: u16,
    /// The address, and whether it belongs to the host; unknown behind a proxy of the host.
    pub(super) address: Option<(IpAddr, bool)>,
}

impl Reached {
    fn check(&self, rules: &Rules) -> Result<(), Refusal> {
        let is_own = self.address.is_some_and(|(_, is_own)| is_own);
        rules.check_destination(&self.destination, self.port, is_own)?;
        match self.address {
            None => Ok(()),
            Some((address, is_own)) => {
                rules.check_address(address, self.port, is_own).map_err(|kind| kind.refuse(address))
            }
        }
    }
}

/// A connection of a sandbox.
pub(super) struct Carried {
    egress: Arc<SandboxEgress>,
    /// Where its current request leads.
    reached: Mutex<Option<Reached>>,
    has_begun: AtomicBool,
    evicted: CancellationToken,
    /// From before the first check, so that no change is missed.
    changes: watch::Receiver<Arc<Rules>>,
}

impl Carried {
    pub(super) fn new(egress: Arc<SandboxEgress>) -> Arc<Self> {
        Arc::new(Self {
            changes: egress.changes(),
            egress,
            reached: Mutex::default(),
            has_begun: AtomicBool::new(false),
            evicted: CancellationToken::new(),
        })
    }

    pub(super) fn egress(&self) -> &SandboxEgress {
        &self.egress
    }

    /// Notes that it has asked for something.
    pub(super) fn begin(&self) {
        self.has_begun.store(true, Ordering::Release);
    }

    /// True once it has asked for something.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Acquire)
    }

    /// Notes where it leads now.
    ///
    /// # Errors
    /// If the rules have changed since it was checked, and no longer allow that.
    pub(super) fn reach(&self, reached: Reached) -> Result<(), Refusal> {
        // Noted first: a change that comes later finds it.
        *self.reached.lock().unwrap_or_else(PoisonError::into_inner) = Some(reached.clone());
        reached.check(&self.egress.rules())
    }

    /// Ends it to make room for others. False if that was done before.
    pub(super) fn evict(&self) -> bool {
        let is_first = !self.evicted.is_cancelled();
        self.evicted.cancel();
        is_first
    }

    /// Returns once it must end: it has not asked for anything in time, its place is needed, or where it leads is no longer allowed.
    pub(super) async fn must_end(&self) {
        tokio::select! {
            () = self.never_asks() => {}
            () = self.evicted.cancelled() => {}
            () = self.is_refused() => {}
        }
    }

    async fn never_asks(&self) {
        tokio::time::sleep(FIRST_HEAD_LIMIT).await;
        if self.has_begun() {
            pending::<()>().await;
        }
    }

    async fn is_refused(&self) {
        let mut changes = self.changes.clone();
        while changes.changed().await.is_ok() {
            let rules = Arc::clone(&changes.borrow_and_update());
            let reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if reached.is_some_and(|reached| reached.check(&rules).is_err()) {
                return;
            }
        }
        pending().await
    }
}
