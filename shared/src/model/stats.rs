//! What the platform covers, in figures. The interface names the route and leaves its shape open.
//!
//! Every figure is over active vaults, the rows of `GET /v1/vaults`. The parts of each breakdown add up to the whole.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::ids::ChainId;
use crate::rules::tiers::Tier;
use crate::scoring::MilliPoints;
use crate::wire::time::Timestamp;

/// `data` of `GET /v1/stats`. Values in USD.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stats {
    /// Number of active vaults.
    pub vault_count: u64,
    /// Those with a score.
    pub scored_vault_count: u64,
    /// Those whose value was read.
    pub priced_vault_count: u64,
    /// Value of all of them; what was not read adds nothing.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: f64,
    /// Value of those with a score.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub scored_tvl_usd: f64,
    /// Mean score weighted by value; null without a scored vault of value.
    pub weighted_risk_score: Option<MilliPoints>,
    /// Net rate weighted by value over the vaults that report one.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub avg_apr: Option<f64>,
    /// Chains with active vaults.
    pub chain_count: u64,
    /// Protocols with active vaults.
    pub protocol_count: u64,
    /// Curators with active vaults.
    pub curator_count: u64,
    /// Distinct symbols of deposit assets.
    pub asset_count: u64,
    /// Lending markets that are served.
    pub market_count: u64,
    /// Number of price feeds.
    pub oracle_feed_count: u64,
    /// The latest sync of any vault.
    pub last_synced_at: Option<Timestamp>,
    /// By tier, best first, the unscored last; every tier is there.
    pub by_tier: Vec<TierShare>,
    /// By chain, largest value first.
    pub by_chain: Vec<ChainTotal>,
    /// By protocol, largest value first.
    pub by_protocol: Vec<NamedTotal>,
    /// By curator, largest value first; `id` null holds the vaults without one.
    pub by_curator: Vec<NamedTotal>,
    /// By category of the deposit asset, largest value first; `unknown` where no registry knows the contract.
    pub by_category: Vec<CategoryTotal>,
    /// By strategy label, largest value first; `unknown` where none is known.
    pub by_strategy: Vec<CategoryTotal>,
}

/// Vaults of one tier.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TierShare {
    /// The tier; null for the unscored.
    pub risk_tier: Option<Tier>,
    /// Number of vaults.
    pub vault_count: u64,
    /// Their value.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: f64,
}

/// Vaults on one chain.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChainTotal {
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Chain, for display.
    pub chain_name: String,
    /// Number of vaults.
    pub vault_count: u64,
    /// Their value.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: f64,
}

/// Vaults of a protocol or curator.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedTotal {
    /// Its id; null for the vaults without one.
    pub id: Option<String>,
    /// Name, for display; null if unknown.
    pub name: Option<String>,
    /// Number of vaults.
    pub vault_count: u64,
    /// Their value.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: f64,
}

/// Vaults under one label.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CategoryTotal {
    /// Label of the category.
    pub category: String,
    /// Number of vaults.
    pub vault_count: u64,
    /// Their value.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: f64,
}
