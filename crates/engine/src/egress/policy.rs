//! Which names and addresses a sandbox may reach: the public internet, and nothing that is near the host.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

/// Why a destination is out of bounds.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{kind}: `{destination}`")]
pub struct Refusal {
    /// What the destination is.
    pub kind: Kind,
    /// The name or address that was asked for.
    pub destination: String,
}

/// What a refused destination is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Kind {
    /// This machine.
    #[error("loopback destination")]
    Loopback,
    /// RFC 1918, unique local, shared (carrier-grade NAT) or benchmarking space.
    #[error("private destination")]
    Private,
    /// Reachable on the local link only.
    #[error("link-local destination")]
    LinkLocal,
    /// An instance metadata service.
    #[error("metadata service")]
    Metadata,
    /// A group of machines.
    #[error("multicast destination")]
    Multicast,
    /// No machine at all, or `this network`.
    #[error("unspecified destination")]
    Unspecified,
    /// Broadcast or reserved space.
    #[error("reserved destination")]
    Reserved,
    /// An address of the host itself.
    #[error("address of the host")]
    Host,
    /// Neither a name nor an address.
    #[error("malformed destination")]
    Malformed,
    /// The sandbox has no way out.
    #[error("egress is off for this sandbox")]
    Off,
    /// On the sandbox's list of what is denied.
    #[error("denied by the sandbox's egress rules")]
    Denied,
    /// Not on the sandbox's list of what is allowed.
    #[error("not allowed by the sandbox's egress rules")]
    NotAllowed,
    /// Only the host's own proxy can resolve it, and the sandbox's rules are about addresses.
    #[error("its addresses cannot be checked against the sandbox's egress rules")]
    Unchecked,
}

impl Kind {
    /// The refusal of one destination.
    pub(super) fn refuse(self, destination: impl ToString) -> Refusal {
        Refusal { kind: self, destination: destination.to_string() }
    }
}

/// A destination as a program in the sandbox named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// An address.
    Address(IpAddr),
    /// A name, lower-case and without a final dot.
    Name(String),
}

impl Destination {
    /// Reads `host`, which may be an address, an IPv6 address in brackets, or a name.
    ///
    /// # Errors
    /// If it is malformed.
    pub fn parse(host: &str) -> Result<Self, Refusal> {
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(Self::Address(address));
        }
        let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        if is_name(&name) { Ok(Self::Name(name)) } else { Err(Kind::Malformed.refuse(printable(&name))) }
    }
}

/// True for a name that is well-formed, lower-case and without a final dot.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 253
        && name.split('.').all(|label| !label.is_empty() && label.len() <= 63)
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && !looks_like_a_number(name)
}

/// Names whose meaning is local whatever a resolver says; each with all names below it.
const LOCAL_NAMES: [(&str, Kind); 8] = [
    ("localhost", Kind::Loopback),
    ("localdomain", Kind::Loopback),
    ("metadata.google.internal", Kind::Metadata),
    ("metadata.goog", Kind::Metadata),
    ("internal", Kind::Private),
    ("local", Kind::Private),
    ("lan", Kind::Private),
    ("home.arpa", Kind::Private),
];

/// Says whether a well-formed name can be one of the public internet.
///
/// # Errors
/// If it is local whatever a resolver says.
pub fn check_name(name: &str) -> Result<(), Refusal> {
    for (local, kind) in LOCAL_NAMES {
        if is_under(name, local) {
            return Err(kind.refuse(name));
        }
    }
    if !name.contains('.') {
        return Err(Kind::Private.refuse(name));
    }
    Ok(())
}

/// True for `parent` itself and every name below it.
pub(super) fn is_under(name: &str, parent: &str) -> bool {
    name.strip_suffix(parent).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// `127.1`, `2130706433` and `0x7f.1` are addresses to many resolvers, but no names of the public internet.
fn looks_like_a_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x")
}

/// `text` as one short printable line.
pub(super) fn printable(text: &str) -> String {
    text.chars().take(80).map(|letter| if letter.is_ascii_graphic() { letter } else { '?' }).collect()
}

/// Says whether an address is on the public internet, also when it hides an IPv4 address.
///
/// # Errors
/// If it is not.
pub fn check_address(address: IpAddr) -> Result<(), Refusal> {
    let kind = match address {
        IpAddr::V4(v4) => classify_v4(v4),
        IpAddr::V6(v6) => classify_v6(v6),
    };
    kind.map_or(Ok(()), |kind| Err(kind.refuse(address)))
}

/// The address itself, and the IPv4 addresses to which traffic for it may be carried.
pub(super) fn meanings(address: IpAddr) -> impl Iterator<Item = IpAddr> {
    let hidden = match address {
        IpAddr::V4(_) => [None, None],
        IpAddr::V6(v6) => embedded_v4(v6),
    };
    std::iter::once(address).chain(hidden.into_iter().flatten().map(IpAddr::V4))
}

/// Metadata services of AWS, Google, Azure (its wire server), Alibaba and Oracle.
const METADATA_V4: [Ipv4Addr; 5] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
];

const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254);

fn classify_v4(address: Ipv4Addr) -> Option<Kind> {
    if METADATA_V4.contains(&address) {
        return Some(Kind::Metadata);
    }
    match address.octets() {
        [0, ..] => Some(Kind::Unspecified),
        [127, ..] => Some(Kind::Loopback),
        [169, 254, ..] => Some(Kind::LinkLocal),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Some(Kind::Private),
        [100, 64..=127, ..] | [198, 18..=19, ..] => Some(Kind::Private),
        [192, 0, 0, _] | [240..=255, ..] => Some(Kind::Reserved),
        [224..=239, ..] => Some(Kind::Multicast),
        _ => None,
    }
}

fn classify_v6(address: Ipv6Addr) -> Option<Kind> {
    if address.is_unspecified() {
        return Some(Kind::Unspecified);
    }
    if address.is_loopback() {
        return Some(Kind::Loopback);
    }
    if address == METADATA_V6 {
        return Some(Kind::Metadata);
    }
    match address.segments() {
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Some(Kind::Private),
        [0xfe80..=0xfebf, ..] => Some(Kind::LinkLocal),
        [0xff00..=0xffff, ..] => Some(Kind::Multicast),
        // NAT64 with a prefix that the local network chose: what it leads to cannot be told.
        [0x64, 0xff9b, 1, ..] => Some(Kind::Private),
        [0x100, 0, 0, 0, ..] => Some(Kind::Reserved),
        _ => embedded_v4(address).into_iter().flatten().find_map(classify_v4),
    }
}

/// The IPv4 addresses to which traffic for `address` may be carried.
fn embedded_v4(address: Ipv6Addr) -> [Option<Ipv4Addr>; 2] {
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Some(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // Compatible, mapped, translated.
        [0, 0, 0, 0, 0, 0, high, low] | [0, 0, 0, 0, 0, 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => {
            [v4(high, low), None]
        }
        // NAT64.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => [v4(high, low), None],
        // 6to4.
        [0x2002, high, low, ..] => [v4(high, low), None],
        // Teredo: the server, and the client with its bits inverted.
        [0x2001, 0, high, low, _, _, client_high, client_low] => [v4(high, low), v4(!client_high, !client_low)],
        // ISATAP.
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => [v4(high, low), None],
        _ => [None, None],
    }
}

#[cfg(test)]
mod tests;
