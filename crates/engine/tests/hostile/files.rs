//! The file routes over what a hostile program puts in their way.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use pandastack_engine::error::EngineError;
use pandastack_engine::guest::GuestClient;

use super::{Hostile, attack};

/// Longest time that a route may take, whatever lies at the path.
const SOON: Duration = Duration::from_secs(20);

async fn soon<T>(what: &str, answer: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, answer).await.unwrap_or_else(|_| panic!("hangs: {what}"))
}

/// The beginning of a file, at most 8 MiB.
async fn read(guest: &GuestClient, path: &str) -> Result<Vec<u8>, EngineError> {
    let mut content = guest.read_file(path).await?.bytes;
    let mut bytes = Vec::new();
    while bytes.len() < 8 << 20
        && let Some(piece) = content.next().await
    {
        bytes.extend_from_slice(&piece?);
    }
    Ok(bytes)
}

async fn write(guest: &GuestClient, path: &str, text: &'static str) -> Result<u64, EngineError> {
    let pieces = futures::stream::iter([Ok::<_, String>(Bytes::from_static(text.as_bytes()))]);
    guest.write_file(path, pieces).await.map(|written| written.bytes)
}

/// Every route once. An error must be one about the path: short, and not of the engine.
async fn every_route(hostile: &Hostile, path: &str) {
    let guest = &hostile.guest;
    let outcomes = [
        ("read", soon(path, read(guest, path)).await.map(drop)),
        ("stat", soon(path, guest.stat_file(path)).await.map(drop)),
        ("list", soon(path, guest.list_files(path)).await.map(drop)),
        ("write", soon(path, write(guest, path, "text")).await.map(drop)),
        ("delete", soon(path, guest.delete_file(path)).await),
    ];
    for (route, outcome) in outcomes {
        if let Err(error) = outcome {
            let text = error.to_string();
            assert!(matches!(error, EngineError::Guest(_)) && text.len() < 10_000, "{route} {path}: {text}");
        }
    }
}

#[test]
fn odd_things_at_a_path() {
    attack("odd files", async |hostile| {
        let (exit, output) = hostile
            .shell(
                "mkdir -p /root/odd/folder; cd /root/odd; mkfifo fifo; ln -s fifo to-fifo; ln -s loop loop; ln -s a b; ln -s b a
                ln -s /proc/1/fd/0 agent; ln -s /dev/zero zero; ln -s /dev/full full; ln -s / root; ln -s ../../../../../../etc up; ln -s /nowhere/at/all dangling
                python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'; truncate -s 1T sparse; chattr +i folder 2>/dev/null; true",
            )
            .await;
        assert_eq!(exit.exit_code, 0, "{}", output.stderr);
        let odd = [
            "fifo",
            "to-fifo",
            "loop",
            "a",
            "agent",
            "zero",
            "full",
            "dangling",
            "socket",
            "sparse",
            "folder/../fifo",
            "up/../proc/1/mem",
        ];
        for name in odd {
            every_route(hostile, &format!("/root/odd/{name}")).await;
        }
        for path in [
            "/proc/self/fd/0",
            "/proc/1/fd/0",
            "/proc/1/root",
            "/proc/kmsg",
            "/dev/tty",
            "/dev/stdin",
            "/dev/fd/1",
            "/sys/kernel",
            "/proc/self/mem",
        ] {
            every_route(hostile, path).await;
        }
        let long = format!("/root/{}", "x".repeat(300));
        let deep = format!("/root/{}", "d/".repeat(2000));
        for path in [
            &long,
            &deep,
            "/..",
            "/../..",
            "/.",
            "//",
            "/root/odd/..//../odd/./fifo",
            "/root/odd/\u{202e}\n\r\u{1b}[2J",
        ] {
            every_route(hostile, path).await;
        }
        hostile.still_counts().await;
    });
}

#[test]
fn names_of_every_byte_and_a_file_of_a_terabyte() {
    attack("names and sizes", async |hostile| {
        let make = "import os\nos.makedirs('/root/names')\nfor byte in range(1, 256):\n    if byte != 47: open(b'/root/names/n' + bytes([byte]), 'w').close()\nwith open('/root/sparse', 'w') as file: file.truncate(1 << 40)";
        super::cell(&hostile.guest, &hostile.context, make).await;
        let listed = hostile.guest.list_files("/root/names").await.unwrap();
        assert_eq!(listed.entries.len(), 254);
        let sparse = hostile.guest.stat_file("/root/sparse").await.unwrap();
        assert_eq!(sparse.size, 1 << 40);
        assert_eq!(soon("sparse", read(&hostile.guest, "/root/sparse")).await.unwrap().len() >> 20, 8);
        hostile.guest.delete_file("/root/sparse").await.unwrap();
        hostile.guest.delete_file("/root/names").await.unwrap();
        assert_eq!(hostile.guest.stat_file("/root/names").await.unwrap_err().status(), 404);
    });
}

#[test]
fn folders_within_folders_without_end() {
    attack("deep folders", async |hostile| {
        let make = "import os\nos.makedirs('/root/deep', exist_ok=True)\nos.chdir('/root/deep')\nfor _ in range(5_000):\n    os.mkdir('d')\n    os.chdir('d')\nopen('file', 'w').close()\nos.chdir('/')";
        super::cell(&hostile.guest, &hostile.context, make).await;
        hostile.guest.delete_file("/root/deep").await.unwrap();
        assert_eq!(hostile.guest.stat_file("/root/deep").await.unwrap_err().status(), 404);
        hostile.still_counts().await;
    });
}

/// Exchanges a folder and a link, as fast as it can.
const EXCHANGE: &str = "import ctypes, os
libc = ctypes.CDLL(None)
os.makedirs('/root/race/real/sub', exist_ok=True)
os.makedirs('/root/race/elsewhere/sub', exist_ok=True)
for folder in ('real', 'elsewhere'):
    with open(f'/root/race/{folder}/sub/file', 'w') as file: file.write(folder)
os.symlink('/root/race/elsewhere', '/root/race/link')
open('/root/race/ready', 'w').close()
while True:
    for target in (b'real', b'sub'):
        libc.renameat2(-100, b'/root/race/real', -100, b'/root/race/link', 2)
";

#[test]
fn a_folder_that_becomes_a_link_while_a_route_works() {
    attack("exchanged folders", async |hostile| {
        write(&hostile.guest, "/srv/exchange.py", EXCHANGE).await.unwrap();
        hostile.shell("setsid -f python3 /srv/exchange.py >/dev/null 2>&1 </dev/null; until [ -e /root/race/ready ]; do sleep 0.1; done").await;
        for round in 0..60 {
            let path = "/root/race/real/sub/file";
            match soon("read", read(&hostile.guest, path)).await {
                Ok(text) => assert!([&b"real"[..], b"elsewhere", b"written"].contains(&text.as_slice()), "{text:?}"),
                Err(error) => assert!(matches!(error, EngineError::Guest(_)), "{error}"),
            }
            let outcomes = [
                soon("stat", hostile.guest.stat_file(path)).await.map(drop),
                soon("list", hostile.guest.list_files("/root/race/real/sub")).await.map(drop),
                soon("write", write(&hostile.guest, path, "written")).await.map(drop),
                if round % 10 == 9 {
                    soon("delete", hostile.guest.delete_file("/root/race/real/sub/file")).await
                } else {
                    Ok(())
                },
            ];
            for error in outcomes.into_iter().filter_map(Result::err) {
                assert!(matches!(error, EngineError::Guest(_)), "{error}");
            }
        }
        hostile.still_counts().await;
    });
}
