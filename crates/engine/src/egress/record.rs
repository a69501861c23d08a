//! What is remembered of the egress of a sandbox or snapshot.

use std::collections::BTreeMap;

use pandastack_protocol::egress::{Egress, EgressInfo, EgressPreset};
use serde::{Deserialize, Serialize};

use super::rules::Rules;
use super::secret::SecretRecord;

/// Rules and secrets. A copy has those of what it was copied from, unless its maker says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EgressRecord {
    /// What may be reached.
    #[serde(default)]
    pub egress: Egress,
    /// Secrets, encrypted.
    #[serde(default)]
    pub secrets: Vec<SecretRecord>,
}

impl EgressRecord {
    /// Reads what the store holds: nothing is the default; what cannot be read allows nothing.
    pub(crate) fn from_text(text: Option<&str>) -> Self {
        let Some(text) = text else { return Self::default() };
        serde_json::from_str(text).unwrap_or_else(|error| {
            tracing::error!(%error, "what a sandbox may reach cannot be read: it reaches nothing");
            Self { egress: Egress::Preset(EgressPreset::None), secrets: Vec::new() }
        })
    }

    /// As the store holds it.
    pub(crate) fn text(&self) -> serde_json::Result<Option<String>> {
        if *self == Self::default() { Ok(None) } else { serde_json::to_string(self).map(Some) }
    }

    /// The rules, ready to be applied; entries that cannot be read allow nothing.
    pub(crate) fn rules(&self) -> Rules {
        Rules::parse(&self.egress).unwrap_or_else(|error| {
            tracing::error!(error, "what a sandbox may reach makes no sense: it reaches nothing");
            Rules::off()
        })
    }

    /// The environment variables that hold placeholders.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (String, String)> {
        self.secrets.iter().map(|secret| (secret.name.clone(), secret.placeholder.clone()))
    }

    /// As the API shows it.
    pub(crate) fn info(&self) -> EgressInfo {
        let secrets: BTreeMap<_, _> =
            self.secrets.iter().map(|secret| (secret.name.clone(), secret.hosts.clone())).collect();
        EgressInfo { egress: self.egress.clone(), secrets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_allows_nothing() {
        assert_eq!(EgressRecord::from_text(None), EgressRecord::default());
        assert_eq!(EgressRecord::default().text().unwrap(), None);
        assert_eq!(EgressRecord::from_text(Some("{")).rules(), Rules::off());
        assert_eq!(EgressRecord::from_text(Some(r#"{"egress": {"allow": ["10.1.1.1/8"]}}"#)).rules(), Rules::off());
        let none = EgressRecord::from_text(Some(r#"{"egress": "none"}"#));
        assert_eq!(EgressRecord::from_text(none.text().unwrap().as_deref()), none);
    }
}
