//! What a request for a sandbox comes down to. Everything that can be refused is refused here, before anything exists.

use std::collections::BTreeMap;
use std::sync::Arc;

use pandastack_protocol::lifecycle::UpdateLifecycle;
use pandastack_protocol::sandbox::{CreateSandbox, DEFAULT_TEMPLATE};

use crate::egress::record::EgressRecord;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::image::NewImage;
use crate::limits::Limits;
use crate::store::{LOCAL_WORKSPACE, RowStatus, SandboxRow};
use crate::template::Template;

/// Most labels of one sandbox.
const MAX_LABELS: usize = 64;
/// Longest key of a label, in bytes.
const MAX_KEY: usize = 256;
/// Longest value of a label, in bytes.
const MAX_VALUE: usize = 4096;
/// Longest idle TTL, in seconds: ten years.
const MAX_TTL_SECONDS: i64 = 10 * 365 * 86_400;

/// A sandbox that can be made.
pub(super) struct Plan {
    pub(super) template: Arc<Template>,
    /// Id of the snapshot that it is made from.
    pub(super) snapshot: Option<String>,
    /// The image of that snapshot.
    pub(super) image: Option<NewImage>,
    pub(super) limits: Limits,
    ttl_seconds: i64,
    persistent: bool,
    metadata: BTreeMap<String, String>,
    created_at: String,
    pub(super) egress: EgressRecord,
}

impl Plan {
    /// Checks the request and finds the template.
    pub(super) async fn of(mut request: CreateSandbox, engine: &Arc<Inner>) -> Result<Self, EngineError> {
        if request.volumes.as_ref().is_some_and(|volumes| !volumes.is_empty()) {
            return Err(EngineError::NotSupported("volumes".to_owned()));
        }
        let metadata = request.metadata.take().unwrap_or_default();
        check_metadata(&metadata)?;
        let ttl_seconds = request.ttl_seconds.unwrap_or(engine.config.default_ttl_seconds);
        check_ttl(ttl_seconds)?;
        let snapshot = request.from_snapshot.take().filter(|snapshot| !snapshot.is_empty());
        let asked = request.limits.take().unwrap_or_default();
        let mut limits = engine.config.limits.with(&asked)?;
        let mut image = None;
        let template = match &snapshot {
            // The official clients always name a template: that of the snapshot counts.
            Some(id) => {
                let found = engine.find_restorable(id).await?;
                limits.disk_gb = check_disk(asked.disk_gb, found.disk_gb)?;
                image = Some(found.image);
                found.template
            }
            None => {
                let name = request.template.take().filter(|name| !name.is_empty());
                engine.find_template(name.as_deref().unwrap_or(DEFAULT_TEMPLATE)).await?
            }
        };
        let inherits = match &snapshot {
            Some(id) => engine.snapshot(id).await?.egress,
            None => EgressRecord::default(),
        };
        Ok(Self {
            egress: engine.plan_egress(&mut request, inherits)?,
            template,
            snapshot,
            image,
            limits,
            ttl_seconds,
            persistent: request.persistent.unwrap_or(false),
            metadata,
            created_at: crate::clock::now_rfc3339(),
        })
    }

    /// The row of the sandbox while it is made.
    pub(super) fn row(&self, id: &str) -> SandboxRow {
        SandboxRow {
            id: id.to_owned(),
            workspace: LOCAL_WORKSPACE.to_owned(),
            template: self.template.name.clone(),
            template_id: self.template.id.clone(),
            status: RowStatus::Creating,
            reason: None,
            metadata: self.metadata.clone(),
            ttl_seconds: self.ttl_seconds,
            persistent: self.persistent,
            limits: self.limits,
            boot_mode: None,
            boot_ms: None,
            created_at: self.created_at.clone(),
            epoch: 0,
            from_snapshot: self.snapshot.clone(),
            image: None,
            egress: self.egress.clone(),
        }
    }
}

/// The size of a disk is part of its content.
fn check_disk(asked: Option<u32>, of_snapshot: u32) -> Result<u32, EngineError> {
    match asked {
        Some(asked) if asked != of_snapshot => Err(EngineError::BadRequest(format!(
            "limits.disk_gb of a sandbox from a snapshot is that of the snapshot, {of_snapshot}: `{asked}`"
        ))),
        _ => Ok(of_snapshot),
    }
}

/// Checks a change of the lifecycle.
pub(super) fn check_update(update: &UpdateLifecycle) -> Result<(), EngineError> {
    update.ttl_seconds.map_or(Ok(()), check_ttl)
}

fn check_ttl(ttl_seconds: i64) -> Result<(), EngineError> {
    if (0..=MAX_TTL_SECONDS).contains(&ttl_seconds) {
        Ok(())
    } else {
        Err(EngineError::BadRequest(format!("ttl_seconds must be between 0 and {MAX_TTL_SECONDS}: `{ttl_seconds}`")))
    }
}

pub(super) fn check_metadata(metadata: &BTreeMap<String, String>) -> Result<(), EngineError> {
    if metadata.len() > MAX_LABELS {
        return Err(EngineError::BadRequest(format!("too many metadata keys: at most {MAX_LABELS}")));
    }
    for (key, value) in metadata {
        if key.is_empty() || key.len() > MAX_KEY {
            return Err(EngineError::BadRequest(format!("metadata keys must have 1 to {MAX_KEY} bytes")));
        }
        if value.len() > MAX_VALUE {
            return Err(EngineError::BadRequest(format!(
                "metadata value too long, at most {MAX_VALUE} bytes: `{key}`"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_and_absurd_ttls_are_refused() {
        assert!(check_ttl(0).is_ok() && check_ttl(3600).is_ok());
        for ttl in [-1, i64::MIN, i64::MAX] {
            let error = check_ttl(ttl).unwrap_err();
            assert_eq!(error.status(), 400);
            assert!(error.to_string().contains("ttl_seconds"), "{error}");
        }
    }

    #[test]
    fn the_disk_of_a_snapshot_cannot_be_changed() {
        assert_eq!((check_disk(None, 4).unwrap(), check_disk(Some(4), 4).unwrap()), (4, 4));
        assert_eq!(check_disk(Some(8), 4).unwrap_err().status(), 400);
    }

    #[test]
    fn metadata_has_limits() {
        let label = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
        assert!(check_metadata(&label(&"k".repeat(256), &"v".repeat(4096))).is_ok());
        assert!(check_metadata(&label("", "v")).is_err());
        assert!(check_metadata(&label(&"k".repeat(257), "v")).is_err());
        assert!(check_metadata(&label("k", &"v".repeat(4097))).is_err());
        let many = (0..65).map(|number| (number.to_string(), String::new())).collect();
        assert!(check_metadata(&many).is_err());
    }
}
