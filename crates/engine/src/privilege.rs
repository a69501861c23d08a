//! Running as an ordinary user.
//!
//! `runsc` needs to be root at least in a user namespace. An ordinary user's engine enters one of its own, in which it is root and owns nothing but
//! what the user owns. Where that is forbidden the engine does not start: it never runs code without isolation.

use std::fs;

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Gid, Uid};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_to_do() {
        let text = refusal(&std::io::Error::from_raw_os_error(libc::EPERM)).to_string();
        assert!(text.contains("user namespaces") && text.contains("run the engine as root"), "{text}");
    }
}
