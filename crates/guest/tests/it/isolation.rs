//! What runs for the user cannot reach the agent.

use crate::harness::{Agent, until};

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_is_not_among_the_processes() {
    let (_agent, engine) = Agent::greeted().await;
    until(async || engine.exec("ls /proc | grep -c '^[0-9]'").await.exit().exit_code == 0).await;
    let seen = engine.exec("echo $PPID; grep -l 'PPid:.0$' /proc/[0-9]*/status | wc -l; readlink /proc/1/exe /proc/1/fd/0; cat /proc/1/environ").await;
    assert!(seen.stdout().starts_with("0\n"), "{seen:?}");
    assert!(!seen.stdout().contains("guest"), "{seen:?}");
    assert!(String::from_utf8_lossy(&seen.stderr).contains("denied"), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_do_not_reach_the_agent() {
    let (_agent, engine) = Agent::greeted().await;
    engine.exec("kill -STOP 1; kill -TERM 1; kill -HUP 1; kill -KILL -1").await;
    engine.exec("kill -KILL 0 -1; for pid in $(seq 2 300); do kill -KILL $pid; done").await;
    assert_eq!(engine.exec("echo alive").await.stdout(), "alive\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_mounts_nor_capabilities_help() {
    let (_agent, engine) = Agent::greeted().await;
    let outcome =
        engine.exec("umount /proc; umount -l /proc; mount -t proc proc /mnt; mknod /tmp/sda b 8 0; true").await;
    let stderr = String::from_utf8_lossy(&outcome.stderr).to_lowercase();
    assert_eq!(
        stderr.lines().filter(|line| line.contains("superuser") || line.contains("permi")).count(),
        4,
        "{stderr}"
    );
    let capabilities = engine.exec("grep -E 'Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | cut -f2 | sort -u").await;
    assert_eq!(capabilities.stdout(), "0000000000000000\n00000000a00405fb\n");
    let shown = engine
        .exec("unshare -Ur --mount sh -c 'umount -l /proc; ls /proc | grep ^[0-9] | wc -l; readlink /proc/1/exe'; true")
        .await;
    assert!(!shown.stdout().contains("guest"), "{shown:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_are_reaped() {
    let (_agent, engine) = Agent::greeted().await;
    engine.exec("for i in 1 2 3 4 5; do setsid -f sh -c 'sleep 0.1 & exit'; done").await;
    until(async || engine.exec("cat /proc/[0-9]*/stat | grep -c -e '(sleep)' -e ') Z '").await.stdout() == "0\n").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killing_the_inner_init_costs_the_programs_and_not_the_agent() {
    let (_agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    for _ in 0..3 {
        engine.exec("kill -KILL 1; kill -KILL 1; sleep 1").await;
        assert_eq!(engine.exec("echo alive; cat /proc/1/stat | cut -d' ' -f1").await.stdout(), "alive\n1\n");
    }
    until(async || engine.cell(&context, "6 * 7").await.text() == "42").await;
    assert_eq!(engine.cell(&engine.python().await, "7").await.text(), "7");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_inner_init_cannot_be_traced_or_entered() {
    let (_agent, engine) = Agent::greeted().await;
    let attack = r#"python3 -c '
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
attach, seize, cont = 16, 0x4206, 7
print([libc.ptrace(request, 1, 0, 0) for request in (attach, seize, cont)])
for path in ("mem", "environ", "root/etc", "cwd/etc", "ns/mnt", "ns/pid", "fd/0", "maps"):
    for flags in (os.O_RDWR, os.O_RDONLY):
        try:
            fd = os.open(f"/proc/1/{path}", flags)
            print("opened", path, flags, os.read(fd, 1) if path != "mem" else os.pread(fd, 1, 0x400000))
        except OSError:
            pass
'"#;
    let outcome = engine.exec(attack).await;
    let shown: Vec<_> =
        outcome.stdout().lines().filter(|line| !line.contains("/etc") && !line.contains("b\'\'")).collect();
    assert_eq!(shown, ["[-1, -1, -1]"], "{outcome:?}");
    let rights = engine.exec("grep -E 'Cap(Inh|Prm|Eff)' /proc/1/status | cut -f2 | sort -u").await;
    // Without SYS_RESOURCE where the agent itself has it not.
    assert!(
        ["0000000000000000\n0000000001000020\n", "0000000000000000\n0000000000000020\n"].contains(&rights.stdout()),
        "{rights:?}"
    );
}
