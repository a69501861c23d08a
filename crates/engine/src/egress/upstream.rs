//! The proxy that the host itself must use: `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`.

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::Url;

/// Which proxy leads to which destination.
#[derive(Debug, Clone, Default)]
pub struct UpstreamProxies {
    http: Option<UpstreamProxy>,
    https: Option<UpstreamProxy>,
    exceptions: Vec<Exception>,
}

/// An HTTP proxy.
#[derive(Clone, PartialEq, Eq)]
pub struct UpstreamProxy {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Value of `Proxy-Authorization`, if it asks for a password.
    pub authorization: Option<String>,
}

impl std::fmt::Debug for UpstreamProxy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "UpstreamProxy({}:{})", self.host, self.port)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Exception {
    Everything,
    /// The name and all below it.
    Name(String),
    Network(IpAddr, u8),
}

impl UpstreamProxies {
    /// Reads the environment of the engine.
    ///
    /// # Errors
    /// Text for people if a proxy's URL makes no sense or is of a kind that is not supported.
    pub fn from_env() -> Result<Self, String> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// One proxy for everything.
    #[cfg(test)]
    pub(super) fn for_tests(url: &str) -> Self {
        Self::from_variables(|name| (name == "ALL_PROXY").then(|| url.to_owned())).unwrap()
    }

    fn from_variables(get: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let set = |names: [&str; 2]| names.into_iter().filter_map(&get).find(|value| !value.trim().is_empty());
        let all = set(["all_proxy", "ALL_PROXY"]);
        let proxy = |name: &str, value: Option<String>| value.map(|url| UpstreamProxy::parse(name, &url)).transpose();
        Ok(Self {
            http: proxy("http_proxy", set(["http_proxy", "HTTP_PROXY"]).or_else(|| all.clone()))?,
            https: proxy("https_proxy", set(["https_proxy", "HTTPS_PROXY"]).or(all))?,
            exceptions: set(["no_proxy", "NO_PROXY"])
                .map(|list| list.split(',').filter_map(Exception::parse).collect())
                .unwrap_or_default(),
        })
    }

    /// The proxy for a plain HTTP request to `host`.
    pub fn for_http(&self, host: &str) -> Option<&UpstreamProxy> {
        self.http.as_ref().filter(|_| !self.is_exception(host))
    }

    /// The proxy for a tunnel to `host`.
    pub fn for_tunnel(&self, host: &str) -> Option<&UpstreamProxy> {
        self.https.as_ref().filter(|_| !self.is_exception(host))
    }

    fn is_exception(&self, host: &str) -> bool {
        self.exceptions.iter().any(|exception| exception.matches(host))
    }
}

impl UpstreamProxy {
    fn parse(variable: &str, text: &str) -> Result<Self, String> {
        let with_scheme = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let url = Url::parse(&with_scheme).map_err(|error| format!("{variable} is no URL: {error}"))?;
        if url.scheme() != "http" {
            return Err(format!("{variable} must be an http:// proxy, not `{}://`", url.scheme()));
        }
        let host = url.host_str().ok_or_else(|| format!("{variable} names no host"))?;
        let host = host.trim_matches(['[', ']']).to_owned();
        let authorization = (!url.username().is_empty()).then(|| {
            let [user, password] = [url.username(), url.password().unwrap_or_default()].map(percent_decode);
            format!("Basic {}", STANDARD.encode([&user[..], b":", &password[..]].concat()))
        });
        Ok(Self { host, port: url.port_or_known_default().unwrap_or(80), authorization })
    }
}

fn percent_decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped =
            (byte == b'%').then(|| text.get(at + 1..at + 3)).flatten().and_then(|hex| u8::from_str_radix(hex, 16).ok());
        decoded.push(escaped.unwrap_or(byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    decoded
}

impl Exception {
    fn parse(entry: &str) -> Option<Self> {
        let entry = entry.trim();
        if entry == "*" {
            return Some(Self::Everything);
        }
        let (address, length) = entry.split_once('/').unwrap_or((entry, ""));
        if let Ok(address) = address.trim_matches(['[', ']']).parse::<IpAddr>() {
            let whole = if address.is_ipv4() { 32 } else { 128 };
            return Some(Self::Network(address, length.parse().unwrap_or(whole).min(whole)));
        }
        let name = entry.trim_start_matches("*.").trim_matches('.').to_ascii_lowercase();
        (!name.is_empty()).then_some(Self::Name(name))
    }

    fn matches(&self, host: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Name(name) => {
                host.strip_suffix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
            Self::Network(network, length) => {
                host.parse().is_ok_and(|address| same_network(*network, address, *length))
            }
        }
    }
}

fn same_network(network: IpAddr, address: IpAddr, length: u8) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()) << 96, 4),
        IpAddr::V6(v6) => (v6.to_bits(), 6),
    };
    let ((network, family), (address, other)) = (bits(network), bits(address));
    let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
    family == other && network & mask == address & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Result<UpstreamProxies, String> {
        UpstreamProxies::from_variables(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn variables_are_read_and_empty_ones_are_unset() {
        let found = proxies(&[("HTTPS_PROXY", "http://u%40x:p%3a@proxy.example:3128"), ("http_proxy", " ")]).unwrap();
        let proxy = found.for_tunnel("example.org").unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("proxy.example", 3128));
        assert_eq!(proxy.authorization.as_deref(), Some("Basic dUB4OnA6"));
        assert!(!format!("{proxy:?}").contains("dUB4"));
        assert!(found.for_http("example.org").is_none());
        assert!(proxies(&[("ALL_PROXY", "p:1")]).unwrap().for_http("example.org").is_some());
    }

    #[test]
    fn kinds_that_are_not_supported_are_refused() {
        assert!(
            proxies(&[("https_proxy", "socks5://p:1")]).unwrap_err().contains("https_proxy must be an http:// proxy")
        );
    }

    #[test]
    fn exceptions_match_whole_labels_and_networks() {
        let found = proxies(&[("https_proxy", "p:1"), ("no_proxy", ".example.com, *.test,10.0.0.0/8,::1")]).unwrap();
        for host in ["example.com", "a.example.com", "b.test", "10.9.8.7", "::1"] {
            assert!(found.for_tunnel(host).is_none(), "{host}");
        }
        for host in ["notexample.com", "11.0.0.1", "::2"] {
            assert!(found.for_tunnel(host).is_some(), "{host}");
        }
        assert!(proxies(&[("https_proxy", "p:1"), ("no_proxy", "*")]).unwrap().for_tunnel("a.b").is_none());
    }
}
