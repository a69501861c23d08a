//! What a sandbox may reach, and what it is told about its secrets.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use pandastack_protocol::egress::{Egress, EgressInfo};
use pandastack_protocol::sandbox::CreateSandbox;
use serde_json::json;

use super::find::{Found, useless};
use super::identity;
use crate::egress::SandboxEgress;
use crate::egress::record::EgressRecord;
use crate::egress::rules::Rules;
use crate::egress::secret::{self, Secrets};
use crate::engine::Inner;
use crate::error::EngineError;
use crate::guest::{Connection, GuestClient};
use crate::store::{RowStatus, SandboxRow};

/// How long an agent may take to learn of secrets.
const HELLO_DEADLINE: Duration = Duration::from_secs(30);

/// Longest bundle of certificates that the engine adds to, in bytes.
const MAX_BUNDLE: usize = 4 << 20;

impl Inner {
    /// What a new sandbox may reach: what its maker says, else what it `inherits`.
    pub(super) fn plan_egress(
        &self,
        request: &mut CreateSandbox,
        inherits: EgressRecord,
    ) -> Result<EgressRecord, EngineError> {
        let mut record = inherits;
        if let Some(egress) = request.egress.take() {
            Rules::parse(&egress).map_err(EngineError::BadRequest)?;
            record.egress = egress;
        }
        if let Some(secrets) = request.secrets.take() {
            secret::check(&secrets).map_err(EngineError::BadRequest)?;
            if let Some(name) = secrets.keys().find(|name| identity::is_reserved(name)) {
                return Err(EngineError::BadRequest(format!(
                    "secrets: the engine sets this variable itself: `{name}`"
                )));
            }
            record.secrets = secret::seal(&secrets, &self.keys)?;
        }
        Ok(record)
    }

    /// The egress of a sandbox that begins to take requests.
    pub(super) fn open_egress(&self, row: &SandboxRow) -> Arc<SandboxEgress> {
        let secrets = Secrets::open(&row.egress.secrets, &self.keys);
        SandboxEgress::new(&row.id, row.egress.rules(), secrets, Arc::clone(&self.keys), self.events.clone())
    }

    /// Tells a sandbox the placeholders of its secrets, and lets it trust the authority that answers for their hosts.
    pub(super) async fn give_secrets(&self, connection: &Arc<Connection>, row: &SandboxRow) -> Result<(), EngineError> {
        if row.egress.secrets.is_empty() {
            return Ok(());
        }
        let mut env = self.template_env(&row.template_id);
        env.extend(row.egress.environment());
        connection.hello(&identity::hello(&row.id, &env, &row.limits, false), HELLO_DEADLINE).await?;
        trust(&connection.client(&Arc::default()), self.keys.authority()?.pem()).await
    }

    /// What a sandbox may reach. Neither use of it nor a reason to wake it.
    pub(crate) async fn egress(&self, id: &str) -> Result<EgressInfo, EngineError> {
        match self.find(id).await? {
            Found::Held(sandbox) => Ok(sandbox.row().egress.info()),
            Found::Stored(row) if row.status == RowStatus::Hibernated => Ok(row.egress.info()),
            Found::Stored(row) => Err(useless(&row)),
        }
    }

    /// Changes what a sandbox may reach; connections that are no longer allowed are closed.
    pub(crate) async fn set_egress(&self, id: &str, egress: Egress) -> Result<EgressInfo, EngineError> {
        let rules = Rules::parse(&egress).map_err(EngineError::BadRequest)?;
        // A sandbox that hibernates or wakes meanwhile would forget the change.
        let _turn = self.turns.wait(id).await;
        let found = self.find(id).await?;
        let mut record = match &found {
            Found::Held(sandbox) => sandbox.row().egress.clone(),
            Found::Stored(row) if row.status == RowStatus::Hibernated => row.egress.clone(),
            Found::Stored(row) => return Err(useless(row)),
        };
        record.egress = egress;
        self.store.set_egress(id, record.clone()).await?;
        if let Found::Held(sandbox) = found {
            sandbox.activity().touch();
            sandbox.row().egress = record.clone();
            sandbox.egress().set_rules(rules);
        }
        self.events.record(id, "egress.changed", json!({"egress": record.egress}));
        Ok(record.info())
    }
}

/// Adds a certificate to those that programs in a sandbox trust, unless it is there.
async fn trust(guest: &GuestClient, pem: &str) -> Result<(), EngineError> {
    let mut bundle = match read(guest, identity::CA_BUNDLE).await {
        Ok(bundle) => bundle,
        Err(error) if error.status() == 404 => Vec::new(),
        Err(error) => return Err(error),
    };
    if String::from_utf8_lossy(&bundle).contains(pem.trim()) {
        return Ok(());
    }
    if !bundle.is_empty() && !bundle.ends_with(b"\n") {
        bundle.push(b'\n');
    }
    bundle.extend_from_slice(pem.as_bytes());
    let body = futures::stream::iter([Ok::<_, std::convert::Infallible>(Bytes::from(bundle))]);
    guest.write_file(identity::CA_BUNDLE, body).await.map(drop)
}

async fn read(guest: &GuestClient, path: &str) -> Result<Vec<u8>, EngineError> {
    let mut content = guest.read_file(path).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = content.bytes.next().await {
        bytes.extend_from_slice(&piece?);
        if bytes.len() > MAX_BUNDLE {
            return Err(EngineError::Conflict(format!(
                "the sandbox's bundle of certificates is longer than {} MiB, so no secret can be used: `{path}`",
                MAX_BUNDLE >> 20
            )));
        }
    }
    Ok(bytes)
}
