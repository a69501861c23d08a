//! Where kernels come from: one zygote, and one kernel that stands by.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::message::ZygoteMessage;
use super::process::{Ends, Kernel};
use super::zygote::Zygote;
use crate::exec::at;
use crate::identity::{Environment, Identity};
use crate::log;
use crate::process::Spawner;
use crate::refusal::Refusal;

/// After a kernel was handed out: its first cell goes before the fork of the next one, which costs both of them.
const REFILL_AFTER: Duration = Duration::from_millis(250);

/// After a copy was begun: the sandbox and its copy have other things to do first.
const REFILL_AFTER_COPY: Duration = Duration::from_secs(1);

/// Between two starts of a zygote that ends at once.
const RESTART_MIN: Duration = Duration::from_millis(200);
const RESTART_MAX: Duration = Duration::from_secs(5);

/// How long a request for a kernel waits.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many starts of the zygote, or of a kernel, may fail before waiting requests are told.
const ATTEMPTS: u32 = 2;

const DEFAULT_CWD: &str = "/root";

type Reply = oneshot::Sender<Result<Kernel, Refusal>>;

/// What the nursery is asked for.
enum Request {
    Kernel(Reply),
    Rehearsal,
    End(oneshot::Sender<()>),
}

/// Hands out kernels.
pub(crate) struct Kernels {
    requests: mpsc::UnboundedSender<Request>,
    ready: Arc<AtomicBool>,
}

impl Kernels {
    /// Starts the zygote in the background.
    pub(crate) fn start(spawner: Arc<Spawner>, identity: Arc<Identity>) -> Arc<Self> {
        let (requests, receiver) = mpsc::unbounded_channel();
        let ready = Arc::new(AtomicBool::new(false));
        let nursery = Nursery {
            spawner,
            identity,
            requests: receiver,
            waiting: VecDeque::new(),
            standing_by: None,
            ready: Arc::clone(&ready),
        };
        tokio::spawn(nursery.keep());
        Arc::new(Self { requests, ready })
    }

    /// True if a warm kernel stands by.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    /// Lets the kernel that stands by touch the memory that it will need: after a restore each page of it must be mapped anew.
    pub(crate) fn rehearse(&self) {
        let _ = self.requests.send(Request::Rehearsal);
    }

    /// Ends the kernel that stands by. The next one comes a while later.
    pub(crate) async fn end_standing_by(&self) {
        let (done, ended) = oneshot::channel();
        if self.requests.send(Request::End(done)).is_ok() {
            let _ = ended.await;
        }
    }

    /// A warm kernel without identity.
    ///
    /// # Errors
    /// If there is no Python in the sandbox, or no process can be made.
    pub(crate) async fn take(&self) -> Result<Kernel, Refusal> {
        let (reply, kernel) = oneshot::channel();
        let gone = || Refusal::internal("no Python kernel can be had: the agent lost track of them");
        self.requests.send(Request::Kernel(reply)).map_err(|_| gone())?;
        match tokio::time::timeout(PATIENCE, kernel).await {
            Ok(kernel) => kernel.map_err(|_| gone())?,
            Err(_elapsed) => {
                Err(Refusal::internal(format!("no Python kernel could be started within {} s", PATIENCE.as_secs())))
            }
        }
    }
}

struct Nursery {
    spawner: Arc<Spawner>,
    identity: Arc<Identity>,
    requests: mpsc::UnboundedReceiver<Request>,
    waiting: VecDeque<Reply>,
    standing_by: Option<Kernel>,
    ready: Arc<AtomicBool>,
}

/// A kernel that was asked for, or runs.
struct Birth {
    ends: Option<Ends>,
    ended: watch::Sender<Option<i32>>,
}

/// One life of the zygote.
struct Life {
    zygote: Zygote,
    births: HashMap<String, Birth>,
    born: mpsc::UnboundedReceiver<io::Result<Kernel>>,
    announce: mpsc::UnboundedSender<io::Result<Kernel>>,
    /// Kernels that were asked for and are not ready yet.
    unborn: usize,
    /// How many in a row did not become ready.
    stillborn: u32,
    refill_at: Option<Instant>,
}

impl Nursery {
    /// Keeps a zygote alive.
    async fn keep(mut self) {
        let (mut pause, mut failures) = (RESTART_MIN, 0);
        loop {
            let started = Instant::now();
            let refusal = match Zygote::start(&self.spawner, &self.identity.environment(&Environment::new())).await {
                Ok(zygote) => Refusal::internal(self.live(zygote).await),
                Err(refusal) => refusal,
            };
            self.set_standing_by(None);
            log::line(&refusal.0.error);
            if started.elapsed() > RESTART_MAX {
                (pause, failures) = (RESTART_MIN, 0);
            }
            failures += 1;
            if failures >= ATTEMPTS {
                self.refuse_all(&refusal);
            }
            self.rest(pause).await;
            pause = (pause * 2).min(RESTART_MAX);
        }
    }

    /// Waits, or shorter if somebody asks.
    async fn rest(&mut self, pause: Duration) {
        tokio::select! {
            () = sleep(pause) => {}
            Some(request) = self.requests.recv() => self.wait(request),
        }
        sleep(RESTART_MIN).await;
    }

    /// Remembers who waits while there is no kernel.
    fn wait(&mut self, request: Request) {
        if let Request::Kernel(reply) = request {
            self.waiting.push_back(reply);
        }
    }

    fn refuse_all(&mut self, refusal: &Refusal) {
        while let Ok(request) = self.requests.try_recv() {
            self.wait(request);
        }
        for reply in self.waiting.drain(..) {
            let _ = reply.send(Err(refusal.clone()));
        }
    }

    fn set_standing_by(&mut self, kernel: Option<Kernel>) {
        self.ready.store(kernel.is_some(), Ordering::Relaxed);
        self.standing_by = kernel;
    }

    /// Serves requests until the zygote ends; gives the reason.
    async fn live(&mut self, mut zygote: Zygote) -> String {
        loop {
            match zygote.next().await {
                Ok(ZygoteMessage::Ready) => break,
                Ok(_) => {}
                Err(reason) => return reason,
            }
        }
        let (announce, born) = mpsc::unbounded_channel();
        let mut life = Life {
            zygote,
            births: HashMap::new(),
            born,
            announce,
            unborn: 0,
            stillborn: 0,
            refill_at: Some(Instant::now()),
        };
        loop {
            if let Err(reason) = self.step(&mut life).await {
                return reason;
            }
        }
    }

    async fn step(&mut self, life: &mut Life) -> Result<(), String> {
        tokio::select! {
            message = life.zygote.next() => life.take(message?),
            Some(request) = self.requests.recv() => match request {
                Request::Kernel(reply) => self.serve(reply, life),
                Request::Rehearsal => self.rehearse(life).await,
                Request::End(done) => self.end_standing_by(done, life),
            },
            Some(kernel) = life.born.recv() => self.receive(kernel, life),
            () = at(life.refill_at), if self.standing_by.is_none() => {
                life.refill_at = None;
                if life.unborn == 0 {
                    self.ask(life).await?;
                }
            }
            Err(_) = alive(&mut self.standing_by) => {
                self.set_standing_by(None);
                life.refill_at = Some(Instant::now() + REFILL_AFTER);
            }
        }
        while life.unborn < self.waiting.len() {
            self.ask(life).await?;
        }
        Ok(())
    }

    /// Asks for a kernel. A zygote that cannot be asked is replaced; whoever waits goes on waiting.
    async fn ask(&mut self, life: &mut Life) -> Result<(), String> {
        life.ask().await.map_err(|error| format!("the zygote of the Python kernels cannot be asked for one: {error}"))
    }

    /// A kernel that cannot be told has ended, and is found out by its messages.
    async fn rehearse(&mut self, life: &mut Life) {
        match &mut self.standing_by {
            Some(kernel) => drop(kernel.rehearse().await),
            // The clock of a copy has jumped.
            None => life.refill_at = Some(Instant::now() + REFILL_AFTER_COPY),
        }
    }

    fn end_standing_by(&mut self, done: oneshot::Sender<()>, life: &mut Life) {
        life.refill_at = Some(Instant::now() + REFILL_AFTER_COPY);
        if let Some(kernel) = self.standing_by.take() {
            self.set_standing_by(None);
            tokio::spawn(async move {
                kernel.end().await;
                let _ = done.send(());
            });
        }
    }

    fn serve(&mut self, reply: Reply, life: &mut Life) {
        if let Some(kernel) = self.standing_by.take() {
            self.set_standing_by(None);
            life.refill_at = Some(Instant::now() + REFILL_AFTER);
            if let Err(Ok(kernel)) = reply.send(Ok(kernel)) {
                self.set_standing_by(Some(kernel));
            }
        } else {
            self.waiting.push_back(reply);
        }
    }

    fn receive(&mut self, kernel: io::Result<Kernel>, life: &mut Life) {
        life.unborn = life.unborn.saturating_sub(1);
        let mut kernel = match kernel {
            Ok(kernel) => kernel,
            Err(error) => {
                life.stillborn += 1;
                if life.stillborn >= ATTEMPTS {
                    self.refuse_all(&Refusal::from_io("a Python kernel did not start", &error));
                }
                life.refill_at = Some(Instant::now() + REFILL_AFTER);
                return;
            }
        };
        life.stillborn = 0;
        while let Some(reply) = self.waiting.pop_front() {
            match reply.send(Ok(kernel)) {
                Ok(()) => {
                    life.refill_at = Some(Instant::now() + REFILL_AFTER);
                    return;
                }
                Err(Ok(returned)) => kernel = returned,
                Err(Err(_)) => return,
            }
        }
        if self.standing_by.is_none() {
            self.set_standing_by(Some(kernel));
        }
    }
}

/// Resolves when the kernel that stands by is gone.
async fn alive(kernel: &mut Option<Kernel>) -> io::Result<()> {
    match kernel {
        Some(kernel) => loop {
            kernel.next().await?;
        },
        None => std::future::pending().await,
    }
}

impl Life {
    /// Asks the zygote for a kernel.
    async fn ask(&mut self) -> io::Result<()> {
        let id = Uuid::new_v4().simple().to_string();
        let (ends, far) = Ends::new()?;
        self.zygote.fork(&id, DEFAULT_CWD, &far).await?;
        self.unborn += 1;
        self.births.insert(id, Birth { ends: Some(ends), ended: watch::Sender::new(None) });
        Ok(())
    }

    fn take(&mut self, message: ZygoteMessage) {
        match message {
            ZygoteMessage::Forked { id, pid } => self.forked(&id, pid),
            ZygoteMessage::ForkFailed { id, message } => {
                if self.births.remove(&id).is_some() {
                    let _ = self.announce.send(Err(io::Error::other(message)));
                }
            }
            ZygoteMessage::Exited { id, exit_code } => {
                if let Some(birth) = self.births.remove(&id) {
                    birth.ended.send_replace(Some(exit_code));
                }
            }
            ZygoteMessage::Ready | ZygoteMessage::Unknown => {}
        }
    }

    fn forked(&mut self, id: &str, pid: i32) {
        let Some(birth) = self.births.get_mut(id) else { return };
        let Some(ends) = birth.ends.take() else { return };
        let mut kernel = Kernel::new(pid, Arc::clone(&self.zygote.namespace), ends, birth.ended.subscribe());
        let announce = self.announce.clone();
        tokio::spawn(async move {
            let outcome = kernel.become_ready().await;
            let _ = announce.send(outcome.map(|()| kernel));
        });
    }
}
