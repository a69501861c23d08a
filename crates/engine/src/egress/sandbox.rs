//! The egress of one sandbox: its rules, its secrets, and its refused attempts.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::watch;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::keys::Keys;
use super::policy::{Refusal, printable};
use super::rules::Rules;
use super::secret::Secrets;
use crate::error::EngineError;
use crate::event::EventLog;

/// Refused attempts that become events in one [`WINDOW`]; the others are counted.
const MOST_REFUSALS: u32 = 20;

/// See [`MOST_REFUSALS`].
const WINDOW: Duration = Duration::from_secs(10);

/// What the proxy knows of one sandbox.
pub struct SandboxEgress {
    sandbox_id: String,
    rules: watch::Sender<Arc<Rules>>,
    secrets: Secrets,
    keys: Arc<Keys>,
    events: EventLog,
    refusals: Mutex<Refusals>,
}

/// Refused attempts of the current window.
#[derive(Debug, Default)]
struct Refusals {
    began: Option<Instant>,
    noted: u32,
    dropped: u64,
}

impl Refusals {
    /// Whether one more becomes an event; if so, how many before it did not.
    fn admit(&mut self, now: Instant) -> Option<u64> {
        if self.began.is_none_or(|began| now.duration_since(began) >= WINDOW) {
            self.began = Some(now);
            self.noted = 0;
        }
        if self.noted == MOST_REFUSALS {
            self.dropped += 1;
            return None;
        }
        self.noted += 1;
        Some(std::mem::take(&mut self.dropped))
    }
}

impl SandboxEgress {
    /// The egress of a sandbox, whose refused attempts go to `events`.
    pub fn new(sandbox_id: &str, rules: Rules, secrets: Secrets, keys: Arc<Keys>, events: EventLog) -> Arc<Self> {
        Arc::new(Self {
            sandbox_id: sandbox_id.to_owned(),
            rules: watch::Sender::new(Arc::new(rules)),
            secrets,
            keys,
            events,
            refusals: Mutex::default(),
        })
    }

    /// The rules as they are now.
    pub fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules.borrow())
    }

    /// Changes the rules. Connections that they do not allow are closed.
    pub fn set_rules(&self, rules: Rules) {
        self.rules.send_replace(Arc::new(rules));
    }

    /// Speaks TLS as the host of a secret, a lower-case name.
    pub(super) fn acceptor(&self, host: &str) -> Result<TlsAcceptor, String> {
        self.keys.authority().map_err(|error| error.to_string())?.acceptor(host)
    }

    /// Speaks TLS to the real host.
    pub(super) fn connector(&self) -> Result<TlsConnector, EngineError> {
        self.keys.connector()
    }

    /// Its secrets.
    pub(super) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Where its events go.
    #[cfg(test)]
    pub(super) fn events(&self) -> &EventLog {
        &self.events
    }

    pub(super) fn changes(&self) -> watch::Receiver<Arc<Rules>> {
        self.rules.subscribe()
    }

    /// Notes an attempt that was refused.
    pub(super) fn note_refusal(&self, host: &str, port: u16, refusal: &Refusal) {
        let Some(dropped) = self.refusals.lock().unwrap_or_else(PoisonError::into_inner).admit(Instant::now()) else {
            return;
        };
        let (host, reason) = (printable(host), refusal.kind.to_string());
        tracing::info!(sandbox_id = self.sandbox_id, host, port, reason, "egress refused");
        let mut payload = json!({"host": host, "port": port, "reason": reason});
        if dropped > 0 {
            payload["not_shown"] = dropped.into();
        }
        self.events.record(&self.sandbox_id, "egress.denied", payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_refusals_is_counted_not_written() {
        let (mut refusals, now) = (Refusals::default(), Instant::now());
        let noted = (0..1000).filter(|_| refusals.admit(now).is_some()).count();
        assert_eq!(noted, MOST_REFUSALS as usize);
        assert_eq!(refusals.admit(now + WINDOW), Some(980));
        assert_eq!(refusals.admit(now + WINDOW), Some(0));
    }
}
