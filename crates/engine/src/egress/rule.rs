//! One entry of a sandbox's egress lists.

use std::net::IpAddr;

use super::policy::{Kind, check_address, is_name, is_under};

/// Longest entry, in bytes.
const MAX_LENGTH: usize = 300;

/// Shortest prefixes of networks that open what is not public, for IPv4 and IPv6: wider ones also hold public addresses.
const WIDEST_OPENING: (u8, u8) = (8, 7);

/// What an entry is that names nothing.
const NO_TARGET: &str = "neither a name, a `*.` name, an address nor a network such as `10.1.0.0/16`";

/// A set of destinations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    target: Target,
    /// None: every port.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    Everything,
    Name(String),
    /// All names below this one.
    Below(String),
    Network(Network),
}

/// Addresses with a common prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Rule {
    /// Reads an entry.
    ///
    /// # Errors
    /// Text for people that says what is wrong with it.
    pub(super) fn parse(entry: &str) -> Result<Self, String> {
        if entry.len() > MAX_LENGTH {
            return Err(format!("longer than {MAX_LENGTH} bytes"));
        }
        if entry.contains("://") {
            return Err(NO_TARGET.to_owned());
        }
        let (target, port) = split_port(entry)?;
        Ok(Self { target: Target::parse(target)?, port: parse_port(port)? })
    }

    /// True if it names `*`.
    pub(super) fn is_everything(&self) -> bool {
        self.target == Target::Everything
    }

    /// True if it names addresses, so that a name must be resolved to see whether it is meant.
    pub(super) fn is_network(&self) -> bool {
        matches!(self.target, Target::Network(_))
    }

    /// True if it names one port.
    pub(super) fn has_port(&self) -> bool {
        self.port.is_some()
    }

    /// True if it names this name, or everything.
    pub(super) fn holds_name(&self, name: &str, port: u16) -> bool {
        self.holds_port(port)
            && match &self.target {
                Target::Everything => true,
                Target::Name(own) => own == name,
                Target::Below(parent) => name != parent && is_under(name, parent),
                Target::Network(_) => false,
            }
    }

    /// True if it names this address, or everything.
    pub(super) fn holds_address(&self, address: IpAddr, port: u16) -> bool {
        self.holds_port(port)
            && match self.target {
                Target::Everything => true,
                Target::Network(network) => network.holds(address),
                Target::Name(_) | Target::Below(_) => false,
            }
    }

    /// True if it makes an address reachable that is not public: it names such addresses only. Metadata services and the host itself must
    /// be named by their own address.
    pub(super) fn opens(&self, address: IpAddr, port: u16, kind: Kind) -> bool {
        let Target::Network(network) = self.target else { return false };
        let is_meant = match kind {
            Kind::Metadata | Kind::Host => network.is_one_address(),
            _ => network.is_one_address() || network.is_nowhere_public(),
        };
        is_meant && self.holds_address(address, port)
    }

    fn holds_port(&self, port: u16) -> bool {
        self.port.is_none_or(|own| own == port)
    }
}

impl Target {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::Everything);
        }
        if let Some(network) = Network::parse(text)? {
            return Ok(Self::Network(network));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let (parent, is_below) = name.strip_prefix("*.").map_or((name.as_str(), false), |parent| (parent, true));
        if !is_name(parent) {
            return Err(NO_TARGET.to_owned());
        }
        Ok(if is_below { Self::Below(parent.to_owned()) } else { Self::Name(parent.to_owned()) })
    }
}

impl Network {
    /// The network of an address or of CIDR text; `None` if it is neither.
    fn parse(text: &str) -> Result<Option<Self>, String> {
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let Ok(address) = address.parse::<IpAddr>() else {
            return if prefix.is_some() { Err("no address before the `/`".to_owned()) } else { Ok(None) };
        };
        let address = address.to_canonical();
        let whole = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => whole,
            Some(prefix) => prefix
                .parse()
                .ok()
                .filter(|prefix| *prefix <= whole)
                .ok_or_else(|| format!("the number after the `/` must be between 0 and {whole}"))?,
        };
        let network = Self { address, prefix };
        let first = network.first();
        if first != address {
            return Err(format!("its address is not the first of the network, which is `{first}/{prefix}`"));
        }
        Ok(Some(network))
    }

    fn holds(self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.address.is_ipv4() && bits(address) & self.mask() == bits(self.address)
    }

    fn is_one_address(self) -> bool {
        self.prefix == if self.address.is_ipv4() { 32 } else { 128 }
    }

    fn is_nowhere_public(self) -> bool {
        let widest = if self.address.is_ipv4() { WIDEST_OPENING.0 } else { WIDEST_OPENING.1 };
        self.prefix >= widest && check_address(self.first()).is_err() && check_address(self.last()).is_err()
    }

    fn first(self) -> IpAddr {
        self.with_bits(bits(self.address) & self.mask())
    }

    fn last(self) -> IpAddr {
        self.with_bits(bits(self.address) | !self.mask())
    }

    fn with_bits(self, bits: u128) -> IpAddr {
        match self.address {
            IpAddr::V4(_) => IpAddr::V4(((bits >> 96) as u32).into()),
            IpAddr::V6(_) => IpAddr::V6(bits.into()),
        }
    }

    /// Addresses are held in the upper bits, so that both families have the same masks.
    fn mask(self) -> u128 {
        u128::MAX.checked_shl(128 - u32::from(self.prefix)).unwrap_or(0)
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()) << 96,
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The target and the text of the port. An IPv6 address with a port stands in brackets.
fn split_port(entry: &str) -> Result<(&str, Option<&str>), String> {
    if let Some(rest) = entry.strip_prefix('[') {
        let (target, rest) = rest.split_once(']').ok_or("a `]` is missing")?;
        return match rest.strip_prefix(':') {
            Some(port) => Ok((target, Some(port))),
            None if rest.is_empty() => Ok((target, None)),
            None => Err("only a port can follow the `]`".to_owned()),
        };
    }
    match entry.split_once(':') {
        Some((target, port)) if !port.contains(':') => Ok((target, Some(port))),
        _ => Ok((entry, None)),
    }
}

fn parse_port(text: Option<&str>) -> Result<Option<u16>, String> {
    let Some(text) = text.filter(|text| *text != "*") else { return Ok(None) };
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse().ok().filter(|port| is_number && *port != 0);
    port.map(Some).ok_or_else(|| "the port must be `*` or between 1 and 65535".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(entry: &str) -> Rule {
        Rule::parse(entry).unwrap()
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn names_are_held_whole_and_below() {
        assert!(rule("Example.COM.").holds_name("example.com", 1));
        assert!(!rule("example.com").holds_name("a.example.com", 1));
        assert!(!rule("example.com").holds_name("notexample.com", 1));
        assert!(rule("*.example.com").holds_name("a.b.example.com", 1));
        assert!(!rule("*.example.com").holds_name("example.com", 1));
        assert!(!rule("*.example.com").holds_name("notexample.com", 1));
        assert!(rule("*").holds_name("example.com", 1) && rule("*").holds_address(address("1.1.1.1"), 1));
        assert!(!rule("10.0.0.0/8").holds_name("example.com", 1));
    }

    #[test]
    fn ports_count() {
        for (entry, yes, no) in [("a.example:443", 443, 80), ("*:80", 80, 443)] {
            assert!(rule(entry).holds_name("a.example", yes) && !rule(entry).holds_name("a.example", no), "{entry}");
        }
        assert!(rule("a.example:*").holds_name("a.example", 7));
        assert!(rule("[2001:db8::/32]:443").holds_address(address("2001:db8::7"), 443));
        assert!(!rule("[2001:db8::/32]:443").holds_address(address("2001:db8::7"), 80));
        assert!(rule("2001:db8::1").holds_address(address("2001:db8::1"), 80));
    }

    #[test]
    fn networks_hold_their_addresses_in_every_spelling() {
        let network = rule("10.1.0.0/16:*");
        for inside in ["10.1.0.0", "10.1.255.255", "::ffff:10.1.2.3"] {
            assert!(network.holds_address(address(inside), 1), "{inside}");
        }
        for outside in ["10.0.255.255", "10.2.0.0", "::a01:1", "a01::"] {
            assert!(!network.holds_address(address(outside), 1), "{outside}");
        }
        assert!(rule("0.0.0.0/0").holds_address(address("8.8.8.8"), 1));
        assert!(!rule("0.0.0.0/0").holds_address(address("2001:db8::1"), 1));
        assert!(rule("::/0").holds_address(address("2001:db8::1"), 1));
    }

    #[test]
    fn only_entries_that_name_nothing_public_open_what_is_not() {
        for (entry, inside, kind) in [
            ("10.0.0.0/8", "10.1.2.3", Kind::Private),
            ("172.16.0.0/12", "172.16.0.1", Kind::Private),
            ("fc00::/7", "fd00::1", Kind::Private),
            ("127.0.0.1", "127.0.0.1", Kind::Loopback),
            ("169.254.0.0/16", "169.254.1.1", Kind::LinkLocal),
            ("169.254.169.254", "169.254.169.254", Kind::Metadata),
            ("203.0.113.99", "203.0.113.99", Kind::Host),
        ] {
            assert!(rule(entry).opens(address(inside), 1, kind), "{entry}");
        }
        for (entry, inside, kind) in [
            ("0.0.0.0/0", "10.1.2.3", Kind::Private),
            ("172.0.0.0/8", "172.16.0.1", Kind::Private),
            ("::/0", "::1", Kind::Loopback),
            ("::/8", "::1", Kind::Loopback),
            ("169.254.0.0/16", "169.254.169.254", Kind::Metadata),
            ("203.0.113.0/24", "203.0.113.99", Kind::Host),
            ("10.0.0.0/8:80", "10.1.2.3", Kind::Private),
            ("*", "10.1.2.3", Kind::Private),
        ] {
            assert!(!rule(entry).opens(address(inside), 1, kind), "{entry}");
        }
    }

    #[test]
    fn bad_entries_say_what_is_wrong() {
        for (entry, problem) in [
            ("", "neither a name"),
            ("a b", "neither a name"),
            ("exa*mple.com", "neither a name"),
            ("*.*.com", "neither a name"),
            ("http://example.com", "neither a name"),
            ("https://example.com/", "neither a name"),
            ("127.1", "neither a name"),
            ("ü.example", "neither a name"),
            ("example.com/8", "no address before the `/`"),
            ("10.0.0.0/33", "between 0 and 32"),
            ("2001:db8::/129", "between 0 and 128"),
            ("10.1.2.3/16", "`10.1.0.0/16`"),
            ("example.com:0", "the port"),
            ("example.com:", "the port"),
            ("example.com:+80", "the port"),
            ("example.com:70000", "the port"),
            ("[::1", "a `]` is missing"),
            ("[::1]x", "only a port"),
        ] {
            let error = Rule::parse(entry).unwrap_err();
            assert!(error.contains(problem), "{entry}: {error}");
        }
        assert!(Rule::parse(&"a".repeat(301)).unwrap_err().contains("longer"));
    }
}
