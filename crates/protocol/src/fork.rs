//! Forks: `/v1/sandboxes/{id}/fork`, `…/fork-tree` and `…/promote`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::sandbox::SandboxInfo;

/// Key of a child's metadata: the sandbox it was forked from.
pub const PARENT_ID: &str = "fork_parent_id";

/// Key of a child's metadata: the fork it came from, the same for all children of one call.
pub const TREE_ID: &str = "fork_tree_id";

/// Key of a child's metadata: always `child`.
pub const TREE_ROLE: &str = "fork_tree_role";

/// Key of a child's metadata: its number among its siblings, from 0.
pub const INDEX: &str = "fork_index";

/// Most children of one call.
pub const MAX_CHILDREN: u32 = 16;

/// Body of `POST …/fork` and `POST …/fork-tree`.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "fork.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkSandbox {
    /// Children to make, 1 to 16. Default 1, of a fork tree 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Labels of every child; the keys that tell of the fork are added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
}

/// A child that could not be made.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "fork.ts"))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkFailure {
    /// Its number, from 0.
    pub index: u32,
    /// What failed.
    pub err: String,
}

/// Answer of `POST …/fork` and `POST …/fork-tree`, 201.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "fork.ts"))]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ForkedSandboxes {
    /// The same as in the metadata of the children.
    pub tree_id: String,
    /// The sandbox that was forked.
    pub parent_id: String,
    /// The children that run, by their number.
    pub children: Vec<SandboxInfo>,
    /// RFC 3339.
    pub at: String,
    /// The children that do not, by their number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "ts", ts(as = "Option<Vec<ForkFailure>>", optional))]
    pub errors: Vec<ForkFailure>,
}

/// Body of `POST …/promote`.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "fork.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromoteSandbox {
    /// True: the other children of the tree are deleted. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleanup_siblings: Option<bool>,
    /// The tree; default is the one in the winner's metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_id: Option<String>,
}

/// Answer of `POST …/promote`.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "fork.ts"))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promotion {
    /// The sandbox that stays.
    pub winner: String,
    /// The tree, or empty where none is known and none was needed.
    pub tree_id: String,
    /// Siblings that were deleted.
    pub deleted: Vec<String>,
    /// Siblings that could not be deleted, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "ts", ts(as = "Option<BTreeMap<String, String>>", optional))]
    pub failures: BTreeMap<String, String>,
}
