//! The certificates that the host trusts, for the programs in a sandbox.

use std::collections::BTreeSet;
use std::env;
use std::path::PathBuf;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// The host's bundle of trusted certificates: `SSL_CERT_FILE`, or where the common systems keep it.
pub(crate) fn host_bundle() -> Option<PathBuf> {
    let common = [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    ];
    let chosen = env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    chosen.into_iter().chain(common.map(PathBuf::from)).find(|path| path.is_file())
}

/// Those certificates of `host` that `own` lacks, each as a PEM block, in the order of `host`.
pub(crate) fn extra_certificates(own: &str, host: &str) -> Vec<String> {
    let mut known: BTreeSet<String> = bodies(own).collect();
    bodies(host).filter(|body| known.insert(body.clone())).map(|body| pem(&body)).collect()
}

/// The base64 text of each certificate, without white space.
fn bodies(bundle: &str) -> impl Iterator<Item = String> {
    bundle
        .split(BEGIN)
        .skip(1)
        .filter_map(|rest| rest.split_once(END))
        .map(|(body, _)| body.split_whitespace().collect())
}

fn pem(body: &str) -> String {
    let lines: String = body
        .as_bytes()
        .chunks(64)
        .flat_map(|line| [&*String::from_utf8_lossy(line), "\n"].concat().into_bytes())
        .map(char::from)
        .collect();
    format!("{BEGIN}\n{lines}{END}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(body: &str) -> String {
        format!("{BEGIN}\n{body}\n{END}\n")
    }

    #[test]
    fn only_unknown_certificates_are_extra_and_each_once() {
        let own = certificate("AAAA") + &certificate("BBBB");
        let host = format!(
            "# comment\n{}{}{}{}",
            certificate("BB\nBB"),
            certificate("CCCC"),
            certificate("AAAA"),
            certificate("CCCC")
        );
        assert_eq!(extra_certificates(&own, &host), [certificate("CCCC")]);
    }

    #[test]
    fn long_bodies_are_wrapped() {
        let extra = extra_certificates("", &certificate(&"A".repeat(70)));
        assert_eq!(extra, [certificate(&format!("{}\n{}", "A".repeat(64), "A".repeat(6)))]);
    }

    #[test]
    fn a_cut_block_is_no_certificate() {
        assert!(extra_certificates("", &format!("{BEGIN}\nAAAA\n")).is_empty());
    }
}
