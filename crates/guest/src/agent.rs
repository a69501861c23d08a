//! The agent: what its routes share.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use pandastack_guest_protocol::hello::Hello;

use crate::context::Contexts;
use crate::egress::Egress;
use crate::identity::Identity;
use crate::kernel::Kernels;
use crate::process::{Children, Spawner};
use crate::{egress, log, transport};

/// Everything that outlives a connection.
pub(crate) struct Agent {
    pub(crate) started: Instant,
    pub(crate) identity: Arc<Identity>,
    pub(crate) spawner: Arc<Spawner>,
    pub(crate) kernels: Arc<Kernels>,
    pub(crate) contexts: Contexts,
    pub(crate) egress: Arc<Egress>,
}

impl Agent {
    fn new(children: &Arc<Children>) -> Self {
        let identity = Arc::new(Identity::default());
        let spawner = Arc::new(Spawner::new(Arc::clone(children)));
        // Before anything is served: from here on `/proc` shows the inner namespace only.
        if let Err(error) = spawner.namespace() {
            log::line(&format!("cannot make the inner namespace: {error}"));
        }
        let kernels = Kernels::start(Arc::clone(&spawner), Arc::clone(&identity));
        let contexts = Contexts::new(Arc::clone(&kernels), Arc::clone(&identity));
        Self { started: Instant::now(), identity, spawner, kernels, contexts, egress: Arc::new(Egress::default()) }
    }

    /// Ends what a copy of the sandbox need not hold. The kernel that stands by is such a thing only if there are contexts: a copy's first context is
    /// one of them, else it is that kernel.
    pub(crate) async fn quiesce(&self) {
        if self.contexts.is_empty() {
            return;
        }
        tokio::join!(self.kernels.end_standing_by(), self.contexts.quiesce());
    }

    /// Takes a new identity; the connection of the epoch before is gone already.
    pub(crate) fn begin_epoch(&self, hello: &Hello) {
        self.egress.begin_epoch();
        let changed = self.identity.take(hello);
        if changed || hello.reseed {
            self.contexts.take_identity(hello.reseed);
        }
        if hello.reseed {
            self.kernels.rehearse();
        }
    }
}

/// Runs the agent; comes back only if it cannot.
pub(crate) async fn run() -> ExitCode {
    let children = Arc::new(Children::default());
    let agent = Arc::new(Agent::new(&children));
    tokio::spawn(async move { children.keep_reaping().await });
    tokio::spawn(egress::listen(Arc::clone(&agent.egress)));
    match transport::serve(agent).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log::line(&format!("cannot talk to the engine: {error}"));
            ExitCode::FAILURE
        }
    }
}
