//! Which certificates are trusted: the bundled roots and those that the environment adds.

use pandastack_protocol::error::ErrorCode;
use reqwest::{Certificate, ClientBuilder};

use crate::environment::Environment;
use crate::error::{Error, Result};

/// Files of further certificates in PEM form.
const EXTRA_FILES: [&str; 2] = ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"];

/// Sets the trusted certificates: the bundled ones and those that `environment` names. None: a server without TLS needs none, and then
/// none are parsed.
pub(super) fn configure(builder: ClientBuilder, environment: Option<&Environment>) -> Result<ClientBuilder> {
    // An error means that the process has a provider already, which does as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Ok(builder.tls_certs_only(environment.map(trusted).transpose()?.unwrap_or_default()))
}

fn trusted(environment: &Environment) -> Result<Vec<Certificate>> {
    let mut certificates = Vec::new();
    for root in webpki_root_certs::TLS_SERVER_ROOT_CERTS {
        certificates.extend(Certificate::from_der(root));
    }
    for variable in EXTRA_FILES {
        if let Some(path) = environment.path(variable) {
            let pem = std::fs::read(&path).map_err(|error| unreadable(variable, &path).with_source(error))?;
            certificates.extend(
                Certificate::from_pem_bundle(&pem).map_err(|error| unreadable(variable, &path).with_source(error))?,
            );
        }
    }
    Ok(certificates)
}

fn unreadable(variable: &str, path: &std::path::Path) -> Error {
    Error::new(
        ErrorCode::Network,
        format!("the certificates named by `{variable}` cannot be read: `{}`", path.display()),
    )
}
