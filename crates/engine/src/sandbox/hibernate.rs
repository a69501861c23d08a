//! Storing a sandbox on disk, and waking it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::Sandbox;
use super::adopt::names_in;
use super::find::useless;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::image::{NewImage, remove_image};
use crate::store::{RowStatus, SandboxRow};

impl Inner {
    pub(super) fn hibernated_folder(&self, id: &str) -> PathBuf {
        self.config.home.hibernated().join(id)
    }

    /// Stores a sandbox on disk and gives its memory free. One that is stored already stays as it is. If it fails, the sandbox goes on.
    pub(crate) async fn hibernate_sandbox(self: &Arc<Self>, id: &str) -> Result<(), EngineError> {
        self.check_open()?;
        let (engine, id) = (Arc::clone(self), id.to_owned());
        self.carry_out(async move {
            let _turn = engine.turns.wait(&id).await;
            let Some(sandbox) = engine.held(&id) else {
                let row = engine.store.sandbox(&id).await?.ok_or_else(|| EngineError::sandbox_not_found(&id))?;
                return if row.status == RowStatus::Hibernated { Ok(()) } else { Err(useless(&row)) };
            };
            sandbox.clone().unended()?;
            // Requests that come from now on wait for the turn, and wake it.
            sandbox.set_hibernating(true);
            let outcome = engine.hibernate(&sandbox, &id).await;
            sandbox.set_hibernating(outcome.is_ok());
            outcome
        })
        .await
    }

    async fn hibernate(&self, sandbox: &Arc<Sandbox>, id: &str) -> Result<(), EngineError> {
        if sandbox.is_paused() {
            self.resume(sandbox).await?;
        }
        let image = self.freeze_and_copy(sandbox, self.hibernated_folder(&format!("{id}.new"))).await?;
        let stored = self.exchange_for_image(sandbox, id, image).await;
        if stored.is_err() {
            sandbox.connection.thaw().await?;
        }
        stored
    }

    /// From the moment that the row says so, the image is the sandbox; what runs is ended.
    async fn exchange_for_image(&self, sandbox: &Arc<Sandbox>, id: &str, image: NewImage) -> Result<(), EngineError> {
        let record = self.keep_image(image, self.hibernated_folder(id)).await?;
        if !sandbox.claim_end() {
            self.remove_hibernated(id);
            return Err(EngineError::SandboxGone { id: id.to_owned(), reason: "it ended meanwhile".to_owned() });
        }
        let row = SandboxRow {
            status: RowStatus::Hibernated,
            image: Some(record),
            epoch: sandbox.connection.epoch(),
            ..sandbox.row().clone()
        };
        if let Err(error) = self.store.put_sandbox(row).await {
            sandbox.release_end();
            self.remove_hibernated(id);
            return Err(error);
        }
        tracing::info!(sandbox_id = id, "sandbox hibernated");
        self.events.record(id, "sandbox.hibernated", Value::Null);
        sandbox.connection.close("it was hibernated");
        self.destroy(sandbox, id).await;
        self.sandboxes().remove(id);
        Ok(())
    }

    /// Wakes a hibernated sandbox; lets a paused one go on; one that runs stays as it is.
    pub(crate) async fn wake_sandbox(self: &Arc<Self>, id: &str) -> Result<(), EngineError> {
        self.resume_sandbox(id).await
    }

    /// The sandbox, in memory again. Whoever comes second gets what the first one woke.
    pub(super) async fn wake(self: &Arc<Self>, id: &str) -> Result<Arc<Sandbox>, EngineError> {
        self.check_open()?;
        let (engine, id) = (Arc::clone(self), id.to_owned());
        self.carry_out(async move {
            let _turn = engine.turns.wait(&id).await;
            if let Some(sandbox) = engine.held(&id) {
                return sandbox.unended();
            }
            let row = engine.store.sandbox(&id).await?.ok_or_else(|| EngineError::sandbox_not_found(&id))?;
            if row.status == RowStatus::Hibernated { engine.restore_hibernated(row).await } else { Err(useless(&row)) }
        })
        .await
    }

    /// If it fails, the sandbox stays hibernated.
    async fn restore_hibernated(self: &Arc<Self>, row: SandboxRow) -> Result<Arc<Sandbox>, EngineError> {
        let _room = self.take_room(1)?;
        let (id, folder) = (row.id.clone(), self.hibernated_folder(&row.id));
        let record = row.image.clone();
        let record = record.ok_or_else(|| EngineError::Conflict(format!("sandbox has no image on disk: {id}")))?;
        let template = self.find_template(&row.template_id).await?;
        let _permit = self.turn_to_start().await?;
        let opened = self.open_image(record, folder, &template, format!("hibernated sandbox `{id}`"));
        // Both take their time and do not need each other.
        let (opened, blank) = tokio::join!(opened, self.make_blank(&id, &template, &row.limits));
        let restored = match (opened, blank) {
            (Ok(image), Ok(blank)) => self.fill(blank, &template, Some(image.folder()), row.epoch).await,
            (Err(error), _) | (_, Err(error)) => Err(error),
        };
        let begun = match restored {
            Ok(ready) => {
                let given = self.give_secrets(&ready.connection, &row).await;
                let row =
                    SandboxRow { status: RowStatus::Running, image: None, epoch: ready.connection.epoch(), ..row };
                let egress = self.open_egress(&row);
                let sandbox = Sandbox::new(row.clone(), ready.process, ready.connection, ready.group, egress);
                match given {
                    Ok(()) => self.store.put_sandbox(row).await.map(|()| sandbox),
                    Err(error) => Err(error),
                }
            }
            Err(error) => Err(error),
        };
        match begun {
            Ok(sandbox) => {
                tracing::info!(sandbox_id = id, "sandbox woken");
                self.events.record(&id, "sandbox.woken", Value::Null);
                let sandbox = self.register(sandbox);
                self.remove_hibernated(&id);
                Ok(sandbox)
            }
            Err(error) => {
                self.remove_container(&id).await;
                Err(error)
            }
        }
    }

    /// Deletes a sandbox that lies on disk only.
    pub(super) async fn delete_hibernated(&self, id: &str) -> Result<(), EngineError> {
        self.store.remove_sandbox(id).await?;
        self.events.record(id, "sandbox.deleted", Value::Null);
        self.remove_hibernated(id);
        Ok(())
    }

    fn remove_hibernated(&self, id: &str) {
        if let Err(error) = remove_image(&self.hibernated_folder(id)) {
            tracing::warn!(sandbox_id = id, %error, "could not remove an image; the next start of the engine tries again");
        }
    }

    /// Removes images of sandboxes that are not hibernated.
    pub(super) async fn remove_stray_images(&self) -> Result<(), EngineError> {
        let rows = self.store.sandboxes().await?.into_iter();
        let hibernated: HashSet<String> =
            rows.filter(|row| row.status == RowStatus::Hibernated).map(|row| row.id).collect();
        self.remove_images_but(&self.config.home.hibernated(), &hibernated);
        Ok(())
    }

    /// Removes everything from a folder of images but those that are known.
    pub(super) fn remove_images_but(&self, folder: &Path, known: &HashSet<String>) {
        for name in names_in(folder) {
            let name = name.to_string_lossy();
            if !known.contains(name.as_ref())
                && let Err(error) = remove_image(&folder.join(name.as_ref()))
            {
                tracing::warn!(name = name.as_ref(), %error, "could not remove what is left of an image");
            }
        }
    }
}
