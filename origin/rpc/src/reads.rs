//! What is read on a chain, from the operator's file.
//!
//! ```json
//! "read": {"every_seconds": 3600,
//!   "protocols": {"example-vaults": {"control": true}, "example-curators": {"adapter": "metamorpho", "control": true}},
//!   "prices": {"0x<asset>": {"feed": "0x<feed>", "heartbeat_seconds": 86400}},
//!   "oracles": {"0x<contract>": "push_feed"},
//!   "oracle_factories": ["0x<factory>"],
//!   "discovery": {"from_block": 24000000, "factories": {"0x<factory>": "example-curators"}}}
//! ```

use rds_chain::Address;
use rds_shared::scoring::vault::Oracle;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// Seconds between two readings of a chain for which the file states none.
const EVERY_SECONDS: u32 = 3_600;
/// Most seconds between two readings.
pub const MAX_EVERY_SECONDS: u32 = 86_400;
/// Longest heartbeat of a feed, in seconds: a week.
const MAX_HEARTBEAT_SECONDS: u64 = 604_800;

/// What is read on a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reads {
    /// Seconds between two readings.
    pub every_seconds: u32,
    /// The protocols whose vaults are read, by id.
    pub protocols: BTreeMap<String, ProtocolReads>,
    /// Feeds of prices in USD, by asset.
    pub prices: BTreeMap<Address, PriceFeed>,
    /// Contracts from which lending markets take prices and that the operator has looked at, with what they are.
    pub oracles: BTreeMap<Address, Oracle>,
    /// Factories of Morpho's oracles: an oracle that one of them made is what its parts are.
    pub oracle_factories: BTreeSet<Address>,
    /// How new vaults are found; `None` if they are not looked for.
    pub discovery: Option<Discovery>,
}

/// How new vaults are found: by the events of the factories that make them, and by the `Deposit` and `Withdraw` events of ERC-4626.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovery {
    /// The first block whose events are looked at.
    pub from_block: u64,
    /// The protocol to which the vaults of each factory belong.
    pub factories: BTreeMap<Address, String>,
    /// The protocol to which every other vault that is found belongs, as on a chain of one's own. Without it, such vaults are kept as
    /// candidates and not served.
    pub protocol: Option<String>,
}

/// What the vaults of a protocol are, which says how they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Adapter {
    /// Vaults of ERC-4626, of which nothing else is known.
    #[default]
    Erc4626,
    /// Vaults of ERC-4626 some of which are asynchronous, as ERC-7540 says.
    Erc7540,
    /// Vaults of MetaMorpho, which lend in markets of Morpho Blue.
    Metamorpho,
    /// Vaults of Morpho Vault V2, which give their asset to adapters.
    MorphoVaultV2,
    /// Vaults of Euler v2.
    EulerV2,
    /// Vaults of Yearn v3, which put their asset into other vaults.
    YearnV3,
    /// Supply tokens of pools of Aave v3 and its forks.
    AaveV3,
    /// Markets of Compound v3.
    CompoundV3,
}

impl Adapter {
    /// Whether the vaults have the functions of ERC-4626.
    pub fn is_erc4626(self) -> bool {
        !matches!(self, Adapter::AaveV3 | Adapter::CompoundV3)
    }

    /// Whether the vaults' limits of deposits and withdrawals say anything. Those of Morpho Vault V2 are always 0.
    pub fn has_limits(self) -> bool {
        !matches!(self, Adapter::MorphoVaultV2)
    }
}

/// What is read of a protocol's vaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProtocolReads {
    /// What the vaults of the protocol are.
    #[serde(default)]
    pub adapter: Adapter,
    /// Whether owners, roles and proxies of a vault's contract show who controls the vault. They do not where the protocol's other
    /// contracts decide, or where the vault has a timelock of its own kind.
    #[serde(default)]
    pub control: bool,
    /// Whether the holders of each vault's shares are read, once a day.
    #[serde(default)]
    pub holders: bool,
}

/// A price feed with Chainlink's functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceFeed {
    pub feed: Address,
    /// Seconds within which the feed promises an answer.
    pub heartbeat_seconds: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadsRow {
    every_seconds: Option<u32>,
    #[serde(default)]
    protocols: BTreeMap<String, ProtocolReads>,
    #[serde(default)]
    prices: BTreeMap<String, PriceRow>,
    #[serde(default)]
    oracles: BTreeMap<String, Oracle>,
    #[serde(default)]
    oracle_factories: Vec<String>,
    discovery: Option<DiscoveryRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DiscoveryRow {
    #[serde(default)]
    from_block: u64,
    #[serde(default)]
    factories: BTreeMap<String, String>,
    protocol: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceRow {
    feed: String,
    heartbeat_seconds: u64,
}

/// Checks the part of the file at `path`; each fault is given to `fault` with its field.
pub(crate) fn reads(row: ReadsRow, path: &str, mut fault: impl FnMut(String, &str)) -> Reads {
    let every_seconds = row.every_seconds.unwrap_or(EVERY_SECONDS);
    if !(1..=MAX_EVERY_SECONDS).contains(&every_seconds) {
        fault(format!("{path}.every_seconds"), "must be from 1 to 86400");
    }
    let mut prices = BTreeMap::new();
    for (asset, PriceRow { feed, heartbeat_seconds }) in row.prices {
        let field = format!("{path}.prices.{asset}");
        if !(1..=MAX_HEARTBEAT_SECONDS).contains(&heartbeat_seconds) {
            fault(format!("{field}.heartbeat_seconds"), "must be from 1 to 604800");
        }
        match (asset.parse::<Address>(), feed.parse::<Address>()) {
            (Ok(asset), Ok(feed)) => {
                if prices.insert(asset, PriceFeed { feed, heartbeat_seconds }).is_some() {
                    fault(field, "the asset stands in the file twice");
                }
            }
            (Err(_), _) => fault(field, "must be an address: 0x and 40 hex digits"),
            (_, Err(_)) => fault(format!("{field}.feed"), "must be an address: 0x and 40 hex digits"),
        }
    }
    let mut oracles = BTreeMap::new();
    for (contract, oracle) in row.oracles {
        let field = format!("{path}.oracles.{contract}");
        match contract.parse::<Address>() {
            Ok(contract) if oracles.insert(contract, oracle).is_some() => {
                fault(field, "the contract stands in the file twice");
            }
            Ok(_) => {}
            Err(_) => fault(field, "must be an address: 0x and 40 hex digits"),
        }
    }
    let mut oracle_factories = BTreeSet::new();
    for (at, factory) in row.oracle_factories.into_iter().enumerate() {
        match factory.parse::<Address>() {
            Ok(factory) => drop(oracle_factories.insert(factory)),
            Err(_) => {
                fault(format!("{path}.oracle_factories[{at}]"), "must be an address: 0x and 40 hex digits");
            }
        }
    }
    let ReadsRow { protocols, discovery, .. } = row;
    let discovery = discovery.map(|row| discovery_of(row, &protocols, &format!("{path}.discovery"), fault));
    Reads { every_seconds, protocols, prices, oracles, oracle_factories, discovery }
}

fn discovery_of(
    row: DiscoveryRow,
    protocols: &BTreeMap<String, ProtocolReads>,
    path: &str,
    mut fault: impl FnMut(String, &str),
) -> Discovery {
    const NOT_READ: &str = "must be one of protocols, or its vaults would not be read";
    if row.protocol.as_ref().is_some_and(|protocol| !protocols.contains_key(protocol)) {
        fault(format!("{path}.protocol"), NOT_READ);
    }
    let mut factories = BTreeMap::new();
    for (factory, protocol) in row.factories {
        let field = format!("{path}.factories.{factory}");
        if !protocols.contains_key(&protocol) {
            fault(field.clone(), NOT_READ);
        }
        match factory.parse::<Address>() {
            Ok(factory) if factories.insert(factory, protocol).is_some() => {
                fault(field, "the contract stands in the file twice");
            }
            Ok(_) => {}
            Err(_) => fault(field, "must be an address: 0x and 40 hex digits"),
        }
    }
    Discovery { from_block: row.from_block, factories, protocol: row.protocol }
}
