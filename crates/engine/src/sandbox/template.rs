//! The templates that sandboxes are made from.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use pandastack_protocol::template::TemplateInfo;
use serde_json::json;

use crate::clock;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::host;
use crate::template::{self, Template};

/// Ids of the templates whose checkpoints were compared with their hashes by this engine: their files are never changed.
#[derive(Default)]
pub(crate) struct VerifiedTemplates(Mutex<HashSet<String>>);

impl Inner {
    /// The template of this name or alias, checked that it can be restored here.
    pub(super) async fn find_template(self: &Arc<Self>, name: &str) -> Result<Arc<Template>, EngineError> {
        let (engine, name) = (Arc::clone(self), name.to_owned());
        let found = tokio::task::spawn_blocking(move || {
            let template = template::find(&engine.config.home, &name)?;
            // The folder may be reached through a link.
            let folder = engine.config.home.templates().join(&template.id);
            let folder = std::fs::canonicalize(&folder).unwrap_or(folder);
            template.verify_fits(&folder, engine.config.runsc.version.as_str())?;
            let mut verified = engine.verified.0.lock().unwrap_or_else(PoisonError::into_inner);
            if !verified.contains(&template.id) {
                template.verify_checkpoint()?;
                verified.insert(template.id.clone());
            }
            Ok(Arc::new(template))
        });
        found
            .await
            .map_err(|error| EngineError::Internal(format!("looking for the template stopped half-way: {error}")))?
    }

    /// Environment of the sandboxes of a template; empty if the template is gone.
    pub(super) fn template_env(&self, template_id: &str) -> BTreeMap<String, String> {
        template::find(&self.config.home, template_id).map(|template| template.environment).unwrap_or_default()
    }

    /// One template as the API shows it.
    pub(crate) fn template_info(&self, name: &str) -> Result<TemplateInfo, EngineError> {
        Ok(info(&template::find(&self.config.home, name)?))
    }

    /// All templates as the API shows them.
    pub(crate) fn template_infos(&self) -> Result<Vec<TemplateInfo>, EngineError> {
        Ok(template::list(&self.config.home)?.iter().map(info).collect())
    }
}

fn info(template: &Template) -> TemplateInfo {
    let extra = [
        ("id", json!(template.id)),
        ("created_at", json!(clock::rfc3339_of_ms(template.created_at.saturating_mul(1000)))),
    ];
    TemplateInfo {
        name: template.name.clone(),
        rootfs_path: template.rootfs().display().to_string(),
        size_bytes: template.rootfs_bytes,
        cpu: Some(host::cpus()),
        memory_mb: Some(host::memory_mb()),
        is_global: Some(true),
        extra: extra.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
    }
}
