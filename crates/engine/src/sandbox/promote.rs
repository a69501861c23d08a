//! Choosing one child of a fork.

use std::sync::Arc;

use pandastack_protocol::fork::{self, PromoteSandbox, Promotion};

use serde_json::json;

use super::find::useless;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::store::{RowStatus, SandboxRow};

impl Inner {
    /// Names the winner of a fork tree, and deletes its siblings if that is asked for.
    pub(crate) async fn promote_sandbox(
        self: &Arc<Self>,
        id: &str,
        request: PromoteSandbox,
    ) -> Result<Promotion, EngineError> {
        let rows = self.store.sandboxes().await?;
        let winner = rows.iter().find(|row| row.id == id).ok_or_else(|| EngineError::sandbox_not_found(id))?;
        if !is_alive(winner) {
            return Err(useless(winner));
        }
        let given = request.tree_id.filter(|tree| !tree.is_empty());
        let tree_id = given.or_else(|| winner.metadata.get(fork::TREE_ID).cloned()).unwrap_or_default();
        let mut promotion = Promotion { winner: id.to_owned(), tree_id, ..Promotion::default() };
        if !request.cleanup_siblings.unwrap_or(false) {
            return Ok(promotion);
        }
        if promotion.tree_id.is_empty() {
            return Err(EngineError::BadRequest(format!("tree_id required: sandbox {id} is no child of a fork")));
        }
        let siblings = rows
            .iter()
            .filter(|row| row.id != id && is_alive(row) && row.metadata.get(fork::TREE_ID) == Some(&promotion.tree_id));
        let deletions = siblings.map(|row| async { (row.id.clone(), self.delete_sandbox(&row.id).await) });
        for (sibling, outcome) in futures::future::join_all(deletions).await {
            match outcome {
                Ok(()) | Err(EngineError::NotFound(_)) => promotion.deleted.push(sibling),
                Err(error) => drop(promotion.failures.insert(sibling, error.to_string())),
            }
        }
        let payload = json!({"tree_id": promotion.tree_id, "deleted": promotion.deleted});
        self.events.record(id, "fork_tree.promoted", payload);
        Ok(promotion)
    }
}

fn is_alive(row: &SandboxRow) -> bool {
    matches!(row.status, RowStatus::Running | RowStatus::Paused | RowStatus::Hibernated)
}
