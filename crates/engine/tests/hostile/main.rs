//! Programs that use up what they can, each beside a healthy sandbox that must go on answering, and with nothing left of them afterwards.
//!
//! `PANDASTACK_TEST_HOSTILE_RUNS` (default 1) says how often each is run, `PANDASTACK_TEST_HOSTILE_FLOOD_MB` (default 256)
//! how many MiB the flood has, `PANDASTACK_TEST_HOSTILE_PATIENCE_MS` (default 8000) within how many milliseconds a cell of the healthy sandbox must end.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod files;
#[path = "../it/home.rs"]
#[allow(dead_code, reason = "the other tests of the engine use the rest")]
mod home;
mod reach;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pandastack_engine::engine::{Engine, EngineConfig};
use pandastack_engine::error::EngineError;
use pandastack_engine::guest::GuestClient;
use pandastack_guest_protocol::exec::{ExecRequest, Exit};
use pandastack_protocol::limits::SandboxLimits;
use pandastack_protocol::sandbox::CreateSandbox;

use home::{Output, TestHome, cell, collect, create, python, shell, with_home};

/// Longest time that a cell of the healthy sandbox may take, in milliseconds. Alone on a machine it is below a second; others may run beside these tests.
const PATIENCE_MS: u64 = 8000;

/// What may stay of memory that is accounted to sandboxes, in MiB.
const MEMORY_NOISE: u64 = 64;

/// Little of everything, so that reaching it is quick.
fn little() -> SandboxLimits {
    SandboxLimits {
        memory_mb: Some(256),
        disk_gb: Some(1),
        processes: Some(128),
        open_files: Some(4096),
        ..SandboxLimits::default()
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The hostile sandbox.
struct Hostile {
    engine: Engine,
    id: String,
    guest: GuestClient,
    context: String,
    home: &'static TestHome,
}

impl Hostile {
    async fn make(home: &'static TestHome, engine: &Engine) -> Self {
        let request = CreateSandbox { limits: Some(little()), ..CreateSandbox::default() };
        let id = engine.create_sandbox(request).await.unwrap().id;
        let guest = engine.guest(&id).await.unwrap();
        Self { engine: engine.clone(), context: python(engine, &id).await, guest, id, home }
    }

    async fn shell(&self, command: &str) -> (Exit, Output) {
        shell(&self.guest, command).await
    }

    /// Runs a command for a while, whatever comes of it.
    async fn shell_for(&self, command: &str, seconds: u64) {
        let request = ExecRequest {
            command: Some(command.to_owned()),
            timeout_ms: Some(seconds * 1000),
            ..ExecRequest::default()
        };
        if let Ok(frames) = self.guest.exec(&request).await {
            let _ = collect(frames).await;
        }
    }

    /// Runs a cell that raises, and gives `Name: message`.
    async fn raised(&self, code: &str) -> String {
        let (_, output) = cell(&self.guest, &self.context, code).await;
        let error = output.error.unwrap_or_else(|| panic!("no error: {} {}", output.stdout, output.stderr));
        format!("{}: {}", error["name"].as_str().unwrap(), error["value"].as_str().unwrap())
    }

    async fn still_counts(&self) {
        let (_, output) = cell(&self.guest, &self.context, "6 * 7").await;
        assert_eq!(output.results[0]["data"]["text/plain"], "42", "{output:?}");
    }

    /// After its kernel may have been lost: the first cell may still tell that.
    async fn counts_again(&self) {
        for _ in 0..3 {
            let (_, output) = cell(&self.guest, &self.context, "6 * 7").await;
            if output.results.first().is_some_and(|result| result["data"]["text/plain"] == "42") {
                return;
            }
        }
        self.still_counts().await;
    }
}

/// Asks the healthy sandbox again and again, and gives the longest time that an answer took.
async fn keep_asking(guest: GuestClient, context: String, stop: Arc<AtomicBool>) -> Duration {
    let mut longest = Duration::ZERO;
    while !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        let (_, output) = cell(&guest, &context, "1 + 1").await;
        assert_eq!(output.results[0]["data"]["text/plain"], "2");
        longest = longest.max(began.elapsed());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    longest
}

/// One attack at a time: what is measured is what one does to its neighbours.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs an attack beside a healthy sandbox, and looks at what is left.
fn attack(name: &'static str, attack: impl AsyncFn(&Hostile)) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    with_home(|home| async move {
        let config = EngineConfig { ready_sandboxes: 0, blank_sandboxes: 0, ..home.config() };
        let engine = Engine::open(config).await.unwrap();
        let healthy = create(&engine).await;
        let context = python(&engine, &healthy.id).await;
        cell(&engine.guest(&healthy.id).await.unwrap(), &context, "1 + 1").await;
        // A kernel for the next context is made ready meanwhile.
        tokio::time::sleep(Duration::from_secs(1)).await;
        for _ in 0..number("PANDASTACK_TEST_HOSTILE_RUNS", 1) {
            let before = Host::look(home, &engine).await;
            let stop = Arc::new(AtomicBool::new(false));
            let guest = engine.guest(&healthy.id).await.unwrap();
            let asking = tokio::spawn(keep_asking(guest, context.clone(), Arc::clone(&stop)));
            let hostile = Hostile::make(home, &engine).await;
            let began = Instant::now();
            attack(&hostile).await;
            println!("{name}: {} ms", began.elapsed().as_millis());
            match engine.delete_sandbox(&hostile.id).await {
                Err(error) if error.status() != 404 => panic!("{error}"),
                _ => {}
            }
            stop.store(true, Ordering::Relaxed);
            let longest = asking.await.unwrap();
            println!("{name}: the healthy sandbox answered within {} ms", longest.as_millis());
            let patience = Duration::from_millis(number("PANDASTACK_TEST_HOSTILE_PATIENCE_MS", PATIENCE_MS));
            assert!(longest < patience, "{longest:?}");
            before.compare(&Host::look(home, &engine).await);
        }
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

/// What belongs to sandboxes on the host.
#[derive(Debug)]
struct Host {
    memory_mb: u64,
    processes: usize,
    files: usize,
    disk_bytes: u64,
}

impl Host {
    async fn look(home: &TestHome, engine: &Engine) -> Self {
        Self {
            memory_mb: engine.status().await.unwrap().memory_mb.unwrap_or_default(),
            processes: home.processes(),
            files: std::fs::read_dir("/proc/self/fd").unwrap().count(),
            disk_bytes: size_of(&home.home().sandboxes()) + size_of(&home.home().run()),
        }
    }

    fn compare(&self, after: &Self) {
        assert!(after.memory_mb <= self.memory_mb + MEMORY_NOISE, "{self:?} {after:?}");
        assert_eq!(after.processes, self.processes, "{self:?} {after:?}");
        assert!(after.files <= self.files + 2, "{self:?} {after:?}");
        assert_eq!(after.disk_bytes, self.disk_bytes, "{self:?} {after:?}");
    }
}

fn size_of(folder: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

#[test]
fn a_fork_bomb() {
    attack("fork bomb", async |hostile| {
        hostile.shell_for("bomb() { bomb | bomb & }; bomb; sleep 60", 3).await;
        let status = hostile.engine.status().await.unwrap();
        let usage = status.sandboxes.iter().find(|usage| usage.id == hostile.id).unwrap();
        assert!(usage.host_processes < 4 * 128 + 256, "{usage:?}");
    });
}

#[test]
fn a_fork_bomb_in_the_background() {
    attack("fork bomb in the background", async |hostile| {
        let command = "setsid bash -c 'bomb() { bomb | bomb & }; bomb; sleep 60' >/dev/null 2>&1 & exit 0";
        hostile.shell_for(command, 5).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        let status = hostile.engine.status().await.unwrap();
        let usage = status.sandboxes.iter().find(|usage| usage.id == hostile.id).unwrap();
        assert!(usage.host_processes < 4 * 128 + 256, "{usage:?}");
    });
}

#[test]
fn a_memory_bomb_of_a_cell() {
    attack("memory bomb of a cell", async |hostile| {
        let error = hostile.raised("hoard = []\nwhile True: hoard.append(bytearray(32 << 20))").await;
        assert!(error.starts_with("MemoryError"), "{error}");
        cell(&hostile.guest, &hostile.context, "del hoard").await;
        hostile.still_counts().await;
    });
}

#[test]
fn a_memory_bomb_of_a_command() {
    attack("memory bomb of a command", async |hostile| {
        let bomb = "python3 -c 'hoard = []\nwhile True: hoard.append(bytearray(32 << 20))'";
        let (exit, output) = hostile.shell(bomb).await;
        assert!(exit.exit_code == 137 || output.stderr.contains("MemoryError"), "{exit:?} {}", output.stderr);
        hostile.still_counts().await;
    });
}

#[test]
fn a_memory_bomb_of_shared_memory() {
    attack("memory bomb of shared memory", async |hostile| {
        // It escapes the limits of a process, so the group has to stop it: at the cost of its programs, or of the sandbox.
        let bomb = "python3 -c 'import mmap, os\nwhile True:\n  area = mmap.mmap(-1, 64 << 20)\n  area[:] = bytes(64 << 20)\n  os.fork() or area'";
        let request =
            ExecRequest { command: Some(bomb.to_owned()), timeout_ms: Some(30_000), ..ExecRequest::default() };
        match collect(hostile.guest.exec(&request).await.unwrap()).await {
            Ok(output) => println!("shared memory: {}", output.last),
            Err(EngineError::SandboxGone { reason, .. }) => {
                println!("shared memory: {reason}");
                assert!(reason.contains("memory limit of 256 MiB; it has no snapshot"), "{reason}");
            }
            Err(error) => panic!("{error}"),
        }
    });
}

#[test]
fn full_disks() {
    attack("full disks", async |hostile| {
        for path in ["/root", "/tmp", "/dev/shm", "/run"] {
            let (exit, output) = hostile.shell(&format!("dd if=/dev/zero of={path}/fill bs=1M")).await;
            assert_eq!(exit.exit_code, 1, "{path}");
            assert!(output.stderr.contains("No space left on device"), "{path}: {}", output.stderr);
        }
        hostile.still_counts().await;
        let (exit, _) = hostile.shell("rm /root/fill && echo x > /root/x").await;
        assert_eq!(exit.exit_code, 0);
    });
}

#[test]
fn open_files_without_end() {
    attack("open files", async |hostile| {
        let error = hostile.raised("files = []\nwhile True: files.append(open('/etc/passwd'))").await;
        assert_eq!(error, "OSError: [Errno 24] Too many open files: '/etc/passwd'");
        cell(&hostile.guest, &hostile.context, "del files").await;
        hostile.still_counts().await;
    });
}

#[test]
fn threads_without_end() {
    attack("threads", async |hostile| {
        let code = "import threading\nstop = threading.Event()\nfor _ in range(100_000): threading.Thread(target=stop.wait).start()";
        let error = hostile.raised(code).await;
        assert!(error.contains("can't start new thread"), "{error}");
        cell(&hostile.guest, &hostile.context, "stop.set()").await;
        hostile.still_counts().await;
    });
}

#[test]
fn a_flood_of_output() {
    attack("flood of output", async |hostile| {
        let bytes = number("PANDASTACK_TEST_HOSTILE_FLOOD_MB", 256) << 20;
        let request = ExecRequest { command: Some(format!("yes | head -c {bytes}")), ..ExecRequest::default() };
        let mut stream = hostile.guest.exec(&request).await.unwrap();
        let mut received = 0;
        while let Some(frame) = stream.next().await {
            let (kind, payload) = frame.unwrap();
            if kind == pandastack_guest_protocol::frame::Kind::Stdout {
                received += payload.len() as u64;
            }
        }
        assert_eq!(received, bytes);
        hostile.still_counts().await;
    });
}

#[test]
fn loops_on_all_processors() {
    attack("loops on all processors", async |hostile| {
        hostile.shell_for("for i in $(seq 64); do while :; do :; done & done; wait", 5).await;
        hostile.still_counts().await;
    });
}
