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
mod tests;
