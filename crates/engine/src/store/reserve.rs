//! Disk space that the database holds from the start: what becomes of sandboxes can still be written down when the disk is full.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

/// Size of the log, and of the pages in the database that are free for new rows, in bytes.
const RESERVED: u64 = 1 << 20;

/// Pages after which the log is begun anew. They fit into what is reserved.
const CHECKPOINT_PAGES: u32 = 128;

/// Lets the log of the database at `path` and the database itself be larger than they need to be: both are written over from then on, and not
/// extended. Without enough disk space they stay as they are.
pub(super) fn hold(connection: &Connection, path: &Path) -> rusqlite::Result<()> {
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    let log = path.with_extension("db-wal");
    let is_held = fs::metadata(&log).is_ok_and(|log| log.len() >= RESERVED);
    let free_pages: u64 = connection.pragma_query_value(None, "freelist_count", |row| row.get::<_, u32>(0))?.into();
    if is_held && free_pages >= u64::from(CHECKPOINT_PAGES) {
        return Ok(());
    }
    let grown = connection.execute_batch(&format!(
        "BEGIN; CREATE TABLE held (bytes BLOB); INSERT INTO held VALUES (zeroblob({RESERVED})); COMMIT; DROP TABLE held;"
    ));
    if let Err(error) = grown {
        tracing::warn!(%error, "there is no disk space that the store could hold back");
        if !connection.is_autocommit() {
            connection.execute_batch("ROLLBACK")?;
        }
    }
    // Everything goes from the log into the database; what comes next is written from the start of the log.
    connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()))
}
