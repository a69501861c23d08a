//! The daemon: start, access, end.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use crate::context::{Context, Daemon, names};

#[test]
fn one_daemon_serves_a_home() {
    let context = Context::new();
    let mut daemon = context.serve(&[]);
    assert_eq!(std::fs::metadata(context.socket()).unwrap().permissions().mode() & 0o777, 0o600);
    let second = context.run(&["serve"]);
    assert_eq!(second.code, 1);
    assert!(second.stderr.contains("error: engine already running: `HOME/home`"), "{}", second.stderr);
    assert!(second.stderr.contains("hint: `pandastack engine status`"), "{}", second.stderr);
    let status = context.run(&["engine", "status", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!((status.code, &json["running"]), (0, &serde_json::json!(0)), "{json}");
    let stop = context.run(&["engine", "stop"]);
    assert_eq!((stop.code, stop.stderr.as_str()), (0, "stopped\n"));
    assert!(daemon.wait().success() && !context.socket().exists());
}

#[test]
fn the_daemon_gives_up_what_it_does_not_need() {
    let context = Context::new();
    let daemon = context.serve(&[]);
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{}/{name}", daemon.pid())).unwrap();
    let status = read("status");
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
    for set in ["CapPrm:", "CapEff:", "CapBnd:"] {
        // KILL, SETGID, SETUID, SETPCAP, SYS_CHROOT, SYS_ADMIN, SETFCAP and DAC_OVERRIDE, as far as this machine has them.
        let had = u64::from_str_radix(&field(set), 16).unwrap();
        assert_eq!(had & !0x8024_01e2, 0, "{set} {had:x}");
    }
    for set in ["CapInh:", "CapAmb:"] {
        assert_eq!(field(set), "0000000000000000", "{set}");
    }
    assert_eq!((field("NoNewPrivs:").as_str(), field("Umask:").as_str()), ("1", "0077"));
    let limits = read("limits");
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().skip(4).collect::<Vec<_>>(), ["0", "0", "bytes"]);
}

#[test]
fn a_signal_ends_the_daemon_and_a_stale_socket_is_no_obstacle() {
    let context = Context::new();
    for signal in ["TERM", "INT"] {
        let mut daemon = context.serve(&[]);
        daemon.signal(signal);
        assert!(daemon.wait().success(), "{signal}");
        assert!(!context.socket().exists(), "{signal}");
    }
    let mut daemon = context.serve(&[]);
    daemon.signal("KILL");
    daemon.wait();
    assert!(context.socket().exists());
    let _daemon = context.serve(&[]);
    assert_eq!(context.run(&["engine", "status"]).code, 0);
}

#[test]
fn an_idle_daemon_ends_by_itself() {
    let context = Context::new();
    let mut daemon = context.serve(&["--exit-when-idle", "1"]);
    assert!(daemon.wait().success());
    assert!(!names(&context.home()).contains(&"engine.sock".to_owned()));
}

#[test]
fn what_a_dead_daemon_left_can_be_ended() {
    let context = Context::new();
    let mut daemon = context.serve(&[]);
    daemon.signal("KILL");
    daemon.wait();
    let stop = context.run(&["engine", "stop", "--kill"]);
    assert_eq!(stop.code, 0, "{}", stop.stderr);
    assert!(names(&context.home().join("sandboxes")).is_empty());
}

#[test]
fn without_a_template_the_way_to_one_is_named() {
    let context = Context::new();
    let _daemon = context.serve(&[]);
    let outcome = context.run_with(&["run", "-c", "1"], &[("PANDASTACK_API", "local")]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""));
    assert!(outcome.stderr.contains("pandastack engine setup"), "{}", outcome.stderr);
}

#[test]
fn tcp_takes_keys_only() {
    let context = Context::new();
    let daemon = context.serve(&["--listen", "127.0.0.1:0"]);
    let made = context.run_with(&["token", "create", "--label", "test"], &[("PANDASTACK_API", "local")]);
    let token: serde_json::Value = serde_json::from_str(&made.stdout).unwrap();
    let server = format!("http://{}", daemon.address);
    let list =
        |key: &str| context.run_with(&["sandbox", "list"], &[("PANDASTACK_API", &server), ("PANDASTACK_API_KEY", key)]);
    assert_eq!(
        (list(token["token"].as_str().unwrap()).code, list(token["token"].as_str().unwrap()).stdout),
        (0, "[]\n".into())
    );
    let wrong = list("pds_00000000000000000000000000000000");
    assert_eq!((wrong.code, wrong.stdout.as_str()), (1, ""));
    assert!(wrong.stderr.starts_with("error: ") && wrong.stderr.contains("token create"), "{}", wrong.stderr);
    assert!(ask(&daemon, "GET /healthz HTTP/1.1\r\nHost: evil.example\r\n").starts_with("HTTP/1.1 421 "));
    assert!(ask(&daemon, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n").starts_with("HTTP/1.1 200 "));
}

fn ask(daemon: &Daemon, head: &str) -> String {
    let mut stream = TcpStream::connect(&daemon.address).unwrap();
    stream.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn addresses_that_others_can_reach_need_a_flag() {
    let context = Context::new();
    let refused = context.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("not a loopback address: `0.0.0.0:0`"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--allow-remote"), "{}", refused.stderr);
}
