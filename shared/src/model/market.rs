//! Lending markets: the list row, and the detail with reserves, efficiency modes, liquidity hubs and signer sets. Fields marked "additive"
//! are not part of the API specification.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::ids::{Address, ChainId, VaultId};
use super::mapping::MarketSignerSet;
use super::status::BorrowStatus;
use crate::rules::tiers::Tier;
use crate::scoring::{MilliPoints, named_enum};
use crate::wire::time::Timestamp;

named_enum! {
    /// Structure of a market.
    pub enum MarketShape {
        /// One contract for many assets; each reserve is a vault.
        Pool = "pool",
        /// The spoke of a hub-and-spoke system: each reserve is a vault and draws from a liquidity hub.
        Spoke = "spoke",
        /// One loan asset against one collateral asset; the market has no reserves.
        Pair = "pair",
    }
}

named_enum! {
    /// How a market was discovered.
    pub enum MarketSource {
        /// The protocol's own API lists the market.
        ProtocolApi = "protocol_api",
        /// The market was found on chain.
        OnchainRpc = "onchain_rpc",
    }
}

named_enum! {
    /// Where a market's totals come from.
    pub enum TotalsSource {
        /// The totals are sums over the market's reserves.
        Members = "members",
        /// The protocol reports the totals; used for pairs.
        ProtocolApi = "protocol_api",
    }
}

/// A market in the list. Amounts are in USD, rates are fractions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Market {
    /// Id of the market, `{protocol}-{version}-{chain}-{market_key}`; it is assigned when the contract is first seen and never changes.
    pub id: String,
    /// Id of the protocol; `/v1/protocols` lists them.
    pub protocol_id: String,
    /// Version of the protocol, for example `v3`.
    pub protocol_version: String,
    /// Name of the protocol, for display.
    pub protocol_name: String,
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Name of the chain, for display.
    pub chain_name: String,
    /// Last part of `id`; unlike `name` it never changes.
    pub market_key: String,
    /// Name of the market, for display; it may change.
    pub name: String,
    /// Address of the market's contract.
    pub address: Address,
    /// Address of the liquidity hub that a spoke draws from; null for other shapes, and if several hubs serve the spoke or none is known.
    pub hub_address: Option<Address>,
    /// How the market was discovered.
    pub source: MarketSource,
    /// Where the market's totals come from.
    pub totals_source: TotalsSource,
    /// Number of reserves that are active and not shut down; 0 for a pair, which has no reserves.
    pub reserve_count: u64,
    /// Number of reserves whose borrow side was read; for a pair 1 if its borrowed value was read, else 0.
    pub borrow_observed_count: u64,
    /// Supplied value in USD, including borrowed amounts, summed over the reserves whose supply was read; 0 if none was read.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub total_supplied_usd: f64,
    /// Borrowed value in USD; null, never 0, if no borrow side was read.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub total_borrowed_usd: Option<f64>,
    /// Borrowed value over the supply of the reserves whose borrow side was read, as a fraction; may exceed 1; null if none was read or
    /// that supply is 0.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub utilization: Option<f64>,
    /// Symbol of the asset that a pair lends; null for other shapes.
    pub loan_asset_symbol: Option<String>,
    /// Symbol of the asset that a pair accepts as collateral; null for other shapes.
    pub collateral_asset_symbol: Option<String>,
    /// Liquidation loan-to-value of a pair, as a fraction; null for other shapes.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub lltv: Option<f64>,
    /// Whether the protocol itself lists the market. Unlisted pairs are not served.
    pub is_protocol_listed: bool,
    /// Instant of the latest successful sync of the market or of one of its reserves.
    pub last_synced_at: Timestamp,
    /// Structure of the market.
    // Additive to the API specification.
    pub shape: MarketShape,
    /// Number of reserves whose supply was read, for a pair 0 or 1; if it is 0, `total_supplied_usd` is 0 because nothing was read.
    // Additive to the API specification.
    pub supplied_observed_count: u64,
}

/// One asset of a pool or spoke.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarketReserve {
    /// Id of the reserve's vault; null if the reserve's supply token is not a vault known to the service.
    pub vault_id: Option<VaultId>,
    /// Symbol of the asset.
    pub asset_symbol: String,
    /// Address of the asset's contract.
    pub asset_address: Address,
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Supplied value in USD; null if it was not read.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub supplied_usd: Option<f64>,
    /// Net annual rate that suppliers earn, rewards included, as a fraction; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub supply_apr: Option<f64>,
    /// Value lent out in USD; null if supply or utilization was not read.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub borrowed_usd: Option<f64>,
    /// Gross annual rate that borrowers pay, as a fraction; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub borrow_apr: Option<f64>,
    /// `borrow_apr` minus the priced borrower incentives, as a fraction; may be negative; null if either is unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub borrow_apr_net: Option<f64>,
    /// Borrowed over supplied value, as a fraction; may exceed 1; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub utilization: Option<f64>,
    /// The protocol's part of the interest, as a fraction; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub fee_rate: Option<f64>,
    /// Whether the reserve lends. A hub-and-spoke reserve is `open` only if the gates of spoke and hub were both read and both allow
    /// borrowing.
    pub borrow_status: BorrowStatus,
    /// Whether the reserve accepts deposits; null if this could not be observed.
    pub is_depositable: Option<bool>,
    /// Remaining deposit capacity in USD; null if uncapped, unpriced or not observable.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub deposit_capacity_usd: Option<f64>,
    /// Published tier of the reserve's vault; null if there is no vault or it is unscored.
    pub risk_tier: Option<Tier>,
    /// Published score of the reserve's vault, 0 to 10; null if there is no vault or it is unscored.
    pub total_score: Option<MilliPoints>,
    /// True if the reserve is shut down: it is still listed, but is not part of any total of the market.
    pub is_shutdown: bool,
    /// Address of the reserve's own supply token; null if unknown.
    // Additive to the API specification.
    pub token_address: Option<Address>,
    /// Address of the liquidity hub that the reserve draws from; null if none is known.
    // Additive to the API specification.
    pub hub_address: Option<Address>,
}

/// An efficiency mode: a group of assets that a market lends on better terms against each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EfficiencyMode {
    /// Number of the mode, unique within the market.
    pub emode_id: u64,
    /// Label, for display.
    pub label: String,
    /// Maximum loan-to-value for borrowing, as a fraction.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub ltv: f64,
    /// Loan-to-value above which a position can be liquidated, as a fraction.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub liquidation_threshold: f64,
    /// Bonus of the liquidator, as a fraction.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub liquidation_bonus: f64,
    /// Addresses of the tokens that count as collateral in this mode.
    pub collateral_assets: Vec<String>,
    /// Addresses of the tokens that can be borrowed in this mode.
    pub borrowable_assets: Vec<String>,
    /// Addresses of the collateral tokens that no longer add borrowing power.
    pub ltv_zero_assets: Vec<String>,
}

/// `data` of `GET /v1/markets/{id}`.
// `M` is the market, or its encoded bytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarketPage<M = Market> {
    /// The market, as in the list.
    pub market: M,
    /// Reserves of the market, largest supply first, including those that are shut down; empty for a pair.
    pub reserves: Vec<MarketReserve>,
    /// Efficiency modes of the market, ordered by `emode_id`.
    // Additive to the API specification.
    pub emodes: Vec<EfficiencyMode>,
    /// Liquidity hubs that the market or its reserves are known to draw from, each with all of its assets; empty for pools and pairs.
    // Additive to the API specification.
    pub hubs: Vec<LiquidityHub>,
    /// Signer sets that administer the market, ordered by `id`.
    // Additive to the API specification.
    pub signer_sets: Vec<MarketSignerSet>,
}

/// A liquidity hub, from which the reserves of spokes draw.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiquidityHub {
    /// Address of the hub's contract.
    pub address: Address,
    /// Name, for display.
    pub name: String,
    /// Assets of the hub, ordered by symbol.
    pub assets: Vec<HubAsset>,
}

/// One asset of a liquidity hub.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HubAsset {
    /// Symbol of the asset.
    pub asset_symbol: String,
    /// Address of the asset's contract.
    pub asset_address: Address,
    /// Address of the contract that sets the asset's interest rates; null if unknown.
    pub interest_rate_strategy: Option<Address>,
    /// Address of the contract that wraps a position in the asset as a token; null if there is none.
    pub wrapper_address: Option<Address>,
}
