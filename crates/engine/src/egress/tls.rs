//! TLS as the proxy speaks it for secrets.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

/// The only protocol that is offered to both sides.
pub(super) const HTTP_1: &[u8] = b"http/1.1";

pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Trusts whom the host of the engine trusts; `SSL_CERT_FILE` and `SSL_CERT_DIR` of the engine count.
pub(super) fn connector() -> Result<TlsConnector, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (trusted, _) = roots.add_parsable_certificates(found.certs);
    if trusted == 0 {
        let problems: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        return Err(format!("the host of the engine trusts no certificate authority: {}", problems.join("; ")));
    }
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![HTTP_1.to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}
