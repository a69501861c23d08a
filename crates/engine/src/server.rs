//! The daemon: opens the engine, serves it, and stops it.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use thiserror::Error;
use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::access::{self, Access, TcpAccess};
use crate::egress::{self, Outside, UpstreamProxies};
use crate::engine::{Engine, EngineConfig, RunningHook};
use crate::error::EngineError;
use crate::router::{AppState, Stop, router};
use crate::socket;

/// Time that requests under way get to end once the daemon is to stop.
const GRACE: Duration = Duration::from_secs(3);

/// Where and how long to serve.
#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// The Unix socket. Default: `engine.sock` in the home.
    pub socket: Option<PathBuf>,
    /// A TCP address besides.
    pub listen: Option<SocketAddr>,
    /// What is allowed on it.
    pub tcp: TcpAccess,
    /// Stop after this long without sandboxes and requests. None: never.
    pub exit_when_idle: Option<Duration>,
}

/// Why the daemon did not start, or did not end well.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The engine refused.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A setting makes no sense.
    #[error("{0}")]
    Setting(String),
    /// The socket or port cannot be listened on.
    #[error("cannot listen on `{0}`: {1}")]
    Listen(String, io::Error),
    /// Signals cannot be waited for.
    #[error("cannot handle signals: {0}")]
    Signals(io::Error),
}

/// What is being served, told once everything listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listening {
    /// The Unix socket.
    pub socket: PathBuf,
    /// The TCP address, with the real port.
    pub tcp: Option<SocketAddr>,
}

/// Serves until a signal, a request to stop, or idleness ends it. Sandboxes go on without the daemon unless it was asked to end them.
///
/// # Errors
/// If it cannot start; [`EngineError::AlreadyRunning`] if another daemon serves this home.
pub async fn serve(
    mut config: EngineConfig,
    options: ServeOptions,
    ready: impl FnOnce(&Listening),
) -> Result<(), ServeError> {
    if let Some(address) = options.listen {
        access::check_listen(address, options.tcp.remote).map_err(ServeError::Setting)?;
    }
    let outside = Outside::new(UpstreamProxies::from_env().map_err(ServeError::Setting)?);
    let socket_path = options.socket.clone().unwrap_or_else(|| config.home.socket());
    config.on_running = Some(open_egress(outside));
    let engine = Engine::open(config).await?;
    let served = serve_engine(engine.clone(), &options, socket_path.clone(), ready).await;
    let kill = matches!(served, Ok(Stop { kill: true }));
    if !matches!(served, Err(ServeError::Listen(..))) {
        socket::remove(&socket_path);
    }
    engine.shutdown(kill).await?;
    served.map(|_| ())
}

/// Each sandbox that runs gets its way out.
fn open_egress(outside: Outside) -> RunningHook {
    Arc::new(move |_, guest, rules| {
        tokio::spawn(egress::gateway::serve(guest, outside.clone(), rules));
    })
}

async fn serve_engine(
    engine: Engine,
    options: &ServeOptions,
    socket_path: PathBuf,
    ready: impl FnOnce(&Listening),
) -> Result<Stop, ServeError> {
    let signals = EndSignals::new()?;
    let (state, stopped) = AppState::new(engine);
    let unix =
        socket::bind(&socket_path).map_err(|error| ServeError::Listen(socket_path.display().to_string(), error))?;
    let tcp = match options.listen {
        Some(address) => {
            Some(TcpListener::bind(address).await.map_err(|error| ServeError::Listen(address.to_string(), error))?)
        }
        None => None,
    };
    let address = tcp.as_ref().and_then(|listener| listener.local_addr().ok());
    let ended = CancellationToken::new();
    let mut servers = JoinSet::new();
    servers.spawn(serve_unix(unix, router(state.clone(), Access::Socket), ended.clone()));
    if let Some(listener) = tcp {
        servers.spawn(serve_tcp(
            listener,
            router(state.clone(), Access::Tcp(Arc::new(options.tcp.clone()))),
            ended.clone(),
        ));
    }
    ready(&Listening { socket: socket_path, tcp: address });
    let stop = wait_for_stop(&state, signals, stopped, options.exit_when_idle).await;
    ended.cancel();
    let _ = tokio::time::timeout(GRACE, async { while servers.join_next().await.is_some() {} }).await;
    Ok(stop)
}

async fn serve_unix(listener: UnixListener, router: Router, ended: CancellationToken) {
    if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(ended.cancelled_owned()).await {
        tracing::error!(%error, "socket failed");
    }
}

async fn serve_tcp(listener: TcpListener, router: Router, ended: CancellationToken) {
    use axum::serve::ListenerExt;
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(ended.cancelled_owned()).await {
        tracing::error!(%error, "port failed");
    }
}

/// The signals that end the daemon. To be made before anybody is told that it listens.
struct EndSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl EndSignals {
    fn new() -> Result<Self, ServeError> {
        let listen = |kind| signal(kind).map_err(ServeError::Signals);
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    async fn received(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

async fn wait_for_stop(
    state: &AppState,
    mut signals: EndSignals,
    mut stopped: watch::Receiver<Option<Stop>>,
    idle: Option<Duration>,
) -> Stop {
    let stop = tokio::select! {
        () = signals.received() => Stop { kill: false },
        stop = stopped.wait_for(Option::is_some) => stop.ok().and_then(|stop| *stop).unwrap_or(Stop { kill: false }),
        () = wait_for_idle(state, idle) => Stop { kill: false },
    };
    tracing::info!(kill = stop.kill, "stopping");
    stop
}

async fn wait_for_idle(state: &AppState, limit: Option<Duration>) {
    let Some(limit) = limit else { return std::future::pending().await };
    loop {
        tokio::time::sleep((limit / 4).clamp(Duration::from_millis(100), Duration::from_secs(5))).await;
        match state.engine.status().await {
            Ok(status) if status.running + status.creating == 0 => {}
            _ => state.usage.touch(),
        }
        if state.usage.idle_for() >= limit {
            return;
        }
    }
}
