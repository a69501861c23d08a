//! What the host lends to a build: its rights, commands, mirrors, proxies and pip configuration.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Commands that a build runs, and the Debian package of each.
pub const BUILD_COMMANDS: [(&str, &str); 5] = [
    ("mmdebstrap", "mmdebstrap"),
    ("mkfs.erofs", "erofs-utils"),
    ("unshare", "util-linux"),
    ("chroot", "coreutils"),
    ("cp", "coreutils"),
];

/// Commands that need real root, as they mount and make device files.
pub(crate) const ROOT_COMMANDS: &str = "mmdebstrap, unshare --mount, chroot";

/// Variables for pip and for proxies that a build passes on.
const PASSED_VARIABLES: [&str; 14] = [
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "PIP_DEFAULT_TIMEOUT",
    "PIP_EXTRA_INDEX_URL",
    "PIP_INDEX_URL",
    "PIP_PROXY",
    "PIP_RETRIES",
    "PIP_TIMEOUT",
    "PIP_TRUSTED_HOST",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// True for root of the machine, false for an ordinary user and for root of a user namespace.
pub fn is_real_root() -> bool {
    let whole = |map: String| map.split_whitespace().eq(["0", "0", "4294967295"]);
    nix::unistd::geteuid().is_root() && fs::read_to_string("/proc/self/uid_map").is_ok_and(whole)
}

/// Those of [`BUILD_COMMANDS`] that are not installed, with their packages.
pub fn missing_commands() -> Vec<(&'static str, &'static str)> {
    BUILD_COMMANDS.into_iter().filter(|(command, _)| !is_installed(command)).collect()
}

fn is_installed(command: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    env::split_paths(&path).chain(usual).any(|folder| folder.join(command).is_file())
}

/// Environment for programs of a build, from the host's.
pub(crate) fn passed_environment() -> Vec<(&'static str, String)> {
    PASSED_VARIABLES.into_iter().filter_map(|name| env::var(name).ok().map(|value| (name, value))).collect()
}

/// pip's configuration of the machine, and of the user (or `PIP_CONFIG_FILE`).
pub(crate) fn pip_configurations() -> (Option<PathBuf>, Option<PathBuf>) {
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let chosen = env::var_os("PIP_CONFIG_FILE").map(PathBuf::from);
    let user = chosen
        .into_iter()
        .chain([home.join(".config/pip/pip.conf"), home.join(".pip/pip.conf")])
        .find(|path| path.is_file());
    (Some(PathBuf::from("/etc/pip.conf")).filter(|path| path.is_file()), user)
}

/// The host's sources of a Debian suite, as lines of a sources.list; empty if the host is another system or another suite.
pub(crate) fn mirrors(suite: &str) -> Vec<String> {
    let format = "$(REPO_URI) $(RELEASE) $(COMPONENT)";
    let output = Command::new("apt-get").args(["indextargets", "--format", format, "Created-By: Packages"]).output();
    output.map(|output| select_mirrors(suite, &String::from_utf8_lossy(&output.stdout))).unwrap_or_default()
}

fn select_mirrors(suite: &str, targets: &str) -> Vec<String> {
    let releases = [suite.to_owned(), format!("{suite}-updates"), format!("{suite}-security")];
    let mut mirrors: Vec<String> = targets
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (uri, release, component) = (words.next()?, words.next()?, words.next()?);
            (releases.iter().any(|known| known == release) && component == "main" && !uri.starts_with("file:"))
                .then(|| format!("deb {uri} {release} main"))
        })
        .collect();
    mirrors.sort();
    mirrors.dedup();
    if mirrors.iter().any(|line| line.ends_with(&format!(" {suite} main"))) { mirrors } else { Vec::new() }
}

/// Options that give mmdebstrap the proxies that the host's apt is configured with.
pub(crate) fn apt_proxies() -> Vec<String> {
    let output = Command::new("apt-config").args(["dump", "Acquire::http::Proxy", "Acquire::https::Proxy"]).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines()
        .filter(|line| line.starts_with("Acquire::") && !line.contains("\"\""))
        .map(|line| format!("--aptopt={line}"))
        .collect()
}

/// A line of a sources.list without user and password.
pub(crate) fn without_credentials(line: &str) -> String {
    line.split(' ')
        .map(|word| match word.split_once("://") {
            Some((scheme, rest)) => match rest.split_once('/') {
                Some((authority, path)) => {
                    format!("{scheme}://{}/{path}", authority.rsplit('@').next().unwrap_or_default())
                }
                None => format!("{scheme}://{}", rest.rsplit('@').next().unwrap_or_default()),
            },
            None => word.to_owned(),
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// Bytes free for this process on the disk of `folder`, or of its nearest parent that exists.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let existing = folder.ancestors().find(|path| path.exists())?;
    let disk = nix::sys::statvfs::statvfs(existing).ok()?;
    Some(disk.blocks_available() * disk.fragment_size())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_suite_of_the_template_is_taken_from_the_host() {
        let targets = "http://mirror.example/debian/ bookworm main\nhttp://mirror.example/debian/ bookworm-updates main\n\
             http://mirror.example/debian/ bookworm contrib\nhttp://other.example bookworm-pgdg main\nhttp://mirror.example/debian/ bookworm main\n";
        assert_eq!(
            select_mirrors("bookworm", targets),
            [
                "deb http://mirror.example/debian/ bookworm main",
                "deb http://mirror.example/debian/ bookworm-updates main"
            ]
        );
        assert!(select_mirrors("trixie", targets).is_empty());
        assert!(select_mirrors("bookworm", "http://m.example bookworm-updates main\n").is_empty());
    }

    #[test]
    fn credentials_of_a_mirror_stay_out_of_the_template() {
        assert_eq!(
            without_credentials("deb https://user:p@ss@mirror.example/debian bookworm main"),
            "deb https://mirror.example/debian bookworm main"
        );
        assert_eq!(
            without_credentials("deb http://u@mirror.example bookworm main"),
            "deb http://mirror.example bookworm main"
        );
        assert_eq!(
            without_credentials("deb http://mirror.example/a@b bookworm main"),
            "deb http://mirror.example/a@b bookworm main"
        );
    }

    #[test]
    fn free_space_is_asked_where_the_folder_will_be() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_bytes(&folder.path().join("not/there/yet")).unwrap() > 0);
    }
}
