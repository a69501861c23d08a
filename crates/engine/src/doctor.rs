//! What the local engine needs from this machine, and what to do about what is missing.

use std::fs;
use std::path::Path;

use pandastack_protocol::sandbox::DEFAULT_TEMPLATE;
use serde::{Deserialize, Serialize};

use crate::cgroup::Cgroups;
use crate::home::Home;
use crate::runsc;
use crate::template::{self, TemplateError};

/// Oldest Linux that sandboxes run on: a pidfd tells when one ends.
const OLDEST_KERNEL: (u32, u32) = (5, 3);

/// Memory below which sandboxes are likely to fail, and disk space below which templates and snapshots are, in bytes.
const LITTLE_MEMORY: u64 = 1 << 30;
const LITTLE_DISK: u64 = 2 << 30;

/// One requirement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What is required, such as `runsc`.
    pub name: String,
    /// How it stands.
    pub state: CheckState,
    /// What was found.
    pub found: String,
    /// What to do about it; empty if nothing.
    pub advice: String,
}

/// How a requirement stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    /// It is met.
    Ok,
    /// Not met; something works less well, or will not work later.
    Warning,
    /// Not met; sandboxes cannot run.
    Failed,
}

impl Check {
    fn ok(name: &str, found: impl Into<String>) -> Self {
        Self::with(name, CheckState::Ok, found, "")
    }

    fn with(name: &str, state: CheckState, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { name: name.to_owned(), state, found: found.into(), advice: advice.into() }
    }
}

/// Looks at every requirement; changes nothing.
pub async fn examine(home: &Home) -> Vec<Check> {
    if !cfg!(target_os = "linux") {
        let advice = "use a Linux machine or virtual machine, and set PANDASTACK_API to its address";
        return vec![Check::with("platform", CheckState::Failed, std::env::consts::OS, advice)];
    }
    let runsc = runsc::find(home).await;
    let template = check_template(home, runsc.as_ref().ok().map(|found| found.version.as_str()));
    vec![
        check_kernel(&read("/proc/sys/kernel/osrelease")),
        check_isolation(),
        check_home(home),
        check_runsc(runsc),
        template,
        check_groups(&Cgroups::find(home, u64::MAX >> 1).missing()),
        check_build_commands(&template::missing_commands()),
        check_memory(&read("/proc/meminfo")),
        check_disk(template::free_bytes(home.root())),
    ]
}

fn check_kernel(release: &str) -> Check {
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let (major, minor) = OLDEST_KERNEL;
    if version >= OLDEST_KERNEL {
        Check::ok("kernel", format!("Linux {release}"))
    } else {
        Check::with(
            "kernel",
            CheckState::Failed,
            format!("Linux {release}"),
            format!("use Linux {major}.{minor} or newer"),
        )
    }
}

fn check_isolation() -> Check {
    if nix::unistd::geteuid().is_root() {
        return Check::ok("isolation", "root");
    }
    match user_namespaces_blocked_by() {
        None => Check::ok("isolation", "user namespaces"),
        Some(setting) => Check::with(
            "isolation",
            CheckState::Failed,
            format!("not root, and user namespaces are disabled by {setting}"),
            format!("run as root, or enable them: `sudo sysctl -w {setting}`"),
        ),
    }
}

/// The setting that keeps ordinary users from making user namespaces, with the value that it should have.
pub(crate) fn user_namespaces_blocked_by() -> Option<&'static str> {
    let settings = [
        ("/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces=15000"),
        ("/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
        (
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    ];
    settings.into_iter().find(|(path, blocking, _)| read(path) == *blocking).map(|(_, _, setting)| setting)
}

fn check_home(home: &Home) -> Check {
    let found = home.root().display().to_string();
    match home.socket_excess() {
        0 => Check::ok("home", found),
        excess => Check::with(
            "home",
            CheckState::Failed,
            found,
            format!("sockets in it have too long a path: set PANDASTACK_HOME to one at least {excess} bytes shorter"),
        ),
    }
}

fn check_runsc(found: Result<runsc::FoundRunsc, runsc::RunscError>) -> Check {
    match found {
        Ok(found) => Check::ok("runsc", format!("{} ({})", found.path.display(), found.version)),
        Err(error) => Check::with("runsc", CheckState::Failed, error.to_string(), "run `pandastack engine setup`"),
    }
}

fn check_template(home: &Home, runsc_version: Option<&str>) -> Check {
    const NAME: &str = "template";
    let found = template::find(home, DEFAULT_TEMPLATE).and_then(|template| {
        if let Some(version) = runsc_version {
            template.verify_fits(&home.templates().join(&template.id), version)?;
        }
        template.verify_checkpoint()?;
        Ok(template)
    });
    match found {
        Ok(template) => Check::ok(
            NAME,
            format!(
                "{DEFAULT_TEMPLATE} ({}, {} MB)",
                template.id,
                (template.rootfs_bytes + template.checkpoint_bytes) >> 20
            ),
        ),
        Err(TemplateError::Unknown(name)) => {
            Check::with(NAME, CheckState::Failed, format!("{name} is not there"), "run `pandastack engine setup`")
        }
        Err(error) => Check::with(NAME, CheckState::Failed, error.to_string(), "run `pandastack template build`"),
    }
}

fn check_groups(missing: &[&str]) -> Check {
    const NAME: &str = "control groups";
    if missing.is_empty() {
        return Check::ok(NAME, "memory, pids, cpu");
    }
    let advice = "all processes of a sandbox together are bounded less well: run as root, or with \
                  `systemd-run --user --scope -p Delegate=yes pandastack serve`";
    Check::with(NAME, CheckState::Warning, format!("cannot be made for {}", missing.join(", ")), advice)
}

fn check_build_commands(missing: &[(&str, &str)]) -> Check {
    const NAME: &str = "template build";
    if missing.is_empty() {
        return Check::ok(NAME, "all commands are there");
    }
    let (commands, packages): (Vec<&str>, Vec<&str>) = missing.iter().copied().unzip();
    let advice = format!("only for building templates: `sudo apt-get install {}`", packages.join(" "));
    Check::with(NAME, CheckState::Warning, format!("missing: {}", commands.join(", ")), advice)
}

fn check_memory(meminfo: &str) -> Check {
    let available = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    check_amount("memory", available.map(|kib| kib << 10), LITTLE_MEMORY, "an idle sandbox takes about 100 MB")
}

fn check_disk(free: Option<u64>) -> Check {
    check_amount("disk", free, LITTLE_DISK, "the default template takes about 1.5 GB, and building it 5 GB")
}

fn check_amount(name: &str, amount: Option<u64>, little: u64, advice: &str) -> Check {
    match amount {
        None => Check::with(name, CheckState::Warning, "unknown", ""),
        Some(amount) if amount < little => {
            Check::with(name, CheckState::Warning, format!("{} MB free", amount >> 20), advice)
        }
        Some(amount) => Check::ok(name, format!("{} MB free", amount >> 20)),
    }
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_compared_by_number() {
        assert_eq!(check_kernel("6.18.44-fc").state, CheckState::Ok);
        assert_eq!(check_kernel("5.3").state, CheckState::Ok);
        let old = check_kernel("4.19.0-gvisor");
        assert_eq!((old.state, old.advice.as_str()), (CheckState::Failed, "use Linux 5.3 or newer"));
    }

    #[test]
    fn a_missing_command_names_its_package_and_only_warns() {
        let check = check_build_commands(&[("mkfs.erofs", "erofs-utils")]);
        assert_eq!(check.state, CheckState::Warning);
        assert!(
            check.found.contains("mkfs.erofs") && check.advice.contains("apt-get install erofs-utils"),
            "{check:?}"
        );
    }

    #[test]
    fn without_control_groups_there_is_a_warning_that_names_them() {
        assert_eq!(check_groups(&[]).state, CheckState::Ok);
        let check = check_groups(&["memory", "cpu"]);
        assert_eq!((check.state, check.found.as_str()), (CheckState::Warning, "cannot be made for memory, cpu"));
    }

    #[test]
    fn little_memory_or_disk_is_told() {
        assert_eq!(check_memory("MemTotal: 1 kB\nMemAvailable:  2097152 kB\n"), Check::ok("memory", "2048 MB free"));
        assert_eq!(check_memory("MemAvailable:  1024 kB\n").state, CheckState::Warning);
        assert_eq!(check_memory("").found, "unknown");
        assert_eq!(check_disk(Some(0)).state, CheckState::Warning);
    }

    #[tokio::test]
    async fn an_empty_home_lacks_the_template_and_every_failure_has_advice() {
        let folder = tempfile::tempdir().unwrap();
        let checks = examine(&Home::at(folder.path()).unwrap()).await;
        let template = checks.iter().find(|check| check.name == "template").unwrap();
        assert_eq!((template.state, template.advice.as_str()), (CheckState::Failed, "run `pandastack engine setup`"));
        assert!(checks.iter().all(|check| check.state != CheckState::Failed || !check.advice.is_empty()), "{checks:?}");
    }

    #[test]
    fn a_home_too_deep_for_sockets_fails() {
        let check = check_home(&Home::at(format!("/{}", "d".repeat(100))).unwrap());
        assert_eq!(check.state, CheckState::Failed);
        assert!(check.advice.contains("PANDASTACK_HOME"), "{check:?}");
    }
}
