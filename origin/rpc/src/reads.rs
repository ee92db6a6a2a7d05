//! What is read on a chain, from the operator's file.
//!
//! ```json
//! "read": {"every_seconds": 3600,
//!   "protocols": {"example-vaults": {"control": true}},
//!   "prices": {"0x<asset>": {"feed": "0x<feed>", "heartbeat_seconds": 86400}}}
//! ```

use rds_chain::Address;
use serde::Deserialize;
use std::collections::BTreeMap;

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
    /// The protocols whose vaults are read, by id. They must be vaults of ERC-4626.
    pub protocols: BTreeMap<String, ProtocolReads>,
    /// Feeds of prices in USD, by asset.
    pub prices: BTreeMap<Address, PriceFeed>,
    /// How new vaults are found; `None` if they are not looked for.
    pub discovery: Option<Discovery>,
}

/// How new vaults are found: by the `Deposit` events of ERC-4626.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Discovery {
    /// The first block whose events are looked at.
    #[serde(default)]
    pub from_block: u64,
    /// The protocol to which every vault that is found belongs, as on a chain of one's own. Without it, vaults that are found are kept as
    /// candidates and not served.
    pub protocol: Option<String>,
}

/// What is read of a protocol's vaults besides their state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProtocolReads {
    /// Whether owners, roles and proxies of a vault's contract show who controls the vault. They do not where the protocol's other
    /// contracts decide, or where the vault has a timelock of its own kind.
    #[serde(default)]
    pub control: bool,
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
    discovery: Option<Discovery>,
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
    if let Some(protocol) = row.discovery.as_ref().and_then(|it| it.protocol.as_ref())
        && !row.protocols.contains_key(protocol)
    {
        fault(format!("{path}.discovery.protocol"), "must be one of protocols, or its vaults would not be read");
    }
    Reads { every_seconds, protocols: row.protocols, prices, discovery: row.discovery }
}
