//! Secrets that programs in a sandbox use without seeing them: the sandbox holds a placeholder, the proxy puts the value in.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue, PROXY_AUTHORIZATION};
use pandastack_protocol::egress::{Secret, SecretValue};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::keys::Keys;
use super::policy::printable;
use super::rule::Rule;
use crate::error::EngineError;

/// Most secrets of one sandbox.
const MAX_SECRETS: usize = 64;

/// Most hosts of one secret.
const MAX_HOSTS: usize = 64;

/// Longest value, in bytes.
const MAX_VALUE: usize = 8192;

/// Longest name, in bytes.
const MAX_NAME: usize = 128;

/// Shorter values are not looked for in answers, where they could stand by chance.
const SHORTEST_HIDDEN: usize = 8;

/// What is remembered of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretRecord {
    /// The environment variable that holds the placeholder.
    pub name: String,
    /// Hosts that get the value.
    pub hosts: Vec<String>,
    /// What programs see.
    pub placeholder: String,
    /// The value, encrypted with a key of the engine.
    sealed: String,
}

/// The secrets of one sandbox, ready to be put in.
#[derive(Debug, Default)]
pub struct Secrets(Vec<Opened>);

#[derive(Debug)]
struct Opened {
    placeholder: String,
    value: SecretValue,
    hosts: Vec<Rule>,
}

/// Checks what a caller asked for.
///
/// # Errors
/// Text for people that names the secret, never its value.
pub fn check(secrets: &BTreeMap<String, Secret>) -> Result<(), String> {
    if secrets.len() > MAX_SECRETS {
        return Err(format!("too many secrets: {}, at most {MAX_SECRETS}", secrets.len()));
    }
    secrets.iter().try_for_each(|(name, secret)| {
        check_one(name, secret).map_err(|problem| format!("secrets: {problem}: `{}`", printable(name)))
    })
}

fn check_one(name: &str, secret: &Secret) -> Result<(), String> {
    let is_name = !name.is_empty()
        && name.len() <= MAX_NAME
        && !name.starts_with(|letter: char| letter.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name {
        return Err(format!(
            "a name must be one of an environment variable, at most {MAX_NAME} letters, digits and `_`"
        ));
    }
    let value = secret.value.reveal();
    if value.is_empty() || value.len() > MAX_VALUE || !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Err(format!("a value must be 1 to {MAX_VALUE} printable ASCII characters"));
    }
    if secret.hosts.is_empty() || secret.hosts.len() > MAX_HOSTS {
        return Err(format!("a secret needs 1 to {MAX_HOSTS} hosts"));
    }
    secret.hosts.iter().try_for_each(|host| match Rule::parse(host) {
        Ok(rule) if rule.is_everything() || rule.is_network() => {
            Err(format!("a host must be a name or a `*.` name, not `{}`; its secret", printable(host)))
        }
        Ok(_) => Ok(()),
        Err(problem) => Err(format!("host `{}` is {problem}; its secret", printable(host))),
    })
}

/// Encrypts secrets that passed [`check`]. Each gets a new placeholder.
///
/// # Errors
/// If the engine's key cannot be read or made.
pub fn seal(secrets: &BTreeMap<String, Secret>, keys: &Keys) -> Result<Vec<SecretRecord>, EngineError> {
    let seal_one = |(name, secret): (&String, &Secret)| {
        let placeholder = format!("pandastack-secret-{}", Uuid::new_v4().simple());
        let sealed = keys.seal(secret.value.reveal(), &placeholder)?;
        Ok(SecretRecord { name: name.clone(), hosts: secret.hosts.clone(), placeholder, sealed })
    };
    secrets.iter().map(seal_one).collect()
}

impl Secrets {
    /// Decrypts what is remembered. A secret that cannot be decrypted is left out, and said so in the log: its placeholder is what goes out then.
    pub fn open(records: &[SecretRecord], keys: &Keys) -> Self {
        let open_one = |record: &SecretRecord| match keys.open(&record.sealed, &record.placeholder) {
            Ok(value) => Some(Opened {
                placeholder: record.placeholder.clone(),
                value: SecretValue::new(value),
                hosts: record.hosts.iter().filter_map(|host| Rule::parse(host).ok()).collect(),
            }),
            Err(error) => {
                tracing::error!(name = record.name, %error, "a secret cannot be decrypted");
                None
            }
        };
        Self(records.iter().filter_map(open_one).collect())
    }

    /// True if a secret is meant for this host, so that its TLS must end here.
    pub(super) fn are_meant_for(&self, host: &str, port: u16) -> bool {
        self.meant_for(host, port, true).next().is_some()
    }

    /// Puts the values into the headers of a request to this host. Without TLS only those that were meant for this very port: nobody sends a
    /// secret in the clear by mistake.
    pub(super) fn fill(&self, headers: &mut HeaderMap, host: &str, port: u16, is_tls: bool) {
        for secret in self.meant_for(host, port, is_tls) {
            for (name, value) in headers.iter_mut() {
                let is_basic = *name == AUTHORIZATION || *name == PROXY_AUTHORIZATION;
                if let Some(filled) = secret.filled(value, is_basic) {
                    *value = filled;
                }
            }
        }
    }

    /// Puts the placeholders back into the headers of an answer.
    pub(super) fn hide(&self, headers: &mut HeaderMap, host: &str, port: u16) {
        for secret in self.meant_for(host, port, true).filter(|secret| secret.value.reveal().len() >= SHORTEST_HIDDEN) {
            for value in headers.values_mut() {
                if let Some(hidden) = replaced(value, secret.value.reveal(), &secret.placeholder) {
                    *value = hidden;
                }
            }
        }
    }

    fn meant_for(&self, host: &str, port: u16, is_tls: bool) -> impl Iterator<Item = &Opened> {
        let host = super::dial::bare(host);
        self.0.iter().filter(move |secret| {
            secret.hosts.iter().any(|rule| rule.holds_name(&host, port) && (is_tls || rule.has_port()))
        })
    }
}

impl Opened {
    fn filled(&self, value: &HeaderValue, may_be_basic: bool) -> Option<HeaderValue> {
        if may_be_basic && let Some(filled) = self.filled_basic(value) {
            return Some(filled);
        }
        replaced(value, &self.placeholder, self.value.reveal())
    }

    /// User and password are one base64 text.
    fn filled_basic(&self, value: &HeaderValue) -> Option<HeaderValue> {
        let (scheme, encoded) = value.to_str().ok()?.split_once(' ')?;
        let pair = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
        if !scheme.eq_ignore_ascii_case("basic") || !pair.contains(&self.placeholder) {
            return None;
        }
        sensitive(&format!("Basic {}", STANDARD.encode(pair.replace(&self.placeholder, self.value.reveal()))))
    }
}

fn replaced(value: &HeaderValue, from: &str, to: &str) -> Option<HeaderValue> {
    let text = value.to_str().ok()?;
    if text.contains(from) { sensitive(&text.replace(from, to)) } else { None }
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn asked(secrets: Value) -> BTreeMap<String, Secret> {
        serde_json::from_value(secrets).unwrap()
    }

    fn opened(hosts: &[&str]) -> (Secrets, String) {
        let folder = tempfile::tempdir().unwrap();
        let keys = Keys::in_folder(folder.path().to_owned());
        let records = seal(&asked(json!({"KEY": {"value": "real-value", "hosts": hosts}})), &keys).unwrap();
        assert!(!serde_json::to_string(&records).unwrap().contains("real-value"));
        assert!(!format!("{records:?}").contains("real-value"));
        let secrets = Secrets::open(&records, &keys);
        assert!(!format!("{secrets:?}").contains("real-value"));
        (secrets, records[0].placeholder.clone())
    }

    fn sent(secrets: &Secrets, header: &str, host: &str, port: u16, is_tls: bool) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, header.parse().unwrap());
        secrets.fill(&mut headers, host, port, is_tls);
        headers[AUTHORIZATION].to_str().unwrap().to_owned()
    }

    #[test]
    fn only_the_hosts_that_are_meant_get_the_value() {
        let (secrets, placeholder) = opened(&["api.example", "*.b.example:8443"]);
        let bearer = format!("Bearer {placeholder}");
        for (host, port) in [("api.example", 443), ("API.example.", 8080), ("x.b.example", 8443)] {
            assert_eq!(sent(&secrets, &bearer, host, port, true), "Bearer real-value", "{host}");
            assert!(secrets.are_meant_for(host, port));
        }
        for (host, port) in [("other.example", 443), ("api.example.evil.example", 443), ("x.b.example", 443)] {
            assert_eq!(sent(&secrets, &bearer, host, port, true), bearer, "{host}");
            assert!(!secrets.are_meant_for(host, port));
        }
    }

    #[test]
    fn without_tls_only_a_host_with_a_port_gets_it() {
        let (secrets, placeholder) = opened(&["api.example", "plain.example:8080"]);
        assert_eq!(sent(&secrets, &placeholder, "api.example", 80, false), placeholder);
        assert_eq!(sent(&secrets, &placeholder, "plain.example", 8080, false), "real-value");
        assert_eq!(sent(&secrets, &placeholder, "plain.example", 80, false), placeholder);
    }

    #[test]
    fn a_placeholder_within_basic_credentials_is_found() {
        let (secrets, placeholder) = opened(&["api.example"]);
        let header = format!("Basic {}", STANDARD.encode(format!("user:{placeholder}")));
        let filled = sent(&secrets, &header, "api.example", 443, true);
        assert_eq!(filled, format!("Basic {}", STANDARD.encode("user:real-value")));
    }

    #[test]
    fn an_answer_that_repeats_the_value_shows_the_placeholder() {
        let (secrets, placeholder) = opened(&["api.example"]);
        let mut headers = HeaderMap::new();
        headers.insert("x-echo", "got real-value".parse().unwrap());
        secrets.hide(&mut headers, "api.example", 443);
        assert_eq!(headers["x-echo"], format!("got {placeholder}"));
    }

    #[test]
    fn what_makes_no_sense_is_refused_without_the_value() {
        for (secrets, problem) in [
            (json!({"A-B": {"value": "hush", "hosts": ["a.example"]}}), "environment variable"),
            (json!({"1A": {"value": "hush", "hosts": ["a.example"]}}), "environment variable"),
            (json!({"": {"value": "hush", "hosts": ["a.example"]}}), "environment variable"),
            (json!({"A": {"value": "hu\r\nsh", "hosts": ["a.example"]}}), "printable"),
            (json!({"A": {"value": "", "hosts": ["a.example"]}}), "printable"),
            (json!({"A": {"value": "hush", "hosts": []}}), "1 to 64 hosts"),
            (json!({"A": {"value": "hush", "hosts": ["*"]}}), "must be a name"),
            (json!({"A": {"value": "hush", "hosts": ["10.0.0.0/8"]}}), "must be a name"),
            (json!({"A": {"value": "hush", "hosts": ["https://a.example"]}}), "`https://a.example`"),
        ] {
            let error = check(&asked(secrets)).unwrap_err();
            assert!(error.contains(problem) && !error.contains("hush"), "{error}");
        }
        assert!(check(&asked(json!({"A_1": {"value": "x y", "hosts": ["a.example", "*.b.example:443"]}}))).is_ok());
    }

    #[test]
    fn a_value_cannot_be_read_with_another_key_or_under_another_placeholder() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [keys, others] = folders.each_ref().map(|folder| Keys::in_folder(folder.path().to_owned()));
        let sealed = keys.seal("value", "placeholder").unwrap();
        assert_eq!(Keys::in_folder(folders[0].path().to_owned()).open(&sealed, "placeholder").unwrap(), "value");
        assert!(keys.open(&sealed, "other").is_err());
        assert!(others.open(&sealed, "placeholder").is_err());
        assert!(keys.open("AAAA", "placeholder").is_err());
    }
}
