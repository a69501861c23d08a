//! What a sandbox is told about itself. Nothing of the host's environment goes in.

use std::collections::BTreeMap;

use pandastack_guest_protocol::hello::Hello;
use pandastack_guest_protocol::route::EGRESS_LISTENER;

use crate::limits::Limits;

/// Where the template keeps the certificates that programs in it trust.
pub(super) const CA_BUNDLE: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Variable that holds the id.
const SANDBOX_ID: &str = "PANDASTACK_SANDBOX_ID";

/// The identity of a sandbox. `is_copy` is true when its memory was restored.
pub(super) fn hello(
    sandbox_id: &str,
    template_env: &BTreeMap<String, String>,
    limits: &Limits,
    is_copy: bool,
) -> Hello {
    let mut env = template_env.clone();
    env.extend(egress_env());
    env.extend([(SANDBOX_ID.to_owned(), sandbox_id.to_owned())]);
    Hello { epoch: 0, sandbox_id: sandbox_id.to_owned(), env, reseed: is_copy, limits: limits.guest() }
}

/// True for a variable that the engine sets in every sandbox.
pub(super) fn is_reserved(name: &str) -> bool {
    name == SANDBOX_ID || egress_env().any(|(reserved, _)| reserved == name)
}

/// The only way out leads through the proxy.
fn egress_env() -> impl Iterator<Item = (String, String)> {
    let proxy = format!("http://{EGRESS_LISTENER}");
    let proxies = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]
        .map(|name| (name, proxy.clone()));
    let direct = ["NO_PROXY", "no_proxy"].map(|name| (name, "localhost,127.0.0.1,::1".to_owned()));
    let trust = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"]
        .map(|name| (name, CA_BUNDLE.to_owned()));
    let pip = ["PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_ROOT_USER_ACTION=ignore"]
        .into_iter()
        .filter_map(|pair| pair.split_once('='));
    let pip = pip.map(|(name, value)| (name, value.to_owned()));
    proxies.into_iter().chain(direct).chain(trust).chain(pip).map(|(name, value)| (name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_find_the_proxy_and_the_template_cannot_take_it_away() {
        let template = BTreeMap::from([
            ("HTTP_PROXY".to_owned(), "http://elsewhere".to_owned()),
            ("MPLBACKEND".to_owned(), "agg".to_owned()),
        ]);
        let hello = hello("id", &template, &Limits::default(), true);
        assert_eq!(hello.env["HTTP_PROXY"], "http://127.0.0.1:3128");
        assert_eq!(hello.env["https_proxy"], "http://127.0.0.1:3128");
        assert_eq!(hello.env["MPLBACKEND"], "agg");
        assert!(hello.reseed);
        assert!(hello.env.keys().all(|name| name != "PATH" && name != "HOME"), "the host's environment leaks");
    }
}
