//! API tokens.

use pandastack_protocol::token::{CreateToken, CreatedToken, TokenInfo};

use crate::error::Result;
use crate::http::Client;
use crate::http::request::Request;

impl Client {
    /// The caller's tokens, without their secrets.
    ///
    /// # Errors
    /// `auth` where only a person may list them.
    pub async fn list_tokens(&self) -> Result<Vec<TokenInfo>> {
        crate::sandbox::items(self.json(Request::get(&["me", "tokens"])).await?, &["items", "tokens"])
    }

    /// A new token. Its secret is in the answer and nowhere else.
    ///
    /// # Errors
    /// `auth` where only a person may make one.
    pub async fn create_token(&self, options: &CreateToken) -> Result<CreatedToken> {
        self.json(Request::post(&["me", "tokens"]).json(options)?).await
    }

    /// Revokes the token with this prefix.
    ///
    /// # Errors
    /// `not_found` for an unknown prefix.
    pub async fn revoke_token(&self, prefix: &str) -> Result<()> {
        self.empty(Request::delete(&["me", "tokens", prefix])).await
    }
}
