//! The engine as its routes and commands see it.

mod in_use;
mod state;
mod status;

use std::collections::HashMap;
use std::fs::File;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use pandastack_protocol::egress::{Egress, EgressInfo};
use pandastack_protocol::event::SandboxEvent;
use pandastack_protocol::lifecycle::{LifecycleInfo, UpdateLifecycle};
use pandastack_protocol::sandbox::{CreateSandbox, SandboxInfo, SandboxStatus};
use pandastack_protocol::template::TemplateInfo;
use pandastack_protocol::token::{CreatedToken, TokenInfo};
use tokio::sync::{Semaphore, broadcast};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cgroup::Cgroups;
use crate::egress::SandboxEgress;
use crate::egress::keys::Keys;
use crate::error::EngineError;
use crate::event::EventLog;
use crate::guest::GuestClient;
use crate::home::Home;
use crate::host;
use crate::limits::Limits;
use crate::runsc::{FoundRunsc, Runsc};
use crate::sandbox::{BlankPool, Bounds, Demand, Found, ReadyPool, Sandbox, Turns, VerifiedTemplates};
use crate::store::{RowStatus, Store};
pub use in_use::templates_in_use;
pub use status::{EngineStatus, SandboxUse};

/// Called once for each sandbox that takes requests: newly made, or found running when the engine opened. The client ends with
/// [`EngineError::SandboxGone`] when the sandbox does; using its `egress_accept` does not count as use of the sandbox.
pub type RunningHook = Arc<dyn Fn(SandboxInfo, GuestClient, Arc<SandboxEgress>) + Send + Sync>;

/// What an engine needs to know.
#[derive(Clone)]
pub struct EngineConfig {
    /// Where everything lies.
    pub home: Home,
    /// The `runsc` binary, see [`crate::runsc::find`].
    pub runsc: FoundRunsc,
    /// Idle time after which a sandbox is deleted if its maker names none, in seconds. Default 1800.
    pub default_ttl_seconds: i64,
    /// Time between two heartbeats of a sandbox, in milliseconds. Default 10000. After three misses the sandbox is ended.
    pub heartbeat_ms: u64,
    /// Most sandboxes kept ready, each some 100 MB of memory: one, and more while many are asked for. Default 4.
    pub ready_sandboxes: usize,
    /// Most blank sandboxes kept for snapshots, forks and bursts, each some 11 MB of memory. Default 8.
    pub blank_sandboxes: usize,
    /// Age at which images of snapshots and hibernated sandboxes are packed, in seconds. Default 120.
    pub pack_after_seconds: u64,
    /// What a sandbox may use if its maker does not say.
    pub limits: Limits,
    /// Most sandboxes that run, are paused or are being made. Default 128.
    pub most_sandboxes: usize,
    /// Most memory of all sandboxes together, in MiB. Default: four fifths of the host's.
    pub most_memory_mb: u32,
    /// Disk space that must be free before an image of a sandbox is written, in MiB. Default 1024.
    pub least_free_disk_mb: u32,
    /// See [`RunningHook`].
    pub on_running: Option<RunningHook>,
}

impl EngineConfig {
    /// The defaults.
    pub fn new(home: Home, runsc: FoundRunsc) -> Self {
        Self {
            home,
            runsc,
            default_ttl_seconds: 1800,
            heartbeat_ms: 10_000,
            ready_sandboxes: 4,
            blank_sandboxes: 8,
            pack_after_seconds: 120,
            limits: Limits::default(),
            most_sandboxes: 128,
            most_memory_mb: host::memory_mb() / 5 * 4,
            least_free_disk_mb: 1024,
            on_running: None,
        }
    }
}

/// One engine: all sandboxes of one home. Clones share it.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

/// What all clones share. The other halves of its implementation lie in [`crate::sandbox`].
pub(crate) struct Inner {
    pub(crate) config: EngineConfig,
    pub(crate) runsc: Runsc,
    pub(crate) store: Store,
    pub(crate) cgroups: Cgroups,
    pub(crate) events: EventLog,
    pub(crate) keys: Arc<Keys>,
    sandboxes: Mutex<HashMap<String, Arc<Sandbox>>>,
    pub(crate) ready_pool: ReadyPool,
    pub(crate) blank_pool: BlankPool,
    pub(crate) demand: Demand,
    pub(crate) verified: VerifiedTemplates,
    pub(crate) turns: Turns,
    /// Restores at once: more would only slow each other down.
    pub(crate) starting: Semaphore,
    /// Sandboxes being made.
    pub(crate) creating: AtomicUsize,
    /// Everything that runs in the background.
    pub(crate) tasks: TaskTracker,
    /// Cancelled when the engine is about to close.
    pub(crate) closing: CancellationToken,
    opened: Instant,
    lock: Mutex<Option<Flock<File>>>,
}

impl Inner {
    /// The sandboxes that take requests.
    pub(crate) fn sandboxes(&self) -> MutexGuard<'_, HashMap<String, Arc<Sandbox>>> {
        self.sandboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// Opens the home, takes its lock, adopts the sandboxes that still run and removes what is left of the others.
    ///
    /// # Errors
    /// [`EngineError::AlreadyRunning`] if another engine holds the home.
    pub async fn open(config: EngineConfig) -> Result<Self, EngineError> {
        let root = config.home.root().to_owned();
        config
            .home
            .create()
            .map_err(|error| EngineError::Internal(format!("cannot make the home ({error}): `{}`", root.display())))?;
        let lock = take_lock(&config.home).await?;
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let store = Store::open(&root.join("engine.db"))?;
        let inner = Arc::new(Inner {
            runsc: Runsc::new(&config.runsc.path, config.home.run()),
            cgroups: Cgroups::find(&config.home, u64::from(config.most_memory_mb) << 20),
            events: EventLog::new(store.clone()),
            keys: Arc::new(Keys::in_folder(config.home.egress())),
            store,
            config,
            sandboxes: Mutex::default(),
            ready_pool: ReadyPool::default(),
            blank_pool: BlankPool::default(),
            demand: Demand::default(),
            verified: VerifiedTemplates::default(),
            turns: Turns::default(),
            starting: Semaphore::new(processors.max(2)),
            creating: AtomicUsize::new(0),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            opened: Instant::now(),
            lock: Mutex::new(Some(lock)),
        });
        inner.adopt_all().await?;
        inner.tasks.spawn(inner.events.clone().keep_writing(inner.closing.clone()));
        inner.start_reaper();
        inner.start_packer();
        inner.warm_up();
        Ok(Self { inner })
    }

    /// Makes a sandbox. If the future is dropped, nothing stays behind.
    pub async fn create_sandbox(&self, request: CreateSandbox) -> Result<SandboxInfo, EngineError> {
        self.inner.create_sandbox(request).await
    }

    /// All sandboxes, newest first: also those being made, and for an hour those that failed (with `reason`).
    pub async fn list_sandboxes(&self) -> Result<Vec<SandboxInfo>, EngineError> {
        let rows = self.inner.store.sandboxes().await?;
        let shown = rows.iter().filter(|row| !matches!(row.status, RowStatus::Ready | RowStatus::Deleted));
        Ok(shown.map(crate::store::SandboxRow::info).collect())
    }

    /// One sandbox. Counts as use of it, but does not wake it.
    pub async fn sandbox_info(&self, id: &str) -> Result<SandboxInfo, EngineError> {
        match self.inner.find(id).await? {
            Found::Held(sandbox) => {
                sandbox.activity().touch();
                Ok(sandbox.info())
            }
            Found::Stored(row) => {
                let mut info = row.info();
                if info.status == SandboxStatus::Running {
                    info.status = SandboxStatus::Stopping;
                }
                Ok(info)
            }
        }
    }

    /// Ends a sandbox and removes everything of it.
    pub async fn delete_sandbox(&self, id: &str) -> Result<(), EngineError> {
        self.inner.delete_sandbox(id).await
    }

    /// How long a sandbox lives. Counts as use of it, but does not wake it.
    pub async fn lifecycle(&self, id: &str) -> Result<LifecycleInfo, EngineError> {
        self.inner.lifecycle(id).await
    }

    /// Changes how long a sandbox lives. Counts as use of it, but does not wake it.
    pub async fn update_lifecycle(&self, id: &str, update: UpdateLifecycle) -> Result<LifecycleInfo, EngineError> {
        self.inner.update_lifecycle(id, update).await
    }

    /// What a sandbox may reach. Neither use of it nor a reason to wake it.
    pub async fn egress(&self, id: &str) -> Result<EgressInfo, EngineError> {
        self.inner.egress(id).await
    }

    /// Changes what a sandbox may reach; connections that are no longer allowed are closed. Does not wake it.
    pub async fn set_egress(&self, id: &str, egress: Egress) -> Result<EgressInfo, EngineError> {
        self.inner.set_egress(id, egress).await
    }

    /// The last `tail` events of a sandbox, oldest first; all that are kept if `None`. Those of an ended sandbox are kept for an hour.
    pub async fn events(&self, id: &str, tail: Option<usize>) -> Result<Vec<SandboxEvent>, EngineError> {
        let events = self.inner.events.of(id, tail).await?;
        if events.is_empty() {
            self.inner.find(id).await?;
        }
        Ok(events)
    }

    /// Events of all sandboxes from now on.
    pub fn follow_events(&self) -> broadcast::Receiver<SandboxEvent> {
        self.inner.events.follow()
    }

    /// The templates that sandboxes can be made from.
    pub async fn templates(&self) -> Result<Vec<TemplateInfo>, EngineError> {
        self.inner.template_infos()
    }

    /// One template, by name or alias.
    pub async fn template(&self, name: &str) -> Result<TemplateInfo, EngineError> {
        self.inner.template_info(name)
    }

    /// The way into a sandbox, which is woken if it is hibernated. Counts as use of it, as long as a stream of the client lasts.
    pub async fn guest(&self, id: &str) -> Result<GuestClient, EngineError> {
        let sandbox = self.inner.running(id).await?;
        sandbox.activity().touch();
        Ok(sandbox.guest())
    }

    /// The limits of a sandbox for those who pass its output on.
    pub(crate) async fn bounds(&self, id: &str) -> Result<Bounds, EngineError> {
        self.inner.bounds(id).await
    }

    /// Makes an API token; its secret is shown only now.
    pub async fn create_token(&self, label: Option<String>) -> Result<CreatedToken, EngineError> {
        self.inner.store.create_token(label).await
    }

    /// All API tokens, oldest first.
    pub async fn list_tokens(&self) -> Result<Vec<TokenInfo>, EngineError> {
        self.inner.store.list_tokens().await
    }

    /// Revokes the token with this prefix (`pds_` and 8 digits).
    pub async fn revoke_token(&self, prefix: &str) -> Result<(), EngineError> {
        self.inner.store.revoke_token(prefix).await
    }

    /// True if `token` is a valid secret.
    pub async fn verify_token(&self, token: &str) -> Result<bool, EngineError> {
        self.inner.store.verify_token(token).await
    }

    /// Closes the engine and gives the home free. Sandboxes go on without it unless `kill`: then all but the
    /// hibernated ones are deleted.
    pub async fn shutdown(&self, kill: bool) -> Result<(), EngineError> {
        self.inner.closing.cancel();
        self.inner.tasks.close();
        if kill {
            self.inner.remove_all("the engine was stopped").await;
        }
        self.inner.tasks.wait().await;
        self.inner.drain_pool().await;
        if kill {
            self.inner.remove_all("the engine was stopped").await;
        } else {
            self.inner.let_go();
        }
        self.inner.events.write().await?;
        self.inner.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(())
    }
}

/// How long a lock that is held may take to become free. A program that a killed engine was just starting holds it until it has replaced its image.
const LOCK_PATIENCE: Duration = Duration::from_millis(500);

/// The lock is held until it is dropped or this process ends, however it ends.
async fn take_lock(home: &Home) -> Result<Flock<File>, EngineError> {
    let path = home.root().join("engine.lock");
    let cannot = |error: std::io::Error| EngineError::Internal(format!("cannot lock ({error}): `{}`", path.display()));
    let mut file = File::options().create(true).truncate(false).read(true).write(true).open(&path).map_err(cannot)?;
    let began = Instant::now();
    loop {
        file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(lock),
            Err((file, Errno::EWOULDBLOCK)) if began.elapsed() < LOCK_PATIENCE => file,
            Err((_, Errno::EWOULDBLOCK)) => return Err(EngineError::AlreadyRunning(home.root().to_owned())),
            Err((_, error)) => return Err(cannot(error.into())),
        };
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
