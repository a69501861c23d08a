//! API tokens: `/v1/me/tokens`.

use serde::{Deserialize, Serialize};

/// An API token, without its secret.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "token.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenInfo {
    /// `pds_` and the first 8 hexadecimal digits.
    pub prefix: String,
    /// The caller's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// RFC 3339.
    #[serde(default)]
    pub created_at: String,
}

/// Body of `POST /v1/me/tokens`.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "token.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateToken {
    /// A name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// Answer of `POST /v1/me/tokens`: the only time that the secret is shown.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "token.ts", optional_fields))]
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreatedToken {
    /// `pds_` and 32 hexadecimal digits.
    pub token: String,
    /// The rest.
    #[serde(flatten)]
    pub info: TokenInfo,
}

impl std::fmt::Debug for CreatedToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("CreatedToken").field("token", &"REDACTED").field("info", &self.info).finish()
    }
}

/// Answer of `GET /v1/me/tokens`.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "token.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenList {
    /// The tokens.
    #[serde(default)]
    pub items: Vec<TokenInfo>,
}
