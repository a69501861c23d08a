//! Forks and fork trees.

use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

use pandastack_guest_protocol::context::RunRequest;
use pandastack_guest_protocol::frame::Kind;
use pandastack_protocol::fork::{ForkSandbox, PromoteSandbox};

use crate::home::{cell, create, python, shell, with_home};

fn children(count: u32) -> ForkSandbox {
    ForkSandbox { count: Some(count), metadata: Some(BTreeMap::from([("explore".to_owned(), "1".to_owned())])) }
}

#[test]
fn a_cell_that_prints_goes_on_and_the_child_has_everything() {
    with_home(|home| async {
        let engine = home.open().await;
        let parent = create(&engine).await;
        let (printing, state) = (python(&engine, &parent.id).await, python(&engine, &parent.id).await);
        let guest = engine.guest(&parent.id).await.unwrap();
        let setup = "
import asyncio, random, numpy as np
x = 41
file = open('/root/open', 'w+'); file.write('kept'); file.flush()
async def answer(reader, writer):
    writer.write(b'hello'); await writer.drain(); writer.close()
server = await asyncio.start_server(answer, '127.0.0.1', 8123)
";
        assert!(cell(&guest, &state, setup).await.1.error.is_none());
        let code = "import time\nfor n in range(200):\n    print(n, flush=True)\n    time.sleep(0.01)";
        let mut stream =
            guest.run(&printing, &RunRequest { code: code.into(), ..RunRequest::default() }).await.unwrap();
        let reading = tokio::spawn(async move {
            let (mut text, mut last, mut longest) = (String::new(), Instant::now(), 0);
            while let Some(frame) = stream.next().await {
                let (kind, payload) = frame.unwrap();
                if kind == Kind::Stdout {
                    longest = longest.max(last.elapsed().as_millis());
                    last = Instant::now();
                    text.push_str(&String::from_utf8_lossy(&payload));
                }
            }
            (text, longest)
        });
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        let began = Instant::now();
        let forked = engine.fork_sandbox(&parent.id, ForkSandbox::default(), 1).await.unwrap();
        let forked_ms = began.elapsed().as_millis();
        assert_eq!((forked.children.len(), forked.errors.len()), (1, 0));
        let child = &forked.children[0];
        let child_guest = engine.guest(&child.id).await.unwrap();
        let draw = "print(random.random(), np.random.rand(), x, open('/root/open').read(), file.tell())";
        let (_, of_child) = cell(&child_guest, &state, draw).await;
        let (_, of_parent) = cell(&guest, &state, draw).await;
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let (of_child, of_parent) = (words(&of_child.stdout), words(&of_parent.stdout));
        assert_eq!(of_child[2..], ["41", "kept", "4"]);
        assert_ne!(of_child[0], of_parent[0], "random.random() repeats");
        assert_ne!(of_child[1], of_parent[1], "np.random.rand() repeats");
        let (_, output) = shell(&child_guest, "exec 5<>/dev/tcp/127.0.0.1/8123; cat <&5; echo; hostname").await;
        assert_eq!(output.stdout, format!("hello\n{}\n", child.id));
        let (text, longest) = reading.await.unwrap();
        assert_eq!(text, (0..200).map(|number| format!("{number}\n")).collect::<String>());
        println!("fork of one: {forked_ms} ms; longest gap of the parent's stream: {longest} ms");
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
        assert_eq!(std::fs::read_dir(home.home().snapshots()).unwrap().count(), 0);
    });
}

#[test]
fn a_tree_has_labels_and_its_winner_stays_alone() {
    with_home(|home| async {
        let engine = home.open().await;
        let parent = create(&engine).await;
        let context = python(&engine, &parent.id).await;
        cell(&engine.guest(&parent.id).await.unwrap(), &context, "import random; seed = 7").await;
        let began = Instant::now();
        let forked = engine.fork_sandbox(&parent.id, children(8), 2).await.unwrap();
        println!("fork tree of 8: {} ms", began.elapsed().as_millis());
        assert_eq!((forked.children.len(), forked.errors.len()), (8, 0));
        let mut drawn = HashSet::new();
        for (index, child) in forked.children.iter().enumerate() {
            assert_eq!(child.metadata["fork_parent_id"], parent.id);
            assert_eq!(child.metadata["fork_tree_id"], forked.tree_id);
            assert_eq!(child.metadata["fork_tree_role"], "child");
            assert_eq!(child.metadata["fork_index"], index.to_string());
            assert_eq!(child.metadata["explore"], "1");
            assert_eq!(&engine.sandbox_info(&child.id).await.unwrap(), child);
            let guest = engine.guest(&child.id).await.unwrap();
            drawn.insert(cell(&guest, &context, "print(seed, random.random())").await.1.stdout);
        }
        assert_eq!(drawn.len(), 8, "siblings draw the same numbers");

        let winner = forked.children[3].id.clone();
        let kept = engine.promote_sandbox(&winner, PromoteSandbox::default()).await.unwrap();
        assert_eq!((kept.tree_id.as_str(), kept.deleted.len()), (forked.tree_id.as_str(), 0));
        let cleanup = PromoteSandbox { cleanup_siblings: Some(true), tree_id: None };
        assert_eq!(engine.promote_sandbox(&parent.id, cleanup.clone()).await.unwrap_err().status(), 400);
        let promotion = engine.promote_sandbox(&winner, cleanup).await.unwrap();
        assert_eq!((promotion.winner.as_str(), promotion.deleted.len()), (winner.as_str(), 7));
        assert!(promotion.failures.is_empty());
        let left: HashSet<_> = engine.list_sandboxes().await.unwrap().into_iter().map(|info| info.id).collect();
        assert_eq!(left, HashSet::from([parent.id, winner]));
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

#[test]
fn impossible_forks_are_refused_and_an_aborted_one_leaves_nothing() {
    with_home(|home| async {
        let engine = home.open().await;
        let parent = create(&engine).await;
        for count in [0, 17] {
            let error = engine.fork_sandbox(&parent.id, children(count), 1).await.unwrap_err();
            assert_eq!(error.to_string(), format!("count must be between 1 and 16: `{count}`"));
        }
        let unknown = uuid_like();
        assert_eq!(engine.fork_sandbox(&unknown, children(1), 1).await.unwrap_err().status(), 404);
        for wait_ms in [1, 60, 150] {
            let wait = std::time::Duration::from_millis(wait_ms);
            if let Ok(forked) = tokio::time::timeout(wait, engine.fork_sandbox(&parent.id, children(1), 1)).await {
                engine.delete_sandbox(&forked.unwrap().children[0].id).await.unwrap();
            }
        }
        for _ in 0..100 {
            if engine.status().await.unwrap().creating == 0 && engine.list_sandboxes().await.unwrap().len() == 1 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        assert_eq!(engine.list_sandboxes().await.unwrap().len(), 1);
        engine.shutdown(true).await.unwrap();
        assert_eq!(home.leftovers(), Vec::<String>::new());
    });
}

fn uuid_like() -> String {
    "0f8fad5b-d9cb-469f-a165-70867728950e".to_owned()
}
