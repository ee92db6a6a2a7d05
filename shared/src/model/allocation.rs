//! The lending markets that a curated vault's deposits are spread over.
//!
//! Source: interface, "Vault detail", `/markets`, which leaves the shape open. Shares are fractions of the vault's value.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::ids::{Address, VaultId};
use super::status::EvidenceStatus;
use crate::rules::collateral::CollateralSummary;
use crate::rules::tiers::Tier;
use crate::scoring::asset::{AssetCategory, ReviewStatus};
use crate::scoring::vault::Oracle;
use crate::scoring::{MilliPoints, Ppm};
use crate::wire::time::Timestamp;

/// `data` of `GET /v1/vault/{network}/{address}/markets`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarketAllocation {
    /// Id of the vault, `<protocol_id>-<chain_id>-<address>`.
    pub vault_id: VaultId,
    /// `unavailable` where the allocation could not be read: then there are no markets, and the shares are null.
    pub status: EvidenceStatus,
    /// What is lent: the deposit asset.
    pub loan_asset_symbol: Option<String>,
    /// Address of the loan asset's contract; null if unknown.
    pub loan_asset_address: Option<Address>,
    /// The vault's value; null when it was not read.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: Option<f64>,
    /// How many markets there are.
    pub market_count: u64,
    /// Lent to markets.
    pub allocated_share: Option<Ppm>,
    /// The rest: not lent, or not accounted for.
    pub idle_share: Option<Ppm>,
    /// The same in USD.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub idle_usd: Option<f64>,
    /// All markets' collateral together.
    pub collateral: CollateralSummary,
    /// Market by market, largest first.
    pub markets: Vec<AllocatedMarket>,
    /// Who saw the allocation.
    pub source: Option<String>,
    /// Instant of the observation; null if there was none.
    pub observed_at: Option<Timestamp>,
}

/// One market of a vault.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AllocatedMarket {
    /// Of the vault.
    pub share: Ppm,
    /// The same in USD; null when the vault's value was not read.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub allocated_usd: Option<f64>,
    /// Liquidation loan-to-value, a fraction; null if unknown.
    pub lltv: Option<Ppm>,
    /// Where the collateral's price comes from.
    pub oracle: Oracle,
    /// Collateral and loan track one reference.
    pub same_peg: bool,
    /// What is lent against.
    pub collateral: Collateral,
}

/// The collateral of a market: an asset, or another vault's shares.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Collateral {
    /// The asset; null for a vault.
    pub asset_id: Option<String>,
    /// The vault; null for an asset.
    pub vault_id: Option<String>,
    /// Symbol of the asset; null if unknown.
    pub symbol: Option<String>,
    /// Name, for display; null if unknown.
    pub name: Option<String>,
    /// Contract; null for a native coin.
    pub address: Option<Address>,
    /// What an asset is scored as.
    pub category: Option<AssetCategory>,
    /// How far its review has come.
    pub review_status: Option<ReviewStatus>,
    /// The published score.
    pub risk_score: Option<MilliPoints>,
    /// Published tier; null if unknown.
    pub risk_tier: Option<Tier>,
    /// What it is warned of.
    pub hard_fail_flags: Vec<String>,
}
