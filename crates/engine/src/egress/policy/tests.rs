use super::*;

/// What a host is to a sandbox without rules of its own.
fn check_host(host: &str) -> Result<Destination, Refusal> {
    let destination = Destination::parse(host)?;
    match &destination {
        Destination::Address(address) => check_address(*address)?,
        Destination::Name(name) => check_name(name)?,
    }
    Ok(destination)
}

fn kind_of(address: &str) -> Option<Kind> {
    check_address(address.parse().unwrap()).err().map(|refusal| refusal.kind)
}

fn host_kind(host: &str) -> Option<Kind> {
    check_host(host).err().map(|refusal| refusal.kind)
}

#[test]
fn public_addresses_are_allowed() {
    for address in [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.0.2.1",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "198.51.100.7",
        "203.0.113.9",
        "223.255.255.255",
        "2606:4700::1111",
        "2001:db8::1",
        "2a00:1450:4001:81c::200e",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2002:808:808::1",
        "2001:0:808:808::f7f7:f7f7",
    ] {
        assert_eq!(kind_of(address), None, "{address}");
    }
}

#[test]
fn both_ends_of_every_refused_range_are_refused() {
    use Kind::*;
    for (first, last, kind) in [
        ("0.0.0.0", "0.255.255.255", Unspecified),
        ("10.0.0.0", "10.255.255.255", Private),
        ("100.64.0.0", "100.127.255.255", Private),
        ("127.0.0.0", "127.255.255.255", Loopback),
        ("169.254.0.0", "169.254.255.255", LinkLocal),
        ("172.16.0.0", "172.31.255.255", Private),
        ("192.0.0.0", "192.0.0.255", Reserved),
        ("192.168.0.0", "192.168.255.255", Private),
        ("198.18.0.0", "198.19.255.255", Private),
        ("224.0.0.0", "239.255.255.255", Multicast),
        ("240.0.0.0", "255.255.255.255", Reserved),
        ("::", "::", Unspecified),
        ("::1", "::1", Loopback),
        ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", Private),
        ("100::", "100::ffff:ffff:ffff:ffff", Reserved),
        ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Private),
        ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", LinkLocal),
        ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Private),
        ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Multicast),
    ] {
        assert_eq!(kind_of(first), Some(kind), "{first}");
        assert_eq!(kind_of(last), Some(kind), "{last}");
    }
}

#[test]
fn metadata_services_are_named_as_such() {
    for address in [
        "169.254.169.254",
        "169.254.170.2",
        "168.63.129.16",
        "100.100.100.200",
        "192.0.0.192",
        "fd00:ec2::254",
        "::ffff:169.254.169.254",
    ] {
        assert_eq!(kind_of(address), Some(Kind::Metadata), "{address}");
    }
}

#[test]
fn hidden_ipv4_addresses_are_found() {
    for address in [
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "::ffff:0:127.0.0.1",
        "64:ff9b::127.0.0.1",
        "2002:7f00:1::",
        "2001:0:7f00:1::1",
        "2001:0:808:808::80ff:fffe",
        "2001:db8::5efe:127.0.0.1",
        "2001:db8::200:5efe:127.0.0.1",
    ] {
        assert_eq!(kind_of(address), Some(Kind::Loopback), "{address}");
    }
    assert_eq!(kind_of("::ffff:10.1.2.3"), Some(Kind::Private));
    assert_eq!(kind_of("64:ff9b::c0a8:1"), Some(Kind::Private));
}

#[test]
fn hosts_are_read_as_address_or_name() {
    assert_eq!(check_host("1.1.1.1"), Ok(Destination::Address("1.1.1.1".parse().unwrap())));
    assert_eq!(check_host("[2606:4700::1111]"), Ok(Destination::Address("2606:4700::1111".parse().unwrap())));
    assert_eq!(check_host("Example.ORG."), Ok(Destination::Name("example.org".into())));
    assert_eq!(check_host("_x.xn--bcher-kva.example"), Ok(Destination::Name("_x.xn--bcher-kva.example".into())));
}

#[test]
fn local_names_are_refused_without_a_resolver() {
    for (host, kind) in [
        ("localhost", Kind::Loopback),
        ("LOCALHOST.", Kind::Loopback),
        ("a.b.localhost", Kind::Loopback),
        ("localhost.localdomain", Kind::Loopback),
        ("metadata.google.internal", Kind::Metadata),
        ("vault.internal", Kind::Private),
        ("printer.local", Kind::Private),
        ("router.lan", Kind::Private),
        ("nas.home.arpa", Kind::Private),
        ("database", Kind::Private),
        ("[::1]", Kind::Loopback),
        ("::ffff:127.0.0.1", Kind::Loopback),
    ] {
        assert_eq!(host_kind(host), Some(kind), "{host}");
    }
    assert_eq!(host_kind("notlocalhost.com"), None);
    assert_eq!(host_kind("local.example.com"), None);
}

#[test]
fn other_spellings_of_addresses_are_not_names() {
    let long = "a.".repeat(200) + "com";
    for host in [
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "1.2.3.4.5",
        "fe80::1%eth0",
        "",
        ".",
        "a..b.com",
        "a b.com",
        "a\r\nb.com",
        "ü.com",
        "[1.1.1.1",
        long.as_str(),
    ] {
        assert_eq!(host_kind(host), Some(Kind::Malformed), "{host}");
    }
}

#[test]
fn a_refusal_is_one_printable_line() {
    let refusal = check_host("a\r\nX-Header: b.com").unwrap_err();
    assert_eq!(refusal.to_string(), "malformed destination: `a??x-header:?b.com`");
    assert_eq!(check_host("127.0.0.1").unwrap_err().to_string(), "loopback destination: `127.0.0.1`");
}
