//! Tests of the operator's file.

use super::*;
use crate::units::Method;

fn parse(text: &str) -> Result<Providers, Vec<String>> {
    let keys = BTreeMap::from([("example".to_owned(), "s3cret".to_owned())]);
    Providers::parse(text, &keys).map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

#[test]
fn keys_stand_in_the_address_and_in_no_text() {
    let file = r#"{"chains": [{"chain_id": 1, "quorum": 2, "providers": [
        {"url": "https://eth.example.org/v2/{key}", "key": "example", "requests_per_second": 10},
        {"url": "https://a.b.node.example.com", "operator": "Node Ltd"}]}]}"#;
    let found = parse(file).unwrap();
    let [chain] = found.chains.as_slice() else { panic!("{found:?}") };
    assert_eq!((chain.chain_id, chain.quorum.needed(), chain.finality), (1, 2, Finality::Tag));
    let [first, second] = chain.providers.as_slice() else { panic!("{chain:?}") };
    assert_eq!((first.url.as_str(), first.operator.as_str()), ("https://eth.example.org/v2/s3cret", "example.org"));
    assert_eq!((second.operator.as_str(), second.requests_per_second), ("Node Ltd", 5));
    assert!(!format!("{found:?}").contains("s3cret"));
}

#[test]
fn every_fault_names_its_field() {
    let file = r#"{"chains": [
        {"chain_id": 1, "quorum": 3, "providers": [
            {"url": "https://a.example.org"}, {"url": "https://b.example.com"}, {"url": "ftp://c.example.net"},
            {"url": "https://d.example/{key}"}, {"url": "https://e.example/{key}", "key": "none"},
            {"url": "https://f.example", "key": "example"}, {"url": "nowhere"}, {"url": "https://g.example", "requests_per_second": 0}]},
        {"chain_id": 2, "quorum": 1, "providers": [{"url": "http://127.0.0.1:8545"}]}]}"#;
    let faults = parse(file).unwrap_err();
    let expected = [
        "chains[0].providers[2].url: must be an http:// or https:// URL without a user name",
        "chains[0].providers[3].key: is missing, but url contains {key}",
        "chains[0].providers[4].key: the file of keys has no key of this name",
        "chains[0].providers[5].url: must contain {key}, because key names one",
        "chains[0].providers[6].url: is not a URL",
        "chains[0].providers[7].requests_per_second: must be from 1 to 10000",
        "chains[1].quorum: a quorum of 1 needs trust_one_operator: its errors are not detected",
    ];
    assert_eq!(faults, expected);
    let unknown = parse(r#"{"chains": [{"chain_id": 1, "quorum": "two", "providers": []}]}"#).unwrap_err();
    assert!(unknown[0].starts_with("chains[0].quorum: "), "{unknown:?}");
    assert!(parse(r#"{"chains": [], "chain": 1}"#).is_err());
}

/// A file of one chain with one provider, on which this is read.
fn with_read(read: &str) -> Result<Providers, Vec<String>> {
    parse(&format!(
        r#"{{"chains": [{{"chain_id": 1, "quorum": 1, "trust_one_operator": true, "read": {read},
            "providers": [{{"url": "http://127.0.0.1:8545"}}]}}]}}"#
    ))
}

#[test]
fn what_is_read_is_checked_with_the_providers() {
    let asset = "0x00000000000000000000000000000000000000a5";
    let found = with_read(&format!(
        r#"{{"protocols": {{"p": {{"control": true}}}}, "prices": {{"{asset}": {{"feed": "{asset}", "heartbeat_seconds": 60}}}}}}"#
    ));
    let reads = found.unwrap().chains.remove(0).reads.unwrap();
    assert_eq!((reads.every_seconds, reads.protocols["p"].control, reads.prices.len()), (3_600, true, 1));
    let faults = with_read(&format!(
        r#"{{"every_seconds": 0, "prices": {{"0x1": {{"feed": "{asset}", "heartbeat_seconds": 0}},
             "{asset}": {{"feed": "0x2", "heartbeat_seconds": 1}}}}}}"#
    ));
    let expected = [
        "chains[0].read.every_seconds: must be from 1 to 86400".to_owned(),
        format!("chains[0].read.prices.{asset}.feed: must be an address: 0x and 40 hex digits"),
        "chains[0].read.prices.0x1.heartbeat_seconds: must be from 1 to 604800".to_owned(),
        "chains[0].read.prices.0x1: must be an address: 0x and 40 hex digits".to_owned(),
    ];
    assert_eq!(faults.unwrap_err(), expected);
}

#[test]
fn adapters_and_price_sources_are_named_in_the_file() {
    let oracle = "0x00000000000000000000000000000000000000a5";
    let found = with_read(&format!(
        r#"{{"protocols": {{"p": {{"adapter": "aave_v3"}}, "q": {{}}}}, "oracles": {{"{oracle}": "twap"}}, "oracle_factories": ["{oracle}"]}}"#
    ));
    let reads = found.unwrap().chains.remove(0).reads.unwrap();
    assert_eq!(reads.protocols["p"].adapter, reads::Adapter::AaveV3);
    assert!(reads.protocols["q"].adapter.is_erc4626());
    assert_eq!((reads.oracles.len(), reads.oracle_factories.len()), (1, 1));
    let faults = with_read(r#"{"oracles": {"0x1": "twap"}, "oracle_factories": ["0x2"]}"#).unwrap_err();
    let expected = [
        "chains[0].read.oracles.0x1: must be an address: 0x and 40 hex digits",
        "chains[0].read.oracle_factories[0]: must be an address: 0x and 40 hex digits",
    ];
    assert_eq!(faults, expected);
    for (wrong, field) in [
        (r#"{"protocols": {"p": {"adapter": "aave_v9"}}}"#, "chains[0].read.protocols.p.adapter: "),
        (r#"{"oracles": {"0x00000000000000000000000000000000000000a5": "rumour"}}"#, "chains[0].read.oracles."),
    ] {
        let fault = with_read(wrong).unwrap_err().remove(0);
        assert!(fault.starts_with(field), "{fault}");
    }
}

#[test]
fn factories_of_vaults_are_named_with_the_protocol_of_their_vaults() {
    let factory = "0x00000000000000000000000000000000000000f1";
    let found = with_read(&format!(
        r#"{{"protocols": {{"p": {{}}}}, "discovery": {{"from_block": 7, "factories": {{"{factory}": "p"}}}}}}"#
    ));
    let discovery = found.unwrap().chains.remove(0).reads.unwrap().discovery.unwrap();
    assert_eq!((discovery.from_block, discovery.protocol), (7, None));
    assert_eq!(discovery.factories, [(factory.parse().unwrap(), "p".to_owned())].into());
    let upper = factory.replace('f', "F");
    let faults = with_read(&format!(
        r#"{{"protocols": {{"p": {{}}}}, "discovery": {{"protocol": "q", "factories": {{"{factory}": "q", "{upper}": "p", "0x1": "p"}}}}}}"#
    ));
    let not_read = "must be one of protocols, or its vaults would not be read";
    let expected = [
        format!("chains[0].read.discovery.protocol: {not_read}"),
        "chains[0].read.discovery.factories.0x1: must be an address: 0x and 40 hex digits".to_owned(),
        format!("chains[0].read.discovery.factories.{factory}: {not_read}"),
        format!("chains[0].read.discovery.factories.{factory}: the contract stands in the file twice"),
    ];
    let mut faults = faults.unwrap_err();
    faults.sort_unstable();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(faults, expected);
}

#[test]
fn one_operator_with_two_providers_is_not_enough_for_two() {
    let file = r#"{"chains": [{"chain_id": 1, "quorum": 2, "providers": [
        {"url": "https://a.example.org"}, {"url": "https://b.example.org"}]}]}"#;
    assert_eq!(parse(file).unwrap_err(), ["chains[0].quorum: there are fewer operators than the quorum needs"]);
}

#[test]
fn a_quorum_that_two_groups_could_reach_is_refused() {
    let of = |quorum: usize, operators: usize| {
        let providers: Vec<_> =
            (0..operators).map(|n| format!(r#"{{"url": "https://{n}.example", "operator": "{n}"}}"#)).collect();
        let trust = quorum == 1;
        parse(&format!(
            r#"{{"chains": [{{"chain_id": 1, "quorum": {quorum}, "trust_one_operator": {trust}, "providers": [{}]}}]}}"#,
            providers.join(",")
        ))
    };
    for (quorum, operators) in [(1, 1), (2, 2), (2, 3), (3, 4), (3, 5)] {
        assert!(of(quorum, operators).is_ok(), "{quorum} of {operators}");
    }
    assert_eq!(of(2, 4).unwrap_err(), ["chains[0].quorum: must be more than half of the 4 operators"]);
    assert_eq!(of(1, 2).unwrap_err(), ["chains[0].quorum: must be more than half of the 2 operators"]);
}

#[test]
fn a_provider_may_count_units() {
    let with = |fields: &str| {
        let found = parse(&format!(
            r#"{{"chains": [{{"chain_id": 1, "quorum": 1, "trust_one_operator": true,
                "providers": [{{"url": "http://127.0.0.1:8545", {fields}}}]}}]}}"#
        ))?;
        Ok::<_, Vec<String>>(found.chains[0].providers[0].clone())
    };
    let found = with(r#""units_per_second": 330, "units": {"eth_getLogs": 60}"#).unwrap();
    assert_eq!(
        (found.units_per_second, found.units.of(Method::Logs), found.units.of(Method::Call)),
        (Some(330), 60, 26)
    );
    let of = "chains[0].providers[0]";
    assert_eq!(with(r#""units": {"eth_call": 1}"#).unwrap_err(), [format!("{of}.units: need units_per_second")]);
    assert_eq!(
        with(r#""units_per_second": 0, "units": {"eth_sign": 1}"#).unwrap_err(),
        [
            format!("{of}.units_per_second: must be from 1 to 1000000"),
            format!("{of}.units.eth_sign: must be a method that is used, with at most 100000 units")
        ]
    );
}

#[test]
fn a_devnet_may_trust_one_operator() {
    let file = r#"{"chains": [{"chain_id": 31337, "quorum": 1, "trust_one_operator": true, "final_after_blocks": 64,
                   "providers": [{"url": "http://127.0.0.1:8545"}]}]}"#;
    let chain = parse(file).unwrap().chains.remove(0);
    assert_eq!((chain.quorum.needed(), chain.finality), (1, Finality::Blocks(64)));
    assert_eq!(chain.providers[0].operator, "127.0.0.1");
}
