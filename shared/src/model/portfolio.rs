//! The known vault positions of an address. The API specification leaves the shape of the route open.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::ids::{Address, ChainId, VaultId};
use crate::rules::tiers::Tier;
use crate::scoring::MilliPoints;
use crate::wire::time::Timestamp;

/// `data` of `GET /v1/portfolio/{address}`.
///
/// An address without known positions has an empty list; this does not prove that it holds nothing.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Portfolio {
    /// Address of the holder.
    pub address: Address,
    /// Value of the positions that have a price, in USD; null if there are positions and none has a price.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub total_value_usd: Option<f64>,
    /// Mean score weighted by value, 0 to 10; null if no position has both a score and a value above 0.
    pub weighted_risk_score: Option<MilliPoints>,
    /// Value in USD of the positions that have both a price and a score; `weighted_risk_score` is their mean.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub scored_value_usd: f64,
    /// Number of positions without a price; they are not part of any sum.
    pub unpriced_count: u64,
    /// Number of all positions; it exceeds the length of `positions` if there are more than 1 000.
    pub position_count: u64,
    /// Positions by value, largest first and unpriced ones last; at most 1 000.
    pub positions: Vec<Position>,
}

/// A position in one vault.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Position {
    /// Id of the vault, `<protocol_id>-<chain_id>-<address>`.
    pub vault_id: VaultId,
    /// Name of the vault, for display.
    pub vault_name: String,
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Name of the chain, for display.
    pub chain_name: String,
    /// Id of the protocol; `/v1/protocols` lists them.
    pub protocol_id: String,
    /// Name of the protocol, for display.
    pub protocol_name: String,
    /// Symbol of the vault's deposit asset; null if unknown.
    pub asset_symbol: Option<String>,
    /// Share tokens held, in their smallest unit, as decimal text of any length.
    pub balance_raw: String,
    /// Part of the vault's supply, as a fraction; null if the supply was not read.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub share: Option<f64>,
    /// `share` of the vault's current value, in USD; null if the share or the value is unknown.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub value_usd: Option<f64>,
    /// Published score of the vault, 0 to 10; null if it is unscored.
    pub total_score: Option<MilliPoints>,
    /// Published tier of the vault; null if it is unscored.
    pub risk_tier: Option<Tier>,
    /// Instant at which the balance was read.
    pub observed_at: Timestamp,
}
