//! Connections: TCP, unix socket, or the local engine, which is started when nobody answers.

use std::path::Path;
use std::time::Duration;

use pandastack_protocol::error::ErrorCode;
use url::Url;

use super::tls;
use crate::config::{Config, Endpoint};
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::local::LocalEngine;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Host name in requests over a unix socket.
const SOCKET_URL: &str = "http://localhost/v1/";

pub(crate) struct Transport {
    client: reqwest::Client,
    base: Url,
    name: String,
    local: Option<LocalEngine>,
}

impl Transport {
    pub(crate) fn new(config: &Config) -> Result<Self> {
        let builder = reqwest::Client::builder()
            .user_agent(&config.user_agent)
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(reqwest::redirect::Policy::limited(5));
        let (builder, base, name, local) = match &config.endpoint {
            Endpoint::Http(url) => {
                (over_tcp(builder, url, &config.environment)?, url.clone(), url.origin().ascii_serialization(), None)
            }
            Endpoint::Unix(path) => (over_socket(builder, path)?, socket_url()?, socket_name(path), None),
            Endpoint::Local => {
                let local = LocalEngine::new(config.binary.clone(), &config.environment)?;
                (over_socket(builder, local.socket())?, socket_url()?, socket_name(local.socket()), Some(local))
            }
        };
        let client = builder
            .build()
            .map_err(|error| Error::new(ErrorCode::Network, "the HTTP client cannot be set up").with_source(error))?;
        Ok(Self { client, base, name, local })
    }

    /// Address of the server, ending in `/v1/`.
    pub(crate) fn base(&self) -> &Url {
        &self.base
    }

    /// Makes sure that a local engine listens, for a call that cannot be made twice.
    pub(crate) async fn ready(&self) -> Result<()> {
        match &self.local {
            Some(local) => local.start().await,
            None => Ok(()),
        }
    }

    /// Sends what `build` makes. A local engine that does not answer is started first; nothing has been sent then.
    pub(crate) async fn send(
        &self,
        build: impl Fn(&reqwest::Client, &Url) -> Result<reqwest::Request>,
    ) -> Result<reqwest::Response> {
        match self.client.execute(build(&self.client, &self.base)?).await {
            Err(error) if error.is_connect() => {
                let Some(local) = &self.local else { return Err(self.unreachable(error)) };
                local.start().await?;
                self.client.execute(build(&self.client, &self.base)?).await.map_err(|error| self.unreachable(error))
            }
            other => other.map_err(|error| self.unreachable(error)),
        }
    }

    fn unreachable(&self, error: reqwest::Error) -> Error {
        let what =
            if error.is_connect() { "the server cannot be reached" } else { "the connection to the server failed" };
        let error = error.without_url();
        let cause = root_cause(&error);
        Error::new(ErrorCode::Network, format!("{what}: `{}`: {cause}", self.name)).with_source(error)
    }
}

fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

fn socket_name(path: &Path) -> String {
    format!("unix:{}", path.display())
}

fn socket_url() -> Result<Url> {
    Url::parse(SOCKET_URL).map_err(|error| Error::option("not an address").with_source(error))
}

fn over_tcp(builder: reqwest::ClientBuilder, url: &Url, environment: &Environment) -> Result<reqwest::ClientBuilder> {
    let builder = if is_loopback(url) { builder.no_proxy() } else { builder };
    tls::configure(builder, (url.scheme() == "https").then_some(environment))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(unix)]
fn over_socket(builder: reqwest::ClientBuilder, path: &Path) -> Result<reqwest::ClientBuilder> {
    tls::configure(builder.no_proxy().unix_socket(path.to_path_buf()), None)
}

#[cfg(not(unix))]
fn over_socket(_: reqwest::ClientBuilder, path: &Path) -> Result<reqwest::ClientBuilder> {
    Err(Error::option(format!("unix sockets are not available on this system: `{}`", path.display())))
}
