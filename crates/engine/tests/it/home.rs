//! A private home for each test, with the templates of the home that was set up for tests.

use std::future::Future;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use pandastack_engine::cgroup::Cgroups;
use pandastack_engine::engine::{Engine, EngineConfig};
use pandastack_engine::guest::{FrameStream, GuestClient};
use pandastack_engine::home::Home;
use pandastack_engine::{runsc, template};
use pandastack_guest_protocol::context::{CreateContext, End, RunRequest};
use pandastack_guest_protocol::exec::{ExecRequest, Exit};
use pandastack_guest_protocol::frame::Kind;
use pandastack_protocol::sandbox::{CreateSandbox, SandboxInfo};

/// A home that goes away with everything in it.
pub(crate) struct TestHome {
    folder: tempfile::TempDir,
    runsc: runsc::FoundRunsc,
}

impl TestHome {
    /// A new home, or a printed reason why there is none.
    async fn new() -> Option<Self> {
        let Some(shared) = std::env::var_os("PANDASTACK_TEST_HOME").map(PathBuf::from) else {
            return skip("PANDASTACK_TEST_HOME is not set");
        };
        let shared = Home::at(shared).unwrap();
        if let Err(error) = template::find(&shared, "code-interpreter") {
            return skip(&error.to_string());
        }
        let runsc = match runsc::find(&shared).await {
            Ok(runsc) => runsc,
            Err(error) => return skip(&error.to_string()),
        };
        let folder = tempfile::Builder::new().prefix("ps").tempdir_in("/tmp").unwrap();
        symlink(std::fs::canonicalize(shared.templates()).unwrap(), folder.path().join("templates")).unwrap();
        Some(Self { folder, runsc })
    }

    pub(crate) fn home(&self) -> Home {
        Home::at(self.folder.path()).unwrap()
    }

    pub(crate) fn config(&self) -> EngineConfig {
        EngineConfig::new(self.home(), self.runsc.clone())
    }

    pub(crate) async fn open(&self) -> Engine {
        Engine::open(self.config()).await.unwrap()
    }

    /// What is left of sandboxes: folders, and files of `runsc`.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let names = |folder: PathBuf| {
            std::fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().path().display().to_string())
                .collect::<Vec<_>>()
        };
        let mut left = names(self.home().sandboxes());
        left.extend(names(self.home().run()));
        left.extend(processes_with(&self.folder.path().display().to_string()));
        left.extend(Cgroups::find(&self.home(), 0).ids());
        left
    }

    /// How many processes of the host belong to sandboxes of this home.
    pub(crate) fn processes(&self) -> usize {
        let cgroups = Cgroups::find(&self.home(), 0);
        let ids = names_in(&self.home().sandboxes());
        ids.iter().map(|id| cgroups.group(id).pids().len()).sum()
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn skip(reason: &str) -> Option<TestHome> {
    println!("skipped: {reason}");
    None
}

/// Runs a test with a home, and deletes all sandboxes of that home afterwards, whatever came of the test.
pub(crate) fn with_home<F: Future<Output = ()>>(test: impl FnOnce(&'static TestHome) -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let Some(home) = runtime.block_on(TestHome::new()) else { return };
    let home: &'static TestHome = Box::leak(Box::new(home));
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runtime.block_on(test(home))));
    runtime.shutdown_timeout(std::time::Duration::from_secs(5));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // An engine of a failed test may still hold the lock in this process; its sandboxes are ended one by one.
        let runsc = runsc::Runsc::new(&home.runsc.path, home.home().run());
        for entry in std::fs::read_dir(home.home().sandboxes()).into_iter().flatten().flatten() {
            let _ = runsc.delete(&entry.file_name().to_string_lossy(), true).await;
        }
        let cgroups = Cgroups::find(&home.home(), 0);
        for id in cgroups.ids() {
            cgroups.remove(&id).await.unwrap();
        }
    });
    let _ = std::fs::remove_dir_all(home.folder.path());
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}

/// Command lines of processes that name `text`.
fn processes_with(text: &str) -> Vec<String> {
    let commands = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let commands = commands.map(|command| String::from_utf8_lossy(&command).replace('\0', " "));
    commands.filter(|command| command.contains(text)).collect()
}

pub(crate) async fn create(engine: &Engine) -> SandboxInfo {
    engine.create_sandbox(CreateSandbox::default()).await.unwrap()
}

/// Makes a Python context, or gets one that was inherited.
pub(crate) async fn python(engine: &Engine, sandbox_id: &str) -> String {
    let request = CreateContext { language: "python".to_owned(), ..CreateContext::default() };
    engine.guest(sandbox_id).await.unwrap().create_context(&request).await.unwrap().id
}

/// What a command or a cell said, and its last frame.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) results: Vec<serde_json::Value>,
    pub(crate) error: Option<serde_json::Value>,
    pub(crate) last: serde_json::Value,
}

pub(crate) async fn collect(mut stream: FrameStream) -> Result<Output, pandastack_engine::error::EngineError> {
    let mut output = Output::default();
    while let Some(frame) = stream.next().await {
        let (kind, payload) = frame?;
        match kind {
            Kind::Stdout => output.stdout.push_str(&String::from_utf8_lossy(&payload)),
            Kind::Stderr => output.stderr.push_str(&String::from_utf8_lossy(&payload)),
            Kind::Result => output.results.push(serde_json::from_slice(&payload).unwrap()),
            Kind::Error => output.error = Some(serde_json::from_slice(&payload).unwrap()),
            Kind::Exit | Kind::End => output.last = serde_json::from_slice(&payload).unwrap(),
            Kind::Clear | Kind::Failure => {}
        }
    }
    Ok(output)
}

/// Runs a shell command to its end.
pub(crate) async fn shell(guest: &GuestClient, command: &str) -> (Exit, Output) {
    let request = ExecRequest { command: Some(command.to_owned()), ..ExecRequest::default() };
    let output = collect(guest.exec(&request).await.unwrap()).await.unwrap();
    (serde_json::from_value(output.last.clone()).unwrap(), output)
}

/// Runs a cell to its end.
pub(crate) async fn cell(guest: &GuestClient, context: &str, code: &str) -> (End, Output) {
    let request = RunRequest { code: code.to_owned(), ..RunRequest::default() };
    let output = collect(guest.run(context, &request).await.unwrap()).await.unwrap();
    (serde_json::from_value(output.last.clone()).unwrap(), output)
}
