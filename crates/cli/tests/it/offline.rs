//! Commands that need no server.

use crate::context::{Context, Outcome};

fn failure(message: &str) -> Outcome {
    Outcome { code: 1, stdout: String::new(), stderr: message.to_owned() }
}

#[test]
fn version_is_data() {
    let outcome = Context::new().run(&["version"]);
    assert_eq!(outcome, Outcome { code: 0, stdout: format!("{}\n", env!("CARGO_PKG_VERSION")), stderr: String::new() });
}

#[test]
fn without_a_server_and_a_key_both_ways_out_are_named() {
    for command in [&["sandbox", "list"][..], &["run", "-c", "1"], &["token", "list"]] {
        let outcome = Context::new().run(command);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""), "{command:?}");
        assert!(outcome.stderr.starts_with("error: no API key: set `PANDASTACK_API_KEY`"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("PANDASTACK_API=local"), "{}", outcome.stderr);
    }
}

#[test]
fn a_server_that_does_not_answer_is_named_with_one_cause() {
    let outcome = Context::new().run(&["sandbox", "list", "--api", "unix:/no/such.sock"]);
    let cause = "No such file or directory (os error 2)";
    let error =
        format!("error: the server cannot be reached: `unix:/no/such.sock`: {cause}\nhint: check PANDASTACK_API");
    assert!(outcome.stderr.starts_with(&error), "{}", outcome.stderr);
}

#[test]
fn an_engine_that_does_not_run_is_an_answer() {
    let context = Context::new();
    let status = context.run(&["engine", "status"]);
    assert_eq!(status, Outcome { code: 3, stdout: "not running (home HOME/home)\n".into(), stderr: String::new() });
    let json: serde_json::Value = serde_json::from_str(&context.run(&["engine", "status", "--json"]).stdout).unwrap();
    assert_eq!(json, serde_json::json!({"running": false, "home": "HOME/home"}));
    let stop = context.run(&["engine", "stop"]);
    assert_eq!(stop, Outcome { code: 0, stdout: String::new(), stderr: "the engine is not running\n".into() });
    assert!(!context.home().exists());
}

#[test]
fn bad_arguments_are_told_before_anything_is_sent() {
    let context = Context::new();
    let missing = context.run(&["run", "/no/such.py"]);
    assert_eq!(
        missing,
        failure("error: cannot read the code (No such file or directory (os error 2)): `/no/such.py`\n")
    );
    let limit = context.run(&["run", "-c", "1", "--timeout", "0"]);
    assert_eq!(limit, failure("error: the time limit must be greater than 0: `0`\n"));
    let template = context.run(&["template", "build", "nothing"]);
    assert_eq!(template, failure("error: unknown template: `nothing`\nhint: there is `code-interpreter`\n"));
    let image = context.write("rootfs.erofs", "no image");
    let import = context.run(&["template", "import", image.to_str().unwrap()]);
    assert_eq!((import.code, import.stdout.as_str()), (1, ""));
    assert!(import.stderr.contains("EROFS"), "{}", import.stderr);
}

#[test]
fn doctor_lists_every_requirement() {
    let outcome = Context::new().run(&["engine", "doctor"]);
    assert!(outcome.stdout.contains("ok       runsc: "), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("failed   template: "), "{}", outcome.stdout);
    assert_eq!(outcome.code, 1);
}
