//! The certificate authority of one engine. Only sandboxes of this engine trust it, and it signs only for the hosts of their secrets.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    SerialNumber, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

use super::tls;
use crate::error::EngineError;

/// Hosts whose certificates are kept.
const MOST_KEPT: usize = 256;

/// How long a certificate is used.
const USED_FOR: Duration = Duration::from_secs(24 * 3600);

/// What the engine's sandboxes trust beside the public authorities.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    pem: String,
    host_key: KeyPair,
    kept: Mutex<HashMap<String, (Instant, TlsAcceptor)>>,
}

impl Authority {
    /// A new private key, as PEM.
    pub(super) fn new_key() -> Result<String, String> {
        KeyPair::generate().map(|key| key.serialize_pem()).map_err(|error| error.to_string())
    }

    /// The authority with this key. `keep` gets its certificate and gives the one that is used: the one that was made first.
    pub(super) fn of_key(key: &str, keep: impl FnOnce(String) -> Result<Vec<u8>, EngineError>) -> Result<Self, String> {
        let wrong = |error: rcgen::Error| error.to_string();
        let key = KeyPair::from_pem(key).map_err(wrong)?;
        let params = authority_params().map_err(wrong)?;
        let kept = keep(params.self_signed(&key).map_err(wrong)?.pem()).map_err(|error| error.to_string())?;
        Ok(Self {
            certificate: CertificateDer::from_pem_slice(&kept).map_err(|error| error.to_string())?,
            pem: String::from_utf8(kept).map_err(|error| error.to_string())?,
            issuer: Issuer::new(params, key),
            host_key: KeyPair::generate().map_err(wrong)?,
            kept: Mutex::default(),
        })
    }

    /// Its certificate, as PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Speaks TLS as `host`, a lower-case name.
    pub(super) fn acceptor(&self, host: &str) -> Result<TlsAcceptor, String> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, acceptor)) = kept.get(host).filter(|(made, _)| made.elapsed() < USED_FOR) {
            return Ok(acceptor.clone());
        }
        if kept.len() >= MOST_KEPT {
            kept.clear();
        }
        let acceptor = self.new_acceptor(host)?;
        kept.insert(host.to_owned(), (Instant::now(), acceptor.clone()));
        Ok(acceptor)
    }

    fn new_acceptor(&self, host: &str) -> Result<TlsAcceptor, String> {
        let certificate = host_params(host)
            .and_then(|params| params.signed_by(&self.host_key, &self.issuer))
            .map_err(|error| error.to_string())?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.host_key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(tls::provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone(), self.certificate.clone()], key)
            .map_err(|error| error.to_string())?;
        config.alpn_protocols = vec![tls::HTTP_1.to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

/// Nothing in it depends on when it is made.
fn authority_params() -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.remove(DnType::CommonName);
    params.distinguished_name.push(DnType::CommonName, "PandaStack engine: secrets of sandboxes");
    params.serial_number = Some(SerialNumber::from_slice(&[1]));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.not_before = date_time_ymd(2025, 1, 1);
    params.not_after = date_time_ymd(2075, 1, 1);
    Ok(params)
}

fn host_params(host: &str) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(vec![host.to_owned()])?;
    params.distinguished_name.remove(DnType::CommonName);
    params.distinguished_name.push(DnType::CommonName, "PandaStack engine: host of a secret");
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.not_before = (SystemTime::now() - USED_FOR).into();
    params.not_after = (SystemTime::now() + 30 * USED_FOR).into();
    Ok(params)
}
