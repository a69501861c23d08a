//! Tables and their versions.

use rusqlite::Connection;

use crate::error::EngineError;

/// One entry for each version of the schema: how to get there from the one before.
const MIGRATIONS: [&str; 4] = [
    "
    CREATE TABLE sandboxes (
        id TEXT PRIMARY KEY,
        workspace TEXT NOT NULL,
        template TEXT NOT NULL,
        template_id TEXT NOT NULL,
        status TEXT NOT NULL,
        reason TEXT,
        metadata TEXT NOT NULL,
        ttl_seconds INTEGER NOT NULL,
        persistent INTEGER NOT NULL,
        cpu INTEGER NOT NULL,
        memory_mb INTEGER NOT NULL,
        boot_mode TEXT,
        boot_ms INTEGER,
        created_at TEXT NOT NULL,
        ended_at INTEGER,
        epoch INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE tokens (
        prefix TEXT PRIMARY KEY,
        workspace TEXT NOT NULL,
        hash BLOB NOT NULL UNIQUE,
        label TEXT,
        created_at TEXT NOT NULL
    ) STRICT;
",
    "
    ALTER TABLE sandboxes ADD COLUMN from_snapshot TEXT;
    ALTER TABLE sandboxes ADD COLUMN image TEXT;
    CREATE TABLE snapshots (
        id TEXT PRIMARY KEY,
        workspace TEXT NOT NULL,
        sandbox_id TEXT NOT NULL,
        template TEXT NOT NULL,
        template_id TEXT NOT NULL,
        image TEXT,
        created_at TEXT NOT NULL
    ) STRICT;
",
    "
    ALTER TABLE sandboxes ADD COLUMN limits TEXT;
    ALTER TABLE snapshots ADD COLUMN disk_gb INTEGER NOT NULL DEFAULT 4;
",
    "
    ALTER TABLE sandboxes ADD COLUMN egress TEXT;
    ALTER TABLE snapshots ADD COLUMN egress TEXT;
    CREATE TABLE events (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        sandbox_id TEXT NOT NULL,
        time TEXT NOT NULL,
        type TEXT NOT NULL,
        payload TEXT
    ) STRICT;
    CREATE INDEX events_of_a_sandbox ON events (sandbox_id, number);
",
];

/// Sets the connection up and migrates the database.
pub(super) fn prepare(connection: &mut Connection) -> Result<(), EngineError> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    let version: usize = connection.pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0))? as usize;
    if version > MIGRATIONS.len() {
        return Err(EngineError::Internal(format!(
            "database was written by a newer engine: schema `{version}`, this engine knows `{}`",
            MIGRATIONS.len()
        )));
    }
    if version == MIGRATIONS.len() {
        return Ok(());
    }
    let transaction = connection.transaction()?;
    for migration in &MIGRATIONS[version..] {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "user_version", MIGRATIONS.len() as u32)?;
    transaction.commit()?;
    Ok(())
}
