//! The operator's file of providers.
//!
//! ```json
//! {"chains": [{"chain_id": 1, "quorum": 2, "providers": [
//!   {"url": "https://eth.example.org/v2/{key}", "operator": "example.org", "key": "example", "requests_per_second": 10},
//!   {"url": "https://rpc.example.net"},
//!   {"url": "https://node.example.com"}]}]}
//! ```
//!
//! The keys stand in a second file, a JSON object from names to keys, so that the first one can be shared.

use crate::reads::{self, Reads, ReadsRow};
use crate::units::Units;
use rds_chain::quorum::Quorum;
use rds_chain::reader::NumberSource;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use url::{Host, Url};

/// Requests a second of a provider for which the file states none.
const REQUESTS_PER_SECOND: u32 = 5;
/// Most requests a second that a file may state.
const MAX_REQUESTS_PER_SECOND: u32 = 10_000;
/// Most units a second that a file may state.
const MAX_UNITS_PER_SECOND: u32 = 1_000_000;
/// Place of the key in an address.
const KEY: &str = "{key}";

/// The chains to read, ascending by id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Providers {
    pub chains: Vec<Chain>,
}

/// One chain with its providers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// EIP-155.
    pub chain_id: u64,
    pub quorum: Quorum,
    pub number_source: NumberSource,
    pub finality: Finality,
    pub providers: Vec<Endpoint>,
    /// What is read; `None` if the chain's providers are only checked.
    pub reads: Option<Reads>,
}

/// Which blocks of a chain are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finality {
    /// Those up to the block with the tag `finalized`.
    Tag,
    /// Those at least this many blocks behind the newest, on a chain whose nodes do not have the tag.
    Blocks(u64),
}

/// One provider.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The address, with the key.
    pub url: Url,
    /// Who runs it. Providers of one operator count once.
    pub operator: String,
    /// Most requests a second. A batch is one request.
    pub requests_per_second: u32,
    /// Most units a second; `None` if the provider does not count them.
    pub units_per_second: Option<u32>,
    /// What each method costs of them.
    pub units: Units,
}

/// Without the address, which may contain a key.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("operator", &self.operator).finish_non_exhaustive()
    }
}

/// A fault of the file: the field and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct FileFault {
    /// Path of the field, such as `chains[0].providers[1].url`.
    pub field: String,
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRow {
    chains: Vec<ChainRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChainRow {
    chain_id: u64,
    quorum: usize,
    /// One provider is enough; its errors are not detected.
    #[serde(default)]
    trust_one_operator: bool,
    /// The block number comes from the system contract of Arbitrum.
    #[serde(default)]
    arb_sys: bool,
    /// For chains without the tag `finalized`.
    final_after_blocks: Option<u64>,
    providers: Vec<ProviderRow>,
    read: Option<ReadsRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderRow {
    url: String,
    operator: Option<String>,
    key: Option<String>,
    requests_per_second: Option<u32>,
    units_per_second: Option<u32>,
    /// Costs of methods, by name, where they differ from the default ones.
    #[serde(default)]
    units: BTreeMap<String, u32>,
}

impl Providers {
    /// Reads the file's text; `keys` is the second file, from names to keys.
    ///
    /// # Errors
    /// All faults, or the first one if the text is no JSON or has a field of another type. No fault contains a key.
    pub fn parse(text: &str, keys: &BTreeMap<String, String>) -> Result<Self, Vec<FileFault>> {
        let mut json = serde_json::Deserializer::from_str(text);
        let file: FileRow = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            vec![FileFault { field: error.path().to_string(), reason: error.into_inner().to_string() }]
        })?;
        let mut faults = Faults::default();
        let mut chains = BTreeMap::new();
        for (at, row) in file.chains.into_iter().enumerate() {
            let path = format!("chains[{at}]");
            let chain_id = row.chain_id;
            if let Some(chain) = chain(row, &path, keys, &mut faults)
                && chains.insert(chain_id, chain).is_some()
            {
                faults.add(format!("{path}.chain_id"), "the chain stands in the file twice");
            }
        }
        if faults.0.is_empty() { Ok(Providers { chains: chains.into_values().collect() }) } else { Err(faults.0) }
    }
}

#[derive(Default)]
struct Faults(Vec<FileFault>);

impl Faults {
    fn add(&mut self, field: String, reason: &str) {
        self.0.push(FileFault { field, reason: reason.to_owned() });
    }
}

fn chain(row: ChainRow, path: &str, keys: &BTreeMap<String, String>, faults: &mut Faults) -> Option<Chain> {
    let mut providers = Vec::new();
    for (at, provider) in row.providers.into_iter().enumerate() {
        providers.extend(endpoint(provider, &format!("{path}.providers[{at}]"), keys, faults));
    }
    let operators: BTreeSet<&str> = providers.iter().map(|it| it.operator.as_str()).collect();
    if operators.len() < row.quorum {
        faults.add(format!("{path}.quorum"), "there are fewer operators than the quorum needs");
    }
    // Otherwise two groups could each reach the quorum with answers that contradict each other.
    if row.quorum >= 1 && operators.len() >= row.quorum.saturating_mul(2) {
        let reason = format!("must be more than half of the {} operators", operators.len());
        faults.add(format!("{path}.quorum"), &reason);
    }
    let quorum = match (row.quorum, row.trust_one_operator) {
        (1, true) => Some(Quorum::trusting_one_operator()),
        (1, false) => {
            faults.add(format!("{path}.quorum"), "a quorum of 1 needs trust_one_operator: its errors are not detected");
            None
        }
        (needed, _) => Quorum::of(needed).map_err(|_| faults.add(format!("{path}.quorum"), "must be at least 1")).ok(),
    };
    let number_source = if row.arb_sys { NumberSource::ArbSys } else { NumberSource::Opcodes };
    let finality = row.final_after_blocks.map_or(Finality::Tag, Finality::Blocks);
    let reads =
        row.read.map(|read| reads::reads(read, &format!("{path}.read"), |field, reason| faults.add(field, reason)));
    Some(Chain { chain_id: row.chain_id, quorum: quorum?, number_source, finality, providers, reads })
}

fn endpoint(row: ProviderRow, path: &str, keys: &BTreeMap<String, String>, faults: &mut Faults) -> Option<Endpoint> {
    let field = |name: &str| format!("{path}.{name}");
    let rate = row.requests_per_second.unwrap_or(REQUESTS_PER_SECOND);
    if !(1..=MAX_REQUESTS_PER_SECOND).contains(&rate) {
        faults.add(field("requests_per_second"), "must be from 1 to 10000");
    }
    if row.units_per_second.is_some_and(|units| !(1..=MAX_UNITS_PER_SECOND).contains(&units)) {
        faults.add(field("units_per_second"), "must be from 1 to 1000000");
    }
    if row.units_per_second.is_none() && !row.units.is_empty() {
        faults.add(field("units"), "need units_per_second");
    }
    let units = Units::with(&row.units).unwrap_or_else(|method| {
        faults.add(field(&format!("units.{method}")), "must be a method that is used, with at most 100000 units");
        Units::default()
    });
    let key = match (&row.key, row.url.contains(KEY)) {
        (Some(name), true) => match keys.get(name) {
            Some(key) => key.as_str(),
            None => {
                faults.add(field("key"), "the file of keys has no key of this name");
                return None;
            }
        },
        (None, false) => "",
        (Some(_), false) => {
            faults.add(field("url"), "must contain {key}, because key names one");
            return None;
        }
        (None, true) => {
            faults.add(field("key"), "is missing, but url contains {key}");
            return None;
        }
    };
    let Ok(url) = Url::parse(&row.url.replace(KEY, key)) else {
        faults.add(field("url"), "is not a URL");
        return None;
    };
    if !matches!(url.scheme(), "http" | "https") || !url.username().is_empty() || url.password().is_some() {
        faults.add(field("url"), "must be an http:// or https:// URL without a user name");
        return None;
    }
    let operator = row.operator.or_else(|| operator(&url));
    let Some(operator) = operator.filter(|name| !name.is_empty()) else {
        faults.add(field("operator"), "must not be empty");
        return None;
    };
    Some(Endpoint { url, operator, requests_per_second: rate, units_per_second: row.units_per_second, units })
}

/// The last two labels of the host's name, or the host's address: most often the operator. A file must state the operator where a host is
/// shared, such as `name.cloud-host.example`.
fn operator(url: &Url) -> Option<String> {
    match url.host()? {
        Host::Domain(name) => {
            let labels: Vec<&str> = name.rsplit('.').take(2).collect();
            Some(labels.into_iter().rev().collect::<Vec<_>>().join("."))
        }
        address => Some(address.to_string()),
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn what_is_read_is_checked_with_the_providers() {
        let with = |read: &str| {
            parse(&format!(
                r#"{{"chains": [{{"chain_id": 1, "quorum": 1, "trust_one_operator": true, "read": {read},
                    "providers": [{{"url": "http://127.0.0.1:8545"}}]}}]}}"#
            ))
        };
        let asset = "0x00000000000000000000000000000000000000a5";
        let found = with(&format!(
            r#"{{"protocols": {{"p": {{"control": true}}}}, "prices": {{"{asset}": {{"feed": "{asset}", "heartbeat_seconds": 60}}}}}}"#
        ));
        let reads = found.unwrap().chains.remove(0).reads.unwrap();
        assert_eq!((reads.every_seconds, reads.protocols["p"].control, reads.prices.len()), (3_600, true, 1));
        let faults = with(&format!(
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
        let read = |read: &str| {
            parse(&format!(
                r#"{{"chains": [{{"chain_id": 1, "quorum": 1, "trust_one_operator": true, "read": {read},
                    "providers": [{{"url": "http://127.0.0.1:8545"}}]}}]}}"#
            ))
        };
        let oracle = "0x00000000000000000000000000000000000000a5";
        let found = read(&format!(
            r#"{{"protocols": {{"p": {{"adapter": "aave_v3"}}, "q": {{}}}}, "oracles": {{"{oracle}": "twap"}}, "oracle_factories": ["{oracle}"]}}"#
        ));
        let reads = found.unwrap().chains.remove(0).reads.unwrap();
        assert_eq!(reads.protocols["p"].adapter, crate::reads::Adapter::AaveV3);
        assert!(reads.protocols["q"].adapter.is_erc4626());
        assert_eq!((reads.oracles.len(), reads.oracle_factories.len()), (1, 1));
        let faults = read(r#"{"oracles": {"0x1": "twap"}, "oracle_factories": ["0x2"]}"#).unwrap_err();
        let expected = [
            "chains[0].read.oracles.0x1: must be an address: 0x and 40 hex digits",
            "chains[0].read.oracle_factories[0]: must be an address: 0x and 40 hex digits",
        ];
        assert_eq!(faults, expected);
        for (wrong, field) in [
            (r#"{"protocols": {"p": {"adapter": "aave_v9"}}}"#, "chains[0].read.protocols.p.adapter: "),
            (r#"{"oracles": {"0x00000000000000000000000000000000000000a5": "rumour"}}"#, "chains[0].read.oracles."),
        ] {
            let fault = read(wrong).unwrap_err().remove(0);
            assert!(fault.starts_with(field), "{fault}");
        }
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
}
