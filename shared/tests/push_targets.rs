//! Webhook targets: URL spellings and address classes.

use std::collections::HashSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use proptest::prelude::*;
use rds_shared::push::address::{AddressClass, Cidr, CidrError, class_of, is_public};
use rds_shared::push::target::{Host, MAX_URL_LEN, Policy, Refusal, Target};
use rds_shared::wire::ApiError;
use serde_json::Value;

fn vectors(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/push").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn blocks(list: &[&str]) -> Vec<Cidr> {
    list.iter().map(|text| Cidr::parse(text).unwrap()).collect()
}

fn closed() -> Policy {
    Policy::default()
}

#[test]
fn every_url_is_accepted_or_refused_as_listed() {
    let vectors = vectors("urls.jsonl");
    assert!(vectors.len() > 130);
    for vector in vectors {
        let found = Target::parse(vector["url"].as_str().unwrap(), &closed());
        match vector["refused"].as_str() {
            Some(reason) => assert_eq!(found.map_err(Refusal::as_str).unwrap_err(), reason, "{}", vector["url"]),
            None => {
                let target = found.unwrap_or_else(|refusal| panic!("{}: {refusal}", vector["url"]));
                assert_eq!(target.as_str(), vector["canonical"].as_str().unwrap());
                assert_eq!(Target::parse(target.as_str(), &closed()).as_ref(), Ok(&target), "a stored URL stays valid");
            }
        }
    }
}

#[test]
fn a_url_may_be_2048_bytes_long() {
    let base = "https://hooks.example.com/";
    let longest = format!("{base}{}", "a".repeat(MAX_URL_LEN - base.len()));
    assert!(Target::parse(&longest, &closed()).is_ok());
    assert_eq!(Target::parse(&format!("{longest}a"), &closed()), Err(Refusal::TooLong));
    let swelling = format!("{base}{}", "é".repeat((MAX_URL_LEN - base.len()) / 2));
    assert_eq!(Target::parse(&swelling, &closed()), Err(Refusal::TooLong), "its encoded form is too long");
}

#[test]
fn a_refused_url_is_a_400_that_names_the_field() {
    for refusal in Refusal::ALL {
        let error = ApiError::from(*refusal);
        assert_eq!((error.status(), error.code.as_str()), (400, "WEBHOOK_URL_REJECTED"));
        assert_eq!((error.details.len(), error.details[0].name.as_ref()), (1, "url"));
        assert!(error.details[0].reason.starts_with("must "), "{refusal}");
    }
    let reasons: HashSet<_> = Refusal::ALL.iter().map(|refusal| refusal.reason()).collect();
    assert_eq!(reasons.len(), Refusal::ALL.len(), "each refusal has a reason of its own");
}

#[test]
fn a_target_has_the_canonical_host_and_port() {
    let target = Target::parse("https://Hooks.Example.com.:8443/x", &closed()).unwrap();
    assert_eq!((target.host(), target.port()), (&Host::Name("hooks.example.com".to_owned()), 8443));
    let target = Target::parse("https://0x5db8d822/", &closed()).unwrap();
    assert_eq!((target.host(), target.port()), (&Host::Address(ip("93.184.216.34")), 443));
}

#[test]
fn one_forbidden_address_refuses_a_name() {
    let target = Target::parse("https://hooks.example.com/", &closed()).unwrap();
    let admit = |list: &[&str]| target.admit(&list.iter().map(|text| ip(text)).collect::<Vec<_>>(), &closed());
    assert_eq!(admit(&["93.184.216.34", "2606:4700::1111"]), Ok(()));
    assert_eq!(admit(&["93.184.216.34", "10.0.0.1"]), Err(Refusal::PrivateAddress));
    assert_eq!(admit(&["::1", "93.184.216.34"]), Err(Refusal::PrivateAddress));
    assert_eq!(admit(&["::ffff:93.184.216.34"]), Err(Refusal::PrivateAddress));
    assert_eq!(admit(&[]), Err(Refusal::Unresolvable));
}

#[test]
fn an_address_literal_admits_only_itself() {
    let target = Target::parse("https://93.184.216.34/", &closed()).unwrap();
    assert_eq!(target.admit(&[ip("93.184.216.34")], &closed()), Ok(()));
    assert_eq!(target.admit(&[ip("93.184.216.35")], &closed()), Err(Refusal::PrivateAddress));
}

#[test]
fn an_allowed_block_admits_its_own_addresses_only() {
    let policy = Policy::allowing(blocks(&["127.0.0.0/8", "fd00::/8"]));
    for good in ["https://127.0.0.1:8443/", "https://2130706433/", "https://[fd00::1]/", "https://[::ffff:127.0.0.1]/"]
    {
        assert!(Target::parse(good, &policy).is_ok(), "{good}");
    }
    for bad in ["https://10.0.0.1/", "https://[::1]/", "https://[64:ff9b::7f00:1]/", "https://[::127.0.0.1]/"] {
        assert_eq!(Target::parse(bad, &policy), Err(Refusal::PrivateAddress), "{bad}");
    }
    assert_eq!(Target::parse("http://127.0.0.1/", &policy), Err(Refusal::NotHttps));
    let local = Target::parse("https://localhost:8443/", &policy).unwrap();
    assert_eq!(local.admit(&[ip("127.0.0.1"), ip("fd00::1")], &policy), Ok(()));
    for elsewhere in ["::1", "10.0.0.1", "93.184.216.34"] {
        let refused = local.admit(&[ip("127.0.0.1"), ip(elsewhere)], &policy);
        assert_eq!(
            refused,
            Err(Refusal::PrivateAddress),
            "a private name may resolve to allowed blocks only: {elsewhere}"
        );
    }
    assert_eq!(local.admit(&[ip("127.0.0.1")], &closed()), Err(Refusal::PrivateAddress), "without the allowed blocks");
}

#[test]
fn an_ambiguous_block_is_refused() {
    for good in ["10.0.0.0/8", "127.0.0.1/32", "0.0.0.0/0", "fd00::/8", "::1/128", "::/0"] {
        assert_eq!(Cidr::parse(good).unwrap().to_string(), good);
    }
    assert_eq!(Cidr::parse("127.0.0.1").unwrap().to_string(), "127.0.0.1/32");
    for (bad, why) in [
        ("", CidrError::Malformed),
        ("localhost", CidrError::Malformed),
        ("10.0.0.0/33", CidrError::Malformed),
        ("10.0.0.0/", CidrError::Malformed),
        ("10.0.0.0/+8", CidrError::Malformed),
        ("10.0.0.0/-1", CidrError::Malformed),
        ("10.0.0/8", CidrError::Malformed),
        ("::/129", CidrError::Malformed),
        ("10.0.0.1/8", CidrError::HostBits),
        ("fd00::1/64", CidrError::HostBits),
        ("::ffff:10.0.0.0/104", CidrError::Mapped),
    ] {
        assert_eq!(Cidr::parse(bad), Err(why), "{bad:?}");
    }
}

/// Whether the service refuses an address that Python's `ipaddress` may call global.
fn stricter(address: IpAddr) -> bool {
    let multicast_relays_and_metadata = [
        "224.0.0.0/4",
        "192.0.0.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.175.48.0/24",
        "168.63.129.16",
        "2002::/16",
        "2620:4f:8000::/48",
        "3fff::/20",
    ];
    let global_unicast = Cidr::parse("2000::/3").unwrap();
    address.is_ipv6() && !global_unicast.contains(address)
        || blocks(&multicast_relays_and_metadata).iter().any(|block| block.contains(address))
}

#[test]
fn special_purpose_addresses_are_not_public() {
    let vectors = vectors("addresses.jsonl");
    let mut public = 0;
    for vector in &vectors {
        let address = ip(vector["address"].as_str().unwrap());
        let global = vector["global"].as_bool().unwrap();
        assert_eq!(is_public(address), global && !stricter(address), "{address}: {:?}", class_of(address));
        public += usize::from(is_public(address));
    }
    assert!(public > 30 && public < vectors.len() / 2, "{public} of {}", vectors.len());
}

#[test]
fn addresses_have_the_expected_class() {
    for (address, class) in [
        ("8.8.8.8", AddressClass::Public),
        ("0.1.2.3", AddressClass::Unspecified),
        ("127.8.8.8", AddressClass::Loopback),
        ("100.100.100.200", AddressClass::CarrierNat),
        ("168.63.129.16", AddressClass::CloudService),
        ("169.254.169.254", AddressClass::LinkLocal),
        ("255.255.255.255", AddressClass::Multicast),
        ("240.0.0.1", AddressClass::Reserved),
        ("2606:4700::1111", AddressClass::Public),
        ("::", AddressClass::Unspecified),
        ("::1", AddressClass::Loopback),
        ("::ffff:169.254.169.254", AddressClass::LinkLocal),
        ("64:ff9b::8.8.8.8", AddressClass::Translated),
        ("64:ff9b:1::8.8.8.8", AddressClass::Protocol),
        ("2001:0:1::7777:7777", AddressClass::Translated),
        ("2001:10::1", AddressClass::Protocol),
        ("fd00:ec2::254", AddressClass::Private),
        ("fe80::1", AddressClass::LinkLocal),
        ("fec0::1", AddressClass::Private),
        ("ff02::1", AddressClass::Multicast),
        ("5f00::1", AddressClass::Protocol),
        ("100::1", AddressClass::Reserved),
        ("2606:4700::5efe:10.0.0.1", AddressClass::Private),
        ("2606:4700::200:5efe:8.8.8.8", AddressClass::Public),
    ] {
        assert_eq!(class_of(ip(address)), class, "{address}");
    }
}

/// The IPv6 addresses that embed `inner`: IPv4-compatible, IPv4-mapped, IPv4-translated, NAT64, 6to4 and Teredo.
fn carriers(inner: Ipv4Addr) -> [Ipv6Addr; 6] {
    let bits = u128::from(inner.to_bits());
    [
        bits,
        0xffff << 32 | bits,
        0xffff << 48 | bits,
        0x0064_ff9b << 96 | bits,
        0x2002 << 112 | bits << 80 | 1,
        0x2001_0000 << 96 | (bits ^ 0xffff_ffff),
    ]
    .map(Ipv6Addr::from_bits)
}

/// IPv4 addresses; half of them start with the first octet of a special-purpose block.
fn v4() -> impl Strategy<Value = Ipv4Addr> {
    let listed = [10u32, 100, 127, 168, 169, 172, 192, 198, 203, 224, 240, 255];
    let near = (proptest::sample::select(listed.to_vec()), any::<u32>(), any::<bool>());
    prop_oneof![
        any::<u32>().prop_map(Ipv4Addr::from_bits),
        near.prop_map(|(first, rest, zero)| {
            let rest = if zero { rest & 0x00ff_0001 } else { rest & 0x00ff_ffff };
            Ipv4Addr::from_bits(first << 24 | rest)
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_embedded_address_has_the_class_of_the_ipv4_address_and_is_never_public(inner in v4()) {
        prop_assume!(inner.to_bits() != 1, "::1 is the loopback address of IPv6");
        let class = class_of(inner.into());
        let expected = if class == AddressClass::Public { AddressClass::Translated } else { class };
        for carrier in carriers(inner) {
            prop_assert_eq!(class_of(carrier.into()), expected, "{}", carrier);
        }
    }

    #[test]
    fn of_the_embedding_forms_only_the_mapped_one_matches_an_ipv4_block(inner in v4()) {
        let policy = Policy::allowing(vec![Cidr::parse(&inner.to_string()).unwrap()]);
        prop_assert!(policy.permits(inner.into()));
        for carrier in carriers(inner) {
            prop_assert_eq!(policy.permits(carrier.into()), carrier.to_ipv4_mapped().is_some(), "{}", carrier);
        }
    }

    #[test]
    fn every_notation_of_an_address_gives_the_same_result(inner in v4()) {
        let [a, b, c, d] = inner.octets();
        let bits = inner.to_bits();
        let plain = Target::parse(&format!("https://{inner}/"), &Policy::default());
        for host in [
            format!("{bits}"),
            format!("0x{bits:x}"),
            format!("0{bits:o}"),
            format!("{a}.{}", bits & 0x00ff_ffff),
            format!("{a}.{b}.{}", bits & 0xffff),
            format!("0x{a:x}.0{b:o}.{c}.{d}."),
        ] {
            prop_assert_eq!(&Target::parse(&format!("https://{host}/"), &Policy::default()), &plain, "{}", host);
        }
        prop_assert_eq!(plain.is_ok(), is_public(inner.into()));
    }

    #[test]
    fn a_block_contains_the_addresses_with_its_prefix(bits: u128, other: u128, prefix in 0..=128u32) {
        let mask = u128::MAX.checked_shl(128 - prefix).unwrap_or(0);
        let block = Cidr::parse(&format!("{}/{prefix}", Ipv6Addr::from_bits(bits & mask)));
        prop_assume!(block.is_ok(), "a mapped network is written as IPv4");
        let block = block.unwrap();
        for address in [other, bits, (bits & mask) | (other & !mask), bits ^ 1] {
            let address = Ipv6Addr::from_bits(address);
            prop_assume!(address.to_ipv4_mapped().is_none());
            prop_assert_eq!(block.contains(address.into()), address.to_bits() & mask == bits & mask);
        }
    }

    #[test]
    fn arbitrary_text_never_panics_and_private_hosts_are_refused(text in "(https://)?[\\PC\\x00-\\x20]{0,40}", host in "[0-9a-fx.:\\[\\]%@#/]{1,24}") {
        for text in [text, format!("https://{host}/")] {
            if let Ok(target) = Target::parse(&text, &Policy::default()) {
                prop_assert!(target.as_str().starts_with("https://"));
                match target.host() {
                    Host::Address(address) => prop_assert!(is_public(*address), "{}", text),
                    Host::Name(name) => prop_assert!(name.contains('.') && name.parse::<IpAddr>().is_err(), "{}", text),
                }
            }
        }
    }
}
