//! Forks: one copy of a running sandbox, and children that are restored from it side by side.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use pandastack_protocol::fork::{self, ForkFailure, ForkSandbox, ForkedSandboxes, MAX_CHILDREN};
use serde_json::json;
use uuid::Uuid;

use super::blank::Blank;
use super::create::Unclaimed;
use super::plan::check_metadata;
use crate::clock;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::store::{RowStatus, SandboxRow};
use crate::template::Template;
use futures::future::join_all;

/// What the children of one fork have in common.
struct Family {
    parent: SandboxRow,
    tree_id: String,
    count: u32,
    labels: BTreeMap<String, String>,
}

impl Family {
    /// The row of the child `index` while it is made.
    fn child(&self, index: u32, id: &str) -> SandboxRow {
        let of_fork = [
            (fork::PARENT_ID, self.parent.id.clone()),
            (fork::TREE_ID, self.tree_id.clone()),
            (fork::TREE_ROLE, "child".to_owned()),
            (fork::INDEX, index.to_string()),
        ];
        let mut metadata = self.labels.clone();
        metadata.extend(of_fork.map(|(key, value)| (key.to_owned(), value)));
        SandboxRow {
            id: id.to_owned(),
            status: RowStatus::Creating,
            metadata,
            boot_mode: None,
            boot_ms: None,
            created_at: clock::now_rfc3339(),
            epoch: 0,
            from_snapshot: None,
            ..self.parent.clone()
        }
    }
}

impl Inner {
    /// Makes `count` children of a sandbox, which goes on. Children that cannot be made are reported; if that is all of them, it is an error.
    /// A caller who goes away leaves none.
    pub(crate) async fn fork_sandbox(
        self: &Arc<Self>,
        id: &str,
        request: ForkSandbox,
        default_count: u32,
    ) -> Result<ForkedSandboxes, EngineError> {
        self.check_open()?;
        let count = request.count.unwrap_or(default_count);
        if !(1..=MAX_CHILDREN).contains(&count) {
            return Err(EngineError::BadRequest(format!("count must be between 1 and {MAX_CHILDREN}: `{count}`")));
        }
        let labels = request.metadata.unwrap_or_default();
        check_metadata(&labels)?;
        let room = self.take_room(count as usize)?;
        let (engine, id) = (Arc::clone(self), id.to_owned());
        let forked = async move {
            let forked = engine.fork(&id, count, labels).await;
            drop(room);
            forked
        };
        let (family, children) = self.carry_out(forked).await?;
        let mut forked = ForkedSandboxes {
            tree_id: family.tree_id,
            parent_id: family.parent.id,
            at: clock::now_rfc3339(),
            ..ForkedSandboxes::default()
        };
        for (index, child) in children.into_iter().enumerate() {
            match child.map(Unclaimed::claim) {
                Ok(Some(child)) => forked.children.push(child.info()),
                Ok(None) => {}
                Err(error) => forked.errors.push(ForkFailure { index: index as u32, err: error.to_string() }),
            }
        }
        let children: Vec<_> = forked.children.iter().map(|child| &child.id).collect();
        let payload = json!({"tree_id": forked.tree_id, "children": children, "errors": forked.errors});
        self.events.record(&forked.parent_id, "fork.completed", payload);
        Ok(forked)
    }

    async fn fork(
        self: &Arc<Self>,
        id: &str,
        count: u32,
        labels: BTreeMap<String, String>,
    ) -> Result<(Family, Vec<Result<Unclaimed, EngineError>>), EngineError> {
        let began = Instant::now();
        let (parent, turn) = self.take_turn(id).await?;
        parent.check_not_paused()?;
        parent.activity().touch();
        let family = Family { parent: parent.row().clone(), tree_id: Uuid::new_v4().to_string(), count, labels };
        let template = self.find_template(&family.parent.template_id).await?;
        let copy = self.copy(&parent, self.snapshot_folder(&format!("{}.new", family.tree_id)));
        let (image, blanks) = tokio::join!(copy, self.make_blanks(&family, &template));
        drop(turn);
        let image = match image {
            Ok(image) => image,
            Err(error) => {
                let blanks: Vec<_> = blanks.into_iter().flatten().collect();
                join_all(blanks.iter().map(|blank| self.forget(&blank.id))).await;
                return Err(error);
            }
        };
        let children = self.make_children(&family, &template, blanks, image.folder(), began).await;
        self.refill_pool_later(&template);
        match children.iter().position(Result::is_ok) {
            Some(_) => Ok((family, children)),
            None => Err(children
                .into_iter()
                .find_map(Result::err)
                .unwrap_or_else(|| EngineError::Internal(format!("no child was made of sandbox {id}")))),
        }
    }

    async fn make_blanks(&self, family: &Family, template: &Template) -> Vec<Result<Blank, EngineError>> {
        let blanks = (0..family.count).map(|index| async move {
            let _permit = self.turn_to_start().await?;
            self.take_blank(template, &family.parent.limits, |id| family.child(index, id)).await
        });
        join_all(blanks).await
    }

    async fn make_children(
        self: &Arc<Self>,
        family: &Family,
        template: &Template,
        blanks: Vec<Result<Blank, EngineError>>,
        image: &Path,
        began: Instant,
    ) -> Vec<Result<Unclaimed, EngineError>> {
        let children = (0..).zip(blanks).map(|(index, blank)| async move {
            let blank = blank?;
            let _permit = self.turn_to_start().await?;
            let row = family.child(index, &blank.id);
            let ready = self.fill_or_forget(blank, template, Some(image)).await?;
            let child = self.begin_life(ready, row, "fork", began).await?;
            Ok(Unclaimed::new(self, child))
        });
        join_all(children).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_says_where_it_comes_from_whatever_the_caller_says() {
        let parent = SandboxRow { id: "parent".to_owned(), ..crate::store::tests::row("parent") };
        let labels = BTreeMap::from([("fork_index".to_owned(), "9".to_owned()), ("a".to_owned(), "b".to_owned())]);
        let child = Family { parent, tree_id: "tree".to_owned(), count: 3, labels }.child(2, "child");
        let metadata: Vec<_> = child.metadata.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let expected = [
            ("a", "b"),
            ("fork_index", "2"),
            ("fork_parent_id", "parent"),
            ("fork_tree_id", "tree"),
            ("fork_tree_role", "child"),
        ];
        assert_eq!(metadata, expected);
        assert_eq!((child.status, child.epoch), (RowStatus::Creating, 0));
        assert_eq!(child.id, "child");
    }
}
