//! Baking: booting a template once and keeping the state of the warm sandbox.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;

use super::base::remove;
use super::metadata::{CHECKPOINT_FILES, sync};
use super::{TemplateError, WarmUp};
use crate::home::{Home, create_private};
use crate::runsc::{FoundRunsc, GuestStdio, Runsc, SandboxSpec, write_bundle};

/// Id of the sandbox that is baked. There is at most one, in a `runsc` root of its own, so that nobody takes it for a sandbox of a user.
const SANDBOX_ID: &str = "template";

/// How much of the agent's last words an error shows, in bytes.
const KEPT_STDERR: usize = 2000;

/// Boots `spec`, waits for `warm_up` and writes the checkpoint into the new folder `checkpoint`. Gives the time to warm.
///
/// # Errors
/// If the sandbox does not start, does not get warm, or the checkpoint cannot be written. No sandbox and no `checkpoint` is left then.
pub async fn bake(
    home: &Home,
    runsc: &FoundRunsc,
    spec: &SandboxSpec,
    warm_up: &impl WarmUp,
    checkpoint: &Path,
) -> Result<Duration, TemplateError> {
    clean_bake(home, runsc).await?;
    let sandbox = prepare(home, runsc, spec)?;
    let outcome = boot_and_save(&sandbox, warm_up, checkpoint).await;
    let cleaned = clean_bake(home, runsc).await;
    let elapsed = outcome?;
    cleaned?;
    Ok(elapsed)
}

/// Ends the sandbox of a bake that was killed, if there is one.
///
/// # Errors
/// If `runsc` fails or the folder cannot be removed.
pub async fn clean_bake(home: &Home, runsc: &FoundRunsc) -> Result<(), TemplateError> {
    let folder = bake_folder(home);
    if folder.exists() {
        sandbox_runsc(&folder, runsc).delete(SANDBOX_ID, true).await?;
        remove(&folder)?;
    }
    Ok(())
}

struct BakedSandbox {
    runsc: Runsc,
    bundle: PathBuf,
    stdio: GuestStdio,
}

fn bake_folder(home: &Home) -> PathBuf {
    home.root().join("bake")
}

fn sandbox_runsc(folder: &Path, runsc: &FoundRunsc) -> Runsc {
    Runsc::new(&runsc.path, folder.join("run"))
}

fn prepare(home: &Home, runsc: &FoundRunsc, spec: &SandboxSpec) -> Result<BakedSandbox, TemplateError> {
    let folder = bake_folder(home);
    let bundle = folder.join("bundle");
    for path in [&folder, &bundle, &folder.join("run")] {
        create_private(path).map_err(TemplateError::file("make folder", path))?;
    }
    write_bundle(&bundle, spec)?;
    let stdio = GuestStdio::of(&folder);
    stdio.make()?;
    Ok(BakedSandbox { runsc: sandbox_runsc(&folder, runsc), bundle, stdio })
}

async fn boot_and_save(
    sandbox: &BakedSandbox,
    warm_up: &impl WarmUp,
    checkpoint: &Path,
) -> Result<Duration, TemplateError> {
    let stderr = Stderr::follow(&sandbox.stdio)?;
    let started = Instant::now();
    sandbox.runsc.create(SANDBOX_ID, &sandbox.bundle, &sandbox.stdio, None).await?;
    sandbox.runsc.start(SANDBOX_ID).await?;
    warm_up.warm_up(&sandbox.stdio).await.map_err(|reason| TemplateError::WarmUp { reason, stderr: stderr.text() })?;
    let elapsed = started.elapsed();
    save(&sandbox.runsc, checkpoint).await?;
    Ok(elapsed)
}

/// Writes the checkpoint next to where it belongs and moves it there once it is whole.
async fn save(runsc: &Runsc, checkpoint: &Path) -> Result<(), TemplateError> {
    let partial = checkpoint.with_extension("partial");
    remove(&partial)?;
    create_private(&partial).map_err(TemplateError::file("make folder", &partial))?;
    let saved = async {
        runsc.checkpoint(SANDBOX_ID, &partial, false).await?;
        CHECKPOINT_FILES.iter().try_for_each(|name| sync(&partial.join(name)))?;
        sync(&partial)?;
        fs::rename(&partial, checkpoint).map_err(TemplateError::file("make folder", checkpoint))
    };
    let saved: Result<(), TemplateError> = saved.await;
    if saved.is_err() {
        remove(&partial)?;
    }
    saved
}

/// The end of what comes out of the agent's stderr, which must be read so that the agent never waits for room in the pipe.
struct Stderr {
    text: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Stderr {
    fn follow(stdio: &GuestStdio) -> Result<Self, TemplateError> {
        let mut options = pipe::OpenOptions::new();
        let mut pipe = options
            .read_write(true)
            .open_receiver(&stdio.stderr)
            .map_err(TemplateError::file("open pipe", &stdio.stderr))?;
        let text = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&text);
        let reader = tokio::spawn(async move {
            let mut buffer = [0; 4096];
            while let Ok(length) = pipe.read(&mut buffer).await {
                let Ok(mut kept) = kept.lock() else { return };
                kept.extend_from_slice(&buffer[..length]);
                let surplus = kept.len().saturating_sub(KEPT_STDERR);
                kept.drain(..surplus);
            }
        });
        Ok(Self { text, reader })
    }

    fn text(&self) -> String {
        self.text.lock().map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
    }
}

impl Drop for Stderr {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

#[cfg(test)]
mod tests;
