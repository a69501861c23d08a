//! Events of sandboxes.

use pandastack_protocol::event::SandboxEvent;
use rusqlite::{Row, params};

use super::Store;
use crate::error::EngineError;

/// Events that are kept of each sandbox.
const MOST_KEPT: usize = 1000;

fn read(row: &Row<'_>) -> rusqlite::Result<SandboxEvent> {
    let payload: Option<String> = row.get("payload")?;
    Ok(SandboxEvent {
        time: row.get("time")?,
        sandbox_id: row.get("sandbox_id")?,
        kind: row.get("type")?,
        payload: payload.and_then(|payload| serde_json::from_str(&payload).ok()),
        ..SandboxEvent::default()
    })
}

impl Store {
    /// Appends events, and forgets the oldest ones of their sandboxes.
    pub async fn put_events(&self, events: Vec<SandboxEvent>) -> Result<(), EngineError> {
        self.call(move |connection| {
            let transaction = connection.transaction()?;
            for event in &events {
                let payload = event.payload.as_ref().map(ToString::to_string);
                transaction
                    .prepare_cached("INSERT INTO events (sandbox_id, time, type, payload) VALUES (?1, ?2, ?3, ?4)")?
                    .execute(params![event.sandbox_id, event.time, event.kind, payload])?;
            }
            let mut sandboxes: Vec<&str> = events.iter().map(|event| event.sandbox_id.as_str()).collect();
            sandboxes.sort_unstable();
            sandboxes.dedup();
            for sandbox in sandboxes {
                transaction
                    .prepare_cached(
                        "DELETE FROM events WHERE sandbox_id = ?1 AND number <=
                         (SELECT number FROM events WHERE sandbox_id = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)",
                    )?
                    .execute(params![sandbox, MOST_KEPT])?;
            }
            transaction.commit()
        })
        .await
    }

    /// The last `tail` events of a sandbox, oldest first; all if `None`.
    pub async fn events(&self, sandbox_id: &str, tail: Option<usize>) -> Result<Vec<SandboxEvent>, EngineError> {
        let (sandbox_id, tail) = (sandbox_id.to_owned(), tail.unwrap_or(MOST_KEPT).min(MOST_KEPT));
        self.call(move |connection| {
            let sql = "SELECT * FROM events WHERE sandbox_id = ?1 ORDER BY number DESC LIMIT ?2";
            let mut statement = connection.prepare_cached(sql)?;
            let mut events: Vec<_> = statement.query_map(params![sandbox_id, tail], read)?.collect::<Result<_, _>>()?;
            events.reverse();
            Ok(events)
        })
        .await
    }

    /// Forgets events from before `time` of sandboxes that are forgotten.
    pub async fn prune_events(&self, time: String) -> Result<(), EngineError> {
        self.call(move |connection| {
            let sql = "DELETE FROM events WHERE time < ?1 AND sandbox_id NOT IN (SELECT id FROM sandboxes)";
            connection.execute(sql, [time]).map(drop)
        })
        .await
    }
}
