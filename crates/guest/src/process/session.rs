//! Sessions: all that a kernel started and that did not leave it.

use nix::sys::signal::Signal;

use super::namespace::Namespace;

/// A session that forks faster than it is killed is left to the limits.
const ROUNDS: usize = 10;

/// Kills a session leader and every member of its session, by inner pid.
pub(crate) fn kill_session(namespace: &Namespace, leader: i32) {
    namespace.kill(leader, Signal::SIGKILL);
    for _ in 0..ROUNDS {
        let members = members(leader);
        if members.is_empty() {
            return;
        }
        for member in members {
            namespace.kill(member, Signal::SIGKILL);
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Inner pids of the living members of a session. `/proc` shows the inner namespace.
fn members(leader: i32) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        session_of(&stat) == Some(leader)
    })
    .collect()
}

/// The session in a line of `/proc/PID/stat`, unless the process is a zombie. The name in it may contain anything.
fn session_of(stat: &str) -> Option<i32> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_read_whatever_the_name() {
        assert_eq!(session_of("7 (a) b) S 1 2 3 0 -1"), Some(3));
        assert_eq!(session_of("7 (sh) Z 1 2 3 0 -1"), None);
        assert_eq!(session_of(""), None);
    }
}
