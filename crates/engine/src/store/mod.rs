//! What the engine remembers, in SQLite under its home. Rows are written before the thing they describe exists, and corrected when the
//! engine opens by looking at what really runs.

mod event;
mod reserve;
mod sandbox;
mod schema;
mod snapshot;
mod token;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

pub use sandbox::{RowStatus, SandboxRow};
pub use snapshot::SnapshotRow;

use crate::error::EngineError;

/// The workspace of every row, as long as the engine serves one user.
pub const LOCAL_WORKSPACE: &str = "local";

/// The database of one engine. Clones share it.
#[derive(Clone)]
pub struct Store {
    connection: Arc<Mutex<Connection>>,
}

impl Store {
    /// Opens the database at `path`, making it or bringing it up to date.
    ///
    /// # Errors
    /// If the file is no database, or was written by a newer engine.
    pub fn open(path: &Path) -> Result<Self, EngineError> {
        let mut connection = Connection::open(path)?;
        schema::prepare(&mut connection)?;
        reserve::hold(&connection, path)?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)) })
    }

    /// Runs `work` off the async threads: every change waits for the disk.
    async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, EngineError> {
        let connection = Arc::clone(&self.connection);
        let done =
            tokio::task::spawn_blocking(move || work(&mut connection.lock().unwrap_or_else(PoisonError::into_inner)))
                .await;
        done.map_err(|error| EngineError::Internal(format!("store task failed: {error}")))?.map_err(EngineError::from)
    }
}

#[cfg(test)]
pub(crate) mod tests;
