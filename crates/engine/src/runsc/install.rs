//! Installing `runsc` into the home: the official release if it can be reached, else a build with Go.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use std::{env, error::Error};

use pandastack_protocol::env_vars;
use sha2::{Digest, Sha512};
use tokio::process::Command;

use super::{FoundRunsc, GO_MODULE_VERSION, PINNED_VERSION, RunscError, probe};
use crate::home::Home;

/// Where the project publishes its releases.
const OFFICIAL_RELEASES: &str = "https://storage.googleapis.com/gvisor/releases/release/latest";

/// Longest binary that is taken, in bytes.
const MAX_BINARY: u64 = 512 << 20;

/// Longest checksum file that is taken, in bytes.
const MAX_CHECKSUM: u64 = 4096;

/// How long connecting to the release server, and each wait for more of the file, may take.
const NETWORK_PATIENCE: Duration = Duration::from_secs(15);

/// Lines of Go's output that an error shows.
const SHOWN_LINES: usize = 3;

/// Where `runsc` is taken from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallOptions {
    /// URL below which `ARCHITECTURE/runsc` and `ARCHITECTURE/runsc.sha512` lie. Default: `PANDASTACK_RUNSC_URL`, else the latest official release.
    pub releases: String,
    /// The Go command that builds it if there is no release to be had. Default `go`.
    pub go: PathBuf,
}

impl Default for InstallOptions {
    fn default() -> Self {
        let releases = env::var(env_vars::RUNSC_URL).ok().filter(|url| !url.is_empty());
        Self { releases: releases.unwrap_or_else(|| OFFICIAL_RELEASES.to_owned()), go: "go".into() }
    }
}

/// Installs `runsc` as `$PANDASTACK_HOME/bin/runsc` and gives it. A binary that was there is replaced at the very end.
///
/// # Errors
/// [`RunscError::Install`] with the reason of each way that was tried.
pub async fn install(
    home: &Home,
    options: &InstallOptions,
    progress: &(dyn Fn(&str) + Send + Sync),
) -> Result<FoundRunsc, RunscError> {
    let work = home.bin().join(".install");
    let _ = fs::remove_dir_all(&work);
    fs::create_dir_all(&work).map_err(RunscError::file("make folder", &work))?;
    let outcome = download_or_build(&work, options, progress).await;
    let outcome = outcome.and_then(|found| {
        let path = home.bin().join("runsc");
        fs::rename(&found.path, &path).map_err(RunscError::file("write", &path))?;
        Ok(FoundRunsc { path, ..found })
    });
    let _ = fs::remove_dir_all(&work);
    outcome
}

async fn download_or_build(
    work: &Path,
    options: &InstallOptions,
    progress: &(dyn Fn(&str) + Send + Sync),
) -> Result<FoundRunsc, RunscError> {
    progress("downloading runsc");
    let download = match download(work, &options.releases).await {
        Ok(path) => probe(&path).await,
        Err(reason) => Err(reason),
    };
    let download = match download {
        Ok(found) => return Ok(found),
        Err(reason) => reason,
    };
    progress(&format!(
        "no release to be had ({download}); building runsc {PINNED_VERSION} with Go, which takes some minutes"
    ));
    let build = match build(work, &options.go).await {
        Ok(path) => probe(&path).await,
        Err(reason) => Err(reason),
    };
    build.map_err(|build| RunscError::Install {
        version: PINNED_VERSION.to_owned(),
        reason: format!("download: {download}; build with Go: {build}; install Go 1.26.3 or newer, or set PANDASTACK_RUNSC to a runsc binary"),
    })
}

/// Fetches the binary and checks its SHA-512.
async fn download(work: &Path, releases: &str) -> Result<PathBuf, String> {
    // Another part of the process may have chosen a provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .connect_timeout(NETWORK_PATIENCE)
        .read_timeout(NETWORK_PATIENCE)
        .build()
        .map_err(|error| chain(&error))?;
    let url = format!("{}/{}/runsc", releases.trim_end_matches('/'), env::consts::ARCH);

    let mut checksum = Vec::new();
    fetch(&client, &format!("{url}.sha512"), MAX_CHECKSUM, &mut checksum).await?;
    let expected =
        String::from_utf8_lossy(&checksum).split_whitespace().next().unwrap_or_default().to_ascii_lowercase();

    let path = work.join("runsc");
    let file = File::create(&path).map_err(|error| error.to_string())?;
    let mut hashing = Hashing { file, hash: Sha512::new() };
    fetch(&client, &url, MAX_BINARY, &mut hashing).await?;
    let found: String = hashing.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if found != expected {
        return Err(format!("SHA-512 of `{url}` is `{found}`, not `{expected}`"));
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(|error| error.to_string())?;
    Ok(path)
}

async fn fetch(client: &reqwest::Client, url: &str, limit: u64, target: &mut impl Write) -> Result<(), String> {
    let response = client.get(url).send().await.and_then(reqwest::Response::error_for_status);
    let mut response = response.map_err(|error| chain(&error))?;
    let mut length = 0;
    while let Some(chunk) = response.chunk().await.map_err(|error| chain(&error))? {
        length += chunk.len() as u64;
        if length > limit {
            return Err(format!("`{url}` is longer than {limit} bytes"));
        }
        target.write_all(&chunk).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Hashes what is written to a file.
struct Hashing {
    file: File,
    hash: Sha512,
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_all(bytes)?;
        self.hash.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Builds the pinned version from the Go module. It must be static: `runsc` starts itself in an empty root.
async fn build(work: &Path, go: &Path) -> Result<PathBuf, String> {
    let flags = format!("-ldflags=-s -w -X gvisor.dev/gvisor/runsc/version.version={PINNED_VERSION}");
    let mut command = Command::new(go);
    command.args(["install", &flags, &format!("gvisor.dev/gvisor/runsc@{GO_MODULE_VERSION}")]);
    command.env("CGO_ENABLED", "0").env("GOBIN", work).env_remove("GOOS").env_remove("GOARCH").env_remove("GOFLAGS");
    // A go.mod or go.work of the current folder is none of its business.
    command.current_dir(work).env("GOWORK", "off").stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.map_err(|error| format!("cannot start `{}` ({error})", go.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let lines: Vec<&str> = said.lines().collect();
        return Err(lines[lines.len().saturating_sub(SHOWN_LINES)..].join(" | "));
    }
    Ok(work.join("runsc"))
}

/// An error with its causes, on one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests;
