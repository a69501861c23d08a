//! Which process of a sandbox the host kills when memory runs out: a program, and not the sandbox.

use std::fs;

/// How much rather a program is killed than anything else, out of 1000.
const PROGRAM: &str = "900";

/// Makes the host processes that stand for programs the first to be killed, now and later. `sandbox` is the host process of the sandbox's kernel.
///
/// Each program has a host process, made from the oldest child of the sandbox, which stands for none; the second oldest is the agent. Where
/// the host refuses it, it chooses by size alone.
pub(super) fn sacrifice_programs(sandbox: i32) {
    let mut children = children(sandbox);
    children.sort_unstable();
    for (index, (_, pid)) in children.into_iter().enumerate() {
        if index != 1
            && let Err(error) = fs::write(format!("/proc/{pid}/oom_score_adj"), PROGRAM)
        {
            tracing::debug!(pid, %error, "could not say that a program is to be killed first");
        }
    }
}

/// Children of a process, each with the time of its start.
fn children(parent: i32) -> Vec<(u64, i32)> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let pids: Vec<i32> =
        lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect();
    pids.into_iter().filter_map(|pid| Some((started(pid)?, pid))).collect()
}

/// When a process was started, in ticks since the start of the host. Its name may contain anything.
fn started(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_found_with_their_age() {
        let mut child = std::process::Command::new("sleep").arg("4242").spawn().unwrap();
        let pid = child.id() as i32;
        let found = children(std::process::id() as i32);
        assert!(found.iter().any(|(started, found)| *found == pid && *started > 0), "{found:?}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
