//! Commands.

use std::time::Duration;

use pandastack_guest_protocol::exec::ExecRequest;

use crate::home::{create, shell, with_home};

#[test]
fn output_exit_code_and_signal_arrive() {
    with_home(|home| async {
        let engine = home.open().await;
        let guest = engine.guest(&create(&engine).await.id).await.unwrap();
        let (exit, output) = shell(&guest, "echo out; echo err >&2; exit 7").await;
        assert_eq!((exit.exit_code, output.stdout.as_str(), output.stderr.as_str()), (7, "out\n", "err\n"));
        let (exit, _) = shell(&guest, "kill -9 $$").await;
        assert_eq!((exit.exit_code, exit.signal), (137, Some(9)));
        engine.shutdown(true).await.unwrap();
    });
}

#[test]
fn a_flood_comes_through_whole_and_does_not_stop_others() {
    with_home(|home| async {
        let engine = home.open().await;
        let guest = engine.guest(&create(&engine).await.id).await.unwrap();
        let request = ExecRequest { command: Some("yes".to_owned()), ..ExecRequest::default() };
        // Nobody reads these.
        let _stalled = futures::future::try_join_all((0..8).map(|_| guest.exec(&request))).await.unwrap();
        let (exit, output) = shell(&guest, "head -c 50000000 /dev/zero | tr '\\0' x").await;
        assert_eq!((exit.exit_code, output.stdout.len()), (0, 50_000_000));
        engine.shutdown(true).await.unwrap();
    });
}

#[test]
fn a_dropped_stream_ends_its_command() {
    with_home(|home| async {
        let engine = home.open().await;
        let guest = engine.guest(&create(&engine).await.id).await.unwrap();
        let request =
            ExecRequest { command: Some("echo started; exec sleep 4242".to_owned()), ..ExecRequest::default() };
        let mut stream = guest.exec(&request).await.unwrap();
        stream.next().await.unwrap().unwrap();
        drop(stream);
        for _ in 0..50 {
            if shell(&guest, "pgrep -f 'sleep 424[2]'").await.0.exit_code != 0 {
                engine.shutdown(true).await.unwrap();
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("the command goes on without its reader");
    });
}

#[test]
fn the_environment_of_the_host_stays_outside() {
    with_home(|home| async {
        let engine = home.open().await;
        let guest = engine.guest(&create(&engine).await.id).await.unwrap();
        let (_, output) = shell(&guest, "env").await;
        assert!(output.stdout.contains("HTTPS_PROXY=http://127.0.0.1:3128"), "{}", output.stdout);
        assert!(!output.stdout.contains("CARGO"), "{}", output.stdout);
        engine.shutdown(true).await.unwrap();
    });
}
