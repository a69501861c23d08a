//! What a sandbox may reach: `/v1/sandboxes/{id}/egress`, and the fields `egress` and `secrets` of a create.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// What a sandbox may reach.
///
/// An entry of a list is a name (`example.com`), all names below one (`*.example.com`), an address or a network in CIDR form (`10.1.0.0/16`,
/// `2001:db8::/32`), or `*` for everything; each with a port where it counts for that port only (`example.com:443`, `[2001:db8::1]:443`);
/// `:*` means every port, as no port does.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "egress.ts"))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "must be `all`, `none`, or an object with the lists `allow` and `deny`")]
pub enum Egress {
    /// In one word.
    Preset(EgressPreset),
    /// By lists.
    Lists(EgressLists),
}

impl Default for Egress {
    fn default() -> Self {
        Self::Preset(EgressPreset::All)
    }
}

/// What a sandbox may reach, in one word.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "egress.ts"))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EgressPreset {
    /// The public internet. The default.
    #[default]
    All,
    /// Nothing.
    None,
}

/// What a sandbox may reach, by lists. `deny` wins over `allow`.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "egress.ts", optional_fields))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EgressLists {
    /// The only destinations that may be reached, at most 256. Left out: the public internet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// Destinations that may not be reached, at most 256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny: Option<Vec<String>>,
}

/// Body of `PUT …/egress`.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "egress.ts"))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateEgress {
    /// What the sandbox may reach from now on.
    pub egress: Egress,
}

/// Answer of `GET …/egress` and `PUT …/egress`.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "egress.ts"))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EgressInfo {
    /// What the sandbox may reach.
    #[serde(default)]
    pub egress: Egress,
    /// Names of its secrets, each with the hosts that get its value.
    #[serde(default)]
    pub secrets: BTreeMap<String, Vec<String>>,
}

/// A secret that programs in the sandbox can use without seeing it.
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(export, export_to = "egress.ts"))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Secret {
    /// The value: 1 to 8192 printable ASCII characters.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    pub value: SecretValue,
    /// Hosts that get it, 1 to 64: names or `*.` names, with or without a port.
    pub hosts: Vec<String>,
}

/// Text that is never shown.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SecretValue(String);

impl SecretValue {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The text itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SecretValue(…)")
    }
}

impl<'de> Deserialize<'de> for SecretValue {
    /// An error does not repeat what was found, as that of `String` would.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) => Ok(Self(text)),
            _ => Err(serde::de::Error::custom("the value of a secret must be a string")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_forms_are_read_and_written() {
        for text in
            [json!("all"), json!("none"), json!({"allow": ["a.example:443"]}), json!({"allow": [], "deny": ["*"]})]
        {
            let egress: Egress = serde_json::from_value(text.clone()).unwrap();
            assert_eq!(serde_json::to_value(&egress).unwrap(), text);
        }
        for wrong in [json!("some"), json!({"allow": "a"}), json!({"alow": []}), json!(1)] {
            let error = serde_json::from_value::<Egress>(wrong).unwrap_err().to_string();
            assert!(error.contains("must be `all`, `none`, or an object"), "{error}");
        }
    }

    #[test]
    fn a_value_is_not_shown() {
        let secret: Secret = serde_json::from_value(json!({"value": "hush-hush", "hosts": ["a.example"]})).unwrap();
        assert!(!format!("{secret:?}").contains("hush"));
        assert_eq!(secret.value.reveal(), "hush-hush");
        let error = serde_json::from_value::<Secret>(json!({"value": 1234567, "hosts": []})).unwrap_err().to_string();
        assert!(!error.contains("1234567"), "{error}");
    }
}
