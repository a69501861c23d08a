//! Contexts and cells.

use crate::harness::Agent;

#[tokio::test(flavor = "multi_thread")]
async fn state_is_kept_between_cells() {
    let (_agent, engine) = Agent::greeted().await;
    let context = engine.python().await;
    assert_eq!(engine.cell(&context, "x = 41").await.end().execution_count, 1);
    let outcome = engine.cell(&context, "x + 1").await;
    assert_eq!((outcome.text(), outcome.end().execution_count), ("42", 2));
}
