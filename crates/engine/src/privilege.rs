//! What the engine's process may do: as little as sandboxes need.
//!
//! `runsc` needs to be root at least in a user namespace. An ordinary user's engine enters one of its own, in which it is root and owns nothing but
//! what the user owns. Where that is forbidden the engine does not start: it never runs code without isolation.

use std::fs;

use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{Gid, Uid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};

use crate::doctor;
use crate::error::EngineError;

/// Enters a user namespace if this process is not root. To be called before any thread is started.
///
/// # Errors
/// Says which setting forbids it and how to change it.
pub fn enter_user_namespace() -> Result<(), EngineError> {
    let (uid, gid) = (Uid::effective(), Gid::effective());
    if uid.is_root() {
        return Ok(());
    }
    let entered = unshare(CloneFlags::CLONE_NEWUSER).map_err(std::io::Error::from).and_then(|()| {
        // Groups can only be mapped once the process has given up changing them.
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
        fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
    });
    entered.map_err(|error| refusal(&error))
}

fn refusal(error: &std::io::Error) -> EngineError {
    let advice = match doctor::user_namespaces_blocked_by() {
        Some(setting) => format!("enable them with `sudo sysctl -w {setting}`, or run the engine as root"),
        None => {
            "allow them in the container or security profile that this runs in, or run the engine as root".to_owned()
        }
    };
    EngineError::Internal(format!("sandboxes need user namespaces, which are not permitted ({error}); {advice}"))
}

/// What `runsc` and the files of the home and of control groups need. `runsc` makes namespaces and a root folder (`SYS_ADMIN`, `SYS_CHROOT`), maps
/// users, root among them (`SETUID`, `SETGID`, `SETFCAP`), and gives up what the sandbox does not need (`SETPCAP`). `KILL` ends sandboxes.
/// `DAC_OVERRIDE` is for a home, or a tree of control groups, that belongs to somebody else.
const KEPT: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::DAC_OVERRIDE);

/// Gives up what serving sandboxes does not need, for this process and all that it starts: capabilities, new privileges by programs that would
/// grant them, files that others can read, and images of memory. To be called before any thread is started.
///
/// # Errors
/// What the system said. Nothing that the process had not before is needed.
pub fn drop_unneeded() -> Result<(), EngineError> {
    umask(Mode::from_bits_truncate(0o077));
    let dropped = setrlimit(Resource::RLIMIT_CORE, 0, 0).map_err(std::io::Error::from).and_then(|()| {
        drop_capabilities()?;
        Ok(set_no_new_privs(true)?)
    });
    dropped.map_err(|error| EngineError::Internal(format!("cannot give up privileges: {error}")))
}

fn drop_capabilities() -> rustix::io::Result<()> {
    clear_ambient_capability_set()?;
    let had = capabilities(None)?;
    // The bounding set can only be changed by who may change capabilities; whoever may not has none to give on.
    if had.effective.contains(CapabilitySet::SETPCAP) {
        for unneeded in CapabilitySet::all().difference(KEPT).iter() {
            match remove_capability_from_bounding_set(unneeded) {
                // Not known to this kernel.
                Err(rustix::io::Errno::INVAL) => {}
                outcome => outcome?,
            }
        }
    }
    let (effective, permitted) = (had.effective.intersection(KEPT), had.permitted.intersection(KEPT));
    set_capabilities(None, CapabilitySets { effective, permitted, inheritable: CapabilitySet::empty() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_to_do() {
        let text = refusal(&std::io::Error::from_raw_os_error(libc::EPERM)).to_string();
        assert!(text.contains("user namespaces") && text.contains("run the engine as root"), "{text}");
    }
}
