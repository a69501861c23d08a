//! What one sandbox may reach.

use std::net::IpAddr;

use pandastack_protocol::egress::{Egress, EgressPreset};

use super::policy::{self, Destination, Kind, Refusal};
use super::rule::Rule;

/// Most entries of one list.
const MAX_ENTRIES: usize = 256;

/// The rules of one sandbox, ready to be applied. The default allows the public internet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    is_off: bool,
    /// None: the public internet.
    allow: Option<Vec<Rule>>,
    deny: Vec<Rule>,
}

impl Rules {
    /// Reads what a caller asked for.
    ///
    /// # Errors
    /// Text for people that names the entry.
    pub fn parse(egress: &Egress) -> Result<Self, String> {
        match egress {
            Egress::Preset(preset) => Ok(Self { is_off: *preset == EgressPreset::None, ..Self::default() }),
            Egress::Lists(lists) => Ok(Self {
                is_off: false,
                allow: lists.allow.as_deref().map(|entries| parse_list("allow", entries)).transpose()?,
                deny: parse_list("deny", lists.deny.as_deref().unwrap_or_default())?,
            }),
        }
    }

    /// Rules under which nothing is reached.
    pub fn off() -> Self {
        Self { is_off: true, ..Self::default() }
    }

    /// Checks a destination before any name is resolved: a name that is not allowed must not reach a resolver, which would carry it out.
    ///
    /// # Errors
    /// If it is refused.
    pub fn check_destination(&self, destination: &Destination, port: u16, is_own: bool) -> Result<(), Refusal> {
        match destination {
            Destination::Address(address) => self.check_literal(*address, port, is_own),
            Destination::Name(name) => self.check_name(name, port),
        }
    }

    fn check_name(&self, name: &str, port: u16) -> Result<(), Refusal> {
        let asked = format!("{name}:{port}");
        self.check_on()
            .and_then(|()| refuse_if(self.deny.iter().any(|rule| rule.holds_name(name, port)), Kind::Denied))
            .map_err(|kind| kind.refuse(&asked))?;
        let Some(allow) = &self.allow else { return policy::check_name(name) };
        match allow.iter().filter(|rule| rule.holds_name(name, port)).map(Rule::is_everything).reduce(|a, b| a && b) {
            None => Err(Kind::NotAllowed.refuse(asked)),
            Some(true) => policy::check_name(name),
            Some(false) => Ok(()),
        }
    }

    fn check_literal(&self, address: IpAddr, port: u16, is_own: bool) -> Result<(), Refusal> {
        self.check_address(address, port, is_own)
            .and_then(|()| {
                let is_allowed = |allow: &Vec<Rule>| allow.iter().any(|rule| rule.holds_address(address, port));
                refuse_if(!self.allow.as_ref().is_none_or(is_allowed), Kind::NotAllowed)
            })
            .map_err(|kind| match kind {
                Kind::Denied | Kind::NotAllowed | Kind::Off => kind.refuse(std::net::SocketAddr::new(address, port)),
                _ => kind.refuse(address),
            })
    }

    /// Checks an address that a name which passed led to. `is_own` is true if it belongs to the host.
    ///
    /// # Errors
    /// What it is, if it is refused.
    pub fn check_address(&self, address: IpAddr, port: u16, is_own: bool) -> Result<(), Kind> {
        self.check_on()?;
        let is_denied =
            policy::meanings(address).any(|meaning| self.deny.iter().any(|rule| rule.holds_address(meaning, port)));
        refuse_if(is_denied, Kind::Denied)?;
        let kind = match policy::check_address(address) {
            Err(refusal) => refusal.kind,
            Ok(()) if is_own => Kind::Host,
            Ok(()) => return Ok(()),
        };
        let is_opened = self.allow.iter().flatten().any(|rule| rule.opens(address, port, kind));
        refuse_if(!is_opened, kind)
    }

    /// True if names must be resolved to be judged, beyond what every sandbox is refused.
    pub fn need_addresses(&self) -> bool {
        self.deny.iter().any(Rule::is_network)
    }

    fn check_on(&self) -> Result<(), Kind> {
        refuse_if(self.is_off, Kind::Off)
    }
}

fn refuse_if(is_refused: bool, kind: Kind) -> Result<(), Kind> {
    if is_refused { Err(kind) } else { Ok(()) }
}

fn parse_list(name: &str, entries: &[String]) -> Result<Vec<Rule>, String> {
    if entries.len() > MAX_ENTRIES {
        return Err(format!("egress.{name} has too many entries: {}, at most {MAX_ENTRIES}", entries.len()));
    }
    let parse = |entry: &String| {
        Rule::parse(entry).map_err(|problem| format!("egress.{name}: {problem}: `{}`", policy::printable(entry)))
    };
    entries.iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn rules(egress: Value) -> Rules {
        Rules::parse(&serde_json::from_value(egress).unwrap()).unwrap()
    }

    /// What becomes of a connection to `host`, which is an address or leads to `address`.
    fn judge(rules: &Rules, host: &str, address: &str, port: u16) -> Result<(), Kind> {
        let destination = Destination::parse(host).map_err(|refusal| refusal.kind)?;
        rules.check_destination(&destination, port, false).map_err(|refusal| refusal.kind)?;
        rules.check_address(address.parse().unwrap(), port, false)
    }

    #[test]
    fn all_is_the_public_internet_and_none_is_nothing() {
        let all = rules(json!("all"));
        assert_eq!(all, Rules::default());
        assert_eq!(judge(&all, "a.example", "203.0.113.5", 443), Ok(()));
        assert_eq!(judge(&all, "a.example", "10.0.0.1", 443), Err(Kind::Private));
        assert_eq!(judge(&all, "db", "203.0.113.5", 443), Err(Kind::Private));
        let none = rules(json!("none"));
        assert_eq!(judge(&none, "a.example", "203.0.113.5", 443), Err(Kind::Off));
        assert_eq!(judge(&none, "203.0.113.5", "203.0.113.5", 443), Err(Kind::Off));
        assert_eq!(none, Rules::off());
    }

    #[test]
    fn an_allow_list_allows_nothing_else() {
        let rules = rules(json!({"allow": ["a.example:443", "*.b.example", "203.0.113.0/24:80"]}));
        for (host, port) in [("a.example", 443), ("x.b.example", 1), ("203.0.113.7", 80)] {
            assert_eq!(judge(&rules, host, "203.0.113.7", port), Ok(()), "{host}:{port}");
        }
        for (host, port) in [("a.example", 80), ("b.example", 1), ("203.0.113.7", 443), ("c.example", 80)] {
            assert_eq!(judge(&rules, host, "203.0.113.7", port), Err(Kind::NotAllowed), "{host}:{port}");
        }
        assert_eq!(judge(&rules, "a.example", "192.168.0.1", 443), Err(Kind::Private));
        assert_eq!(judge(&self::rules(json!({"allow": []})), "a.example", "203.0.113.7", 1), Err(Kind::NotAllowed));
    }

    #[test]
    fn deny_wins_over_allow() {
        let rules = rules(json!({"allow": ["*"], "deny": ["bad.example", "198.51.100.0/24", "*:25"]}));
        assert_eq!(judge(&rules, "good.example", "203.0.113.7", 443), Ok(()));
        assert_eq!(judge(&rules, "bad.example", "203.0.113.7", 443), Err(Kind::Denied));
        assert_eq!(judge(&rules, "good.example", "203.0.113.7", 25), Err(Kind::Denied));
        for hidden in ["198.51.100.7", "::ffff:198.51.100.7", "64:ff9b::198.51.100.7", "2002:c633:6407::"] {
            assert_eq!(judge(&rules, "good.example", hidden, 443), Err(Kind::Denied), "{hidden}");
            assert_eq!(judge(&rules, hidden, hidden, 443), Err(Kind::Denied), "{hidden}");
        }
        assert!(rules.need_addresses() && !Rules::default().need_addresses());
    }

    #[test]
    fn what_is_not_public_must_be_named_twice_a_name_and_a_network() {
        let rules = rules(json!({"allow": ["*", "db.internal", "10.1.0.0/16:5432"]}));
        assert_eq!(judge(&rules, "db.internal", "10.1.2.3", 5432), Ok(()));
        assert_eq!(judge(&rules, "10.1.2.3", "10.1.2.3", 5432), Ok(()));
        assert_eq!(judge(&rules, "public.example", "10.1.2.3", 5432), Ok(()));
        assert_eq!(judge(&rules, "db.internal", "10.1.2.3", 22), Err(Kind::Private));
        assert_eq!(judge(&rules, "db.internal", "10.2.0.1", 5432), Err(Kind::Private));
        assert_eq!(judge(&rules, "other.internal", "10.1.2.3", 5432), Err(Kind::Private));
        assert_eq!(judge(&rules, "64:ff9b::10.1.2.3", "64:ff9b::10.1.2.3", 5432), Err(Kind::Private));
        assert_eq!(judge(&rules, "public.example", "203.0.113.7", 443), Ok(()));
    }

    #[test]
    fn a_bad_entry_is_named() {
        let error = |egress: Value| Rules::parse(&serde_json::from_value(egress).unwrap()).unwrap_err();
        let text = error(json!({"allow": ["good.example", "10.1.2.3/16"]}));
        assert!(text.starts_with("egress.allow: ") && text.ends_with("`10.1.2.3/16`"), "{text}");
        let text = error(json!({"deny": ["a\nb"]}));
        assert!(text.starts_with("egress.deny: ") && text.ends_with("`a?b`"), "{text}");
        assert!(error(json!({"deny": vec!["a.example"; 257]})).contains("257, at most 256"));
    }
}
