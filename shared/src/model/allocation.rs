//! The lending markets that a curated vault's deposits are allocated to. The API specification leaves the shape open. Shares are fractions of the
//! vault's value.

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
    /// `unavailable` if the allocation was not observed: `markets` is then empty, and both shares and `idle_usd` are null.
    pub status: EvidenceStatus,
    /// Symbol of the deposit asset, which the vault lends; null if unknown.
    pub loan_asset_symbol: Option<String>,
    /// Address of the loan asset's contract; null if unknown.
    pub loan_asset_address: Option<Address>,
    /// Supplied value of the vault, in USD; null if it was not read.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: Option<f64>,
    /// Number of rows in `markets`.
    pub market_count: u64,
    /// Fraction of the vault that is lent to the markets; null if `status` is `unavailable`.
    pub allocated_share: Option<Ppm>,
    /// 1 minus `allocated_share`, at least 0: the part that is not lent or not accounted for; null if `status` is `unavailable`.
    pub idle_share: Option<Ppm>,
    /// `idle_share` of `tvl_usd`, in USD; null if either is null.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub idle_usd: Option<f64>,
    /// Summary of the collateral in all markets.
    pub collateral: CollateralSummary,
    /// One row per market, largest share first.
    pub markets: Vec<AllocatedMarket>,
    /// Name of the source of the observation; null if there was none.
    pub source: Option<String>,
    /// Instant of the observation; null if there was none.
    pub observed_at: Option<Timestamp>,
}

/// One lending market of a vault.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AllocatedMarket {
    /// Fraction of the vault that is lent to this market.
    pub share: Ppm,
    /// `share` of the vault's supplied value, in USD; null if that value was not read.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub allocated_usd: Option<f64>,
    /// Liquidation loan-to-value, a fraction; null if unknown.
    pub lltv: Option<Ppm>,
    /// Kind of source of the collateral's price.
    pub oracle: Oracle,
    /// True if the collateral and the loan asset track the same reference, such as the US dollar.
    pub same_peg: bool,
    /// The market's collateral.
    pub collateral: Collateral,
}

/// The collateral of a market: an asset, or the shares of another vault. Collateral on a withheld chain is not identified: all its fields are null or
/// empty.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Collateral {
    /// Slug of the asset; null if the collateral is a vault.
    pub asset_id: Option<String>,
    /// Id of the vault whose shares are the collateral, `<protocol_id>-<chain_id>-<address>`; null if it is an asset.
    pub vault_id: Option<String>,
    /// Symbol of the asset or share token; null if unknown.
    pub symbol: Option<String>,
    /// Name of the asset or vault, for display; null if unknown.
    pub name: Option<String>,
    /// Address of the asset or share token; null for a native coin.
    pub address: Option<Address>,
    /// Category that the asset is scored as; null for a vault.
    pub category: Option<AssetCategory>,
    /// Status of the newest review of the asset; null for a vault and for an asset without a review.
    pub review_status: Option<ReviewStatus>,
    /// Published score of the asset or vault, 0 to 10; null if it is unscored.
    pub risk_score: Option<MilliPoints>,
    /// Published tier of the asset or vault; null if it is unscored.
    pub risk_tier: Option<Tier>,
    /// Hard-fail flags of the asset; empty for a vault.
    pub hard_fail_flags: Vec<String>,
}
