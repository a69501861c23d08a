//! API tokens: only their hashes are kept.

use pandastack_protocol::token::{CreatedToken, TokenInfo};
use rusqlite::{OptionalExtension, params};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{LOCAL_WORKSPACE, Store};
use crate::clock;
use crate::error::EngineError;

/// What every token begins with.
const PREFIX: &str = "pds_";

/// Length of the part of a token that is shown: `pds_` and 8 digits.
const SHOWN: usize = PREFIX.len() + 8;

/// Longest label, in bytes.
const MAX_LABEL: usize = 256;

impl Store {
    /// Makes a token of 128 random bits and keeps its hash.
    pub async fn create_token(&self, label: Option<String>) -> Result<CreatedToken, EngineError> {
        if label.as_ref().is_some_and(|label| label.len() > MAX_LABEL) {
            return Err(EngineError::BadRequest(format!("label too long: at most {MAX_LABEL} bytes")));
        }
        let token = new_secret()?;
        let info = TokenInfo { prefix: token[..SHOWN].to_owned(), label, created_at: clock::now_rfc3339() };
        let (row, hash) = (info.clone(), hash(&token));
        self.call(move |connection| {
            let sql = "INSERT INTO tokens (prefix, workspace, hash, label, created_at) VALUES (?1, ?2, ?3, ?4, ?5)";
            connection.execute(sql, params![row.prefix, LOCAL_WORKSPACE, hash, row.label, row.created_at]).map(drop)
        })
        .await?;
        Ok(CreatedToken { token, info })
    }

    /// All tokens, oldest first.
    pub async fn list_tokens(&self) -> Result<Vec<TokenInfo>, EngineError> {
        self.call(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT prefix, label, created_at FROM tokens ORDER BY rowid")?;
            let read = |row: &rusqlite::Row<'_>| {
                Ok(TokenInfo { prefix: row.get(0)?, label: row.get(1)?, created_at: row.get(2)? })
            };
            statement.query_map([], read)?.collect()
        })
        .await
    }

    /// Revokes a token.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] if no token has this prefix.
    pub async fn revoke_token(&self, prefix: &str) -> Result<(), EngineError> {
        let wanted = prefix.to_owned();
        let removed =
            self.call(move |connection| connection.execute("DELETE FROM tokens WHERE prefix = ?1", [wanted])).await?;
        if removed == 0 { Err(EngineError::NotFound("token not found".to_owned())) } else { Ok(()) }
    }

    /// True if `token` is the secret of a token. The hash is what is looked up, so timing tells nothing about a secret.
    pub async fn verify_token(&self, token: &str) -> Result<bool, EngineError> {
        if !token.starts_with(PREFIX) {
            return Ok(false);
        }
        let hash = hash(token);
        let found = self
            .call(move |connection| {
                connection.query_row("SELECT 1 FROM tokens WHERE hash = ?1", [hash], |_| Ok(())).optional()
            })
            .await?;
        Ok(found.is_some())
    }
}

/// A version 4 UUID has 122 random bits, so the secret is made of raw random bytes instead.
fn new_secret() -> Result<String, EngineError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| EngineError::Internal(format!("no random bytes: {error}")))?;
    Ok(format!("{PREFIX}{}", Uuid::from_bytes(bytes).simple()))
}

fn hash(token: &str) -> Vec<u8> {
    Sha256::digest(token.as_bytes()).to_vec()
}
