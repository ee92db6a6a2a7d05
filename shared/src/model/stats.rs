//! Totals of the platform: `GET /v1/stats`. The interface specification names the route and does not define the fields of the response.
//!
//! Every figure covers the active vaults, which are the rows of `GET /v1/vaults`. The parts of each breakdown add up to the total.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::evidence::EvidenceCounts;
use super::ids::ChainId;
use crate::rules::tiers::Tier;
use crate::scoring::{MilliPoints, ScoreBasis};
use crate::wire::time::Timestamp;

/// `data` of `GET /v1/stats`. Values are in USD.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stats {
    /// Number of active vaults.
    pub vault_count: u64,
    /// Number of active vaults with a score.
    pub scored_vault_count: u64,
    /// Number of active vaults whose value was read.
    pub priced_vault_count: u64,
    /// Total value of the active vaults, in USD; a value that was not read counts as 0.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: f64,
    /// Total value of the active vaults with a score, in USD.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub scored_tvl_usd: f64,
    /// Mean score weighted by value, 0 to 10; null if no vault has both a score and a value above 0.
    pub weighted_risk_score: Option<MilliPoints>,
    /// Mean net annual rate weighted by value, as a fraction, over the vaults that report a rate; null if none of them has a value above 0.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub avg_apr: Option<f64>,
    /// Number of chains with active vaults.
    pub chain_count: u64,
    /// Number of protocols with active vaults.
    pub protocol_count: u64,
    /// Number of curators with active vaults.
    pub curator_count: u64,
    /// Number of distinct symbols of the active vaults' deposit assets.
    pub asset_count: u64,
    /// Number of lending markets that are served.
    pub market_count: u64,
    /// Number of oracle feeds that are served.
    pub oracle_feed_count: u64,
    /// Instant of the latest sync of any vault; null before the first.
    pub last_synced_at: Option<Timestamp>,
    /// Vaults by tier, best tier first and unscored vaults last; tiers without vaults are included.
    pub by_tier: Vec<TierShare>,
    /// Vaults by chain, largest value first.
    pub by_chain: Vec<ChainTotal>,
    /// Vaults by protocol, largest value first.
    pub by_protocol: Vec<NamedTotal>,
    /// Vaults by curator, largest value first; the entry with a null `id` counts the vaults without a curator.
    pub by_curator: Vec<NamedTotal>,
    /// Vaults by category of the deposit asset, largest value first; `unknown` counts the vaults whose deposit asset is in no registry.
    pub by_category: Vec<CategoryTotal>,
    /// Vaults by what their score rests on, best first; bases without vaults are included.
    pub by_score_basis: Vec<BasisTotal>,
    /// The answers on record.
    pub evidence: EvidenceCounts,
    /// Vaults by strategy label, largest value first; `unknown` counts the vaults without a label.
    pub by_strategy: Vec<CategoryTotal>,
}

/// Vaults of one tier.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TierShare {
    /// The tier; null for unscored vaults.
    pub risk_tier: Option<Tier>,
    /// Number of vaults.
    pub vault_count: u64,
    /// Total value of these vaults, in USD.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: f64,
}

/// Vaults whose score rests on the same basis.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BasisTotal {
    /// What the score rests on.
    pub score_basis: ScoreBasis,
    /// Number of vaults.
    pub vault_count: u64,
    /// Total value of these vaults, in USD.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: f64,
}

/// Vaults on one chain.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChainTotal {
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Name of the chain, for display.
    pub chain_name: String,
    /// Number of vaults.
    pub vault_count: u64,
    /// Total value of these vaults, in USD.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: f64,
}

/// Vaults of one protocol or curator.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedTotal {
    /// Id of the protocol or curator; null for the vaults without a curator.
    pub id: Option<String>,
    /// Name, for display; null if unknown.
    pub name: Option<String>,
    /// Number of vaults.
    pub vault_count: u64,
    /// Total value of these vaults, in USD.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: f64,
}

/// Vaults with one category or strategy label.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CategoryTotal {
    /// The category or strategy label.
    pub category: String,
    /// Number of vaults.
    pub vault_count: u64,
    /// Total value of these vaults, in USD.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: f64,
}
