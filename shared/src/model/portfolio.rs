//! What an address is known to hold. The interface names the route and leaves its shape open.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::ids::{Address, ChainId, VaultId};
use crate::rules::tiers::Tier;
use crate::scoring::MilliPoints;
use crate::wire::time::Timestamp;

/// `data` of `GET /v1/portfolio/{address}`.
///
/// An address of which nothing is known has no positions: that is no proof that it holds nothing.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Portfolio {
    /// Address of the holder.
    pub address: Address,
    /// Value of the priced positions in USD; null when there are positions and none has a price.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub total_value_usd: Option<f64>,
    /// Mean score weighted by value; null without a scored position of value.
    pub weighted_risk_score: Option<MilliPoints>,
    /// Value of the positions that the mean is made of.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub scored_value_usd: f64,
    /// Positions without a price: they are in no sum.
    pub unpriced_count: u64,
    /// All positions: more than are listed where there are very many.
    pub position_count: u64,
    /// Largest value first, the unpriced last; at most 1 000 of them.
    pub positions: Vec<Position>,
}

/// A share of one vault.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Position {
    /// Id of the vault, `<protocol_id>-<chain_id>-<address>`.
    pub vault_id: VaultId,
    /// Name of the vault, for display.
    pub vault_name: String,
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Chain, for display.
    pub chain_name: String,
    /// Id of the protocol; `/v1/protocols` lists them.
    pub protocol_id: String,
    /// Protocol, for display.
    pub protocol_name: String,
    /// The vault's deposit asset.
    pub asset_symbol: Option<String>,
    /// Share tokens held, in their smallest unit, as a decimal text of any length.
    pub balance_raw: String,
    /// Part of the vault's supply, as a fraction; null when the supply was not read.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub share: Option<f64>,
    /// That part of the vault's present value in USD; null when share or value is unknown.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub value_usd: Option<f64>,
    /// The vault's score.
    pub total_score: Option<MilliPoints>,
    /// The vault's tier.
    pub risk_tier: Option<Tier>,
    /// When the balance was read.
    pub observed_at: Timestamp,
}
