//! Ways out of a sandbox, to its agent, and to what the host is called.

use pandastack_engine::guest::GuestClient;
use pandastack_guest_protocol::context::RunRequest;

use super::{Hostile, attack, collect, shell};

/// What the host is called, and where things lie on it.
fn words_of_the_host(hostile: &Hostile, home: &str) -> Vec<String> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let folder = std::env::current_dir().unwrap().display().to_string();
    let words = [
        read("/proc/sys/kernel/hostname"),
        read("/etc/machine-id"),
        read("/proc/sys/kernel/random/boot_id"),
        read("/proc/sys/kernel/osrelease"),
        folder,
        home.to_owned(),
        format!("{}/", hostile.id),
    ];
    words.into_iter().filter(|word| word.len() > 5 && word != "localhost").collect()
}

async fn write(guest: &GuestClient, path: &str, text: &str) {
    let piece = bytes::Bytes::copy_from_slice(text.as_bytes());
    guest.write_file(path, futures::stream::iter([Ok::<_, String>(piece)])).await.unwrap();
}

#[test]
fn there_is_no_way_out_and_nothing_tells_of_the_host() {
    attack("probes", async |hostile| {
        write(&hostile.guest, "/srv/probe.py", include_str!("probe.py")).await;
        let home = hostile.home.home().root().display().to_string();
        let words = words_of_the_host(hostile, &home);
        let needles: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let (exit, output) = hostile.shell(&format!("python3 /srv/probe.py {}", needles.join(" "))).await;
        assert_eq!(output.stdout, "looked everywhere\n", "{exit:?} {}", output.stderr);
        let (_, output) = hostile.shell("env; hostname").await;
        for word in words.iter().filter(|word| !word.starts_with(&hostile.id)) {
            assert!(!output.stdout.contains(word.as_str()), "{word}: {}", output.stdout);
        }
        hostile.still_counts().await;
    });
}

#[test]
fn the_metadata_service_of_a_cloud_cannot_be_asked() {
    attack("metadata", async |hostile| {
        let ask = "curl -s -m 3 -o /dev/null -w '%{http_code}' http://169.254.169.254/latest/meta-data/";
        let (exit, output) = hostile.shell(&format!("{ask}; {ask} --noproxy '*'")).await;
        assert!(exit.exit_code != 0 && !output.stdout.contains("200"), "{exit:?} {output:?}");
    });
}

#[test]
fn the_agent_is_out_of_reach() {
    attack("attacks on the agent", async |hostile| {
        let signals = "for signal in STOP TERM ILL USR1 KILL; do for pid in $(seq 1 60) -1; do kill -$signal $pid; done; done 2>/dev/null";
        let pipes = "for fd in /proc/[0-9]*/fd/[0-9]*; do timeout 1 dd if=/dev/urandom of=$fd bs=64 count=1 oflag=nonblock; done 2>/dev/null";
        let limits = "for pid in $(ls /proc | grep '^[0-9]'); do prlimit --nofile=3 --pid $pid; echo 1000 > /proc/$pid/oom_score_adj; done 2>/dev/null";
        for attack in [pipes, limits, signals, signals] {
            hostile.shell_for(attack, 6).await;
            let (exit, output) = shell(&hostile.guest, "echo alive").await;
            assert_eq!((exit.exit_code, output.stdout.as_str()), (0, "alive\n"), "{attack}");
        }
        hostile.counts_again().await;
    });
}

/// Says what it likes on the socket of its own kernel. `{}` is what it says, with `frame(bytes)` for a message.
const SPEAK: &str = "
import json, os, socket, struct
frame = lambda body: struct.pack('<I', len(body)) + body
result = lambda number, **fields: frame(json.dumps({'type': 'result', 'id': number, **fields}).encode())
for fd in map(int, os.listdir('/proc/self/fd')):
    try:
        control = socket.socket(fileno=os.dup(fd))
        if control.family == socket.AF_UNIX and control.type == socket.SOCK_STREAM:
            control.sendall({})
    except OSError:
        pass
";

#[test]
fn a_kernel_that_lies_hurts_itself() {
    attack("lies of a kernel", async |hostile| {
        let lies = [
            "struct.pack('<I', 0xffffffff) + b'x' * 1000",
            "struct.pack('<I', 64 << 20)",
            "frame(b'')",
            r#"frame(b'{"type":"result","id":1,"data":' + b'[' * 100_000)"#,
            r#"frame(b'{"type":"' + b'\xff' * 100 + b'"}')"#,
            r#"frame(b'{"type":"done","id":1e400,"status":"ok","execution_count":-1,"exit_code":9e99}')"#,
            "b''.join(result(10**6 + number, data={'text/plain': 'not mine'}) for number in range(10_000))",
            "b''.join(frame(json.dumps({'type': 'error', 'id': number, 'name': 'E', 'value': '', 'text': '', 'traceback': [''] * 200_000}).encode()) for number in range(3))",
            "b''.join(result(number, data={str(key): '' for key in range(100_000)}) for number in range(2))",
            "b''.join(result(number, data={'text/plain': 'x' * (2 << 20)}) for number in range(30))",
        ];
        for lie in lies {
            let code = SPEAK.replace("{}", lie);
            // What a kernel says of itself may also keep its cell from ending, as a loop does.
            let request = RunRequest { code, timeout_ms: Some(20_000), ..RunRequest::default() };
            let output = collect(hostile.guest.run(&hostile.context, &request).await.unwrap()).await.unwrap();
            println!("{}: {}", &lie[..lie.len().min(60)], output.last);
            assert!(!output.results.iter().any(|result| result["data"]["text/plain"] == "not mine"), "{lie}");
            if let Some(error) = output.error {
                let name = error["name"].as_str().unwrap().to_owned();
                assert!(["KernelDied", "E", "MemoryError"].contains(&name.as_str()), "{lie}: {error}");
            }
            hostile.counts_again().await;
        }
    });
}
