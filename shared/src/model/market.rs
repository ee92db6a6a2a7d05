//! Lending markets: the list row, and the detail with reserves, efficiency modes, hubs and who administers.
//!
//! Source: interface, "Market" and "Market reserve". Fields under "additive" are ours.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::ids::{Address, ChainId, VaultId};
use super::mapping::MarketSignerSet;
use super::status::BorrowStatus;
use crate::rules::tiers::Tier;
use crate::scoring::{MilliPoints, named_enum};
use crate::wire::time::Timestamp;

named_enum! {
    /// What a market is made of.
    pub enum MarketShape {
        /// One contract over many assets: a parent of vault rows.
        Pool = "pool",
        /// Part of a hub-and-spoke system: a parent of vault rows that draws from liquidity hubs.
        Spoke = "spoke",
        /// One loan asset against one collateral asset: no parent.
        Pair = "pair",
    }
}

named_enum! {
    /// How a market was discovered.
    pub enum MarketSource {
        /// The protocol's own API names it.
        ProtocolApi = "protocol_api",
        /// It was found on chain.
        OnchainRpc = "onchain_rpc",
    }
}

named_enum! {
    /// Where a market's totals come from.
    pub enum TotalsSource {
        /// Summed from the market's own vault rows.
        Members = "members",
        /// As the protocol reports them: pair-shaped markets.
        ProtocolApi = "protocol_api",
    }
}

/// A market in the list. Amounts in USD, rates as fractions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Market {
    /// `{protocol}-{version}-{chain}-{market_key}`, given on first sight of the contract and kept for ever.
    pub id: String,
    /// Id of the protocol; `/v1/protocols` lists them.
    pub protocol_id: String,
    /// Its generation, for example `v3`.
    pub protocol_version: String,
    /// Protocol, for display.
    pub protocol_name: String,
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Chain, for display.
    pub chain_name: String,
    /// The last part of `id`.
    pub market_key: String,
    /// The market's name; unlike the key it may change.
    pub name: String,
    /// Address of the contract.
    pub address: Address,
    /// The hub a spoke draws from; null for other shapes, and where several hubs serve it or none is established.
    pub hub_address: Option<Address>,
    /// How it was discovered.
    pub source: MarketSource,
    /// Where the totals come from.
    pub totals_source: TotalsSource,
    /// Active, non-shutdown reserves; 0 for a pair, which has no members.
    pub reserve_count: u64,
    /// Borrow sides that were read: of the reserves, or the pair's own.
    pub borrow_observed_count: u64,
    /// Supplied value, borrowed amounts included; the sum of what was read.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub total_supplied_usd: f64,
    /// Null, never 0, when no borrow side was read.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub total_borrowed_usd: Option<f64>,
    /// Borrowed over the supply of the observed reserves only.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub utilization: Option<f64>,
    /// What a pair lends; null on pool-shaped markets.
    pub loan_asset_symbol: Option<String>,
    /// What a pair lends against; null on pool-shaped markets.
    pub collateral_asset_symbol: Option<String>,
    /// A pair's liquidation loan-to-value; null on pool-shaped markets.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub lltv: Option<f64>,
    /// Whether the protocol itself lists it. Unlisted pairs are not served.
    pub is_protocol_listed: bool,
    /// The latest successful sync of the market or of any of its reserves.
    pub last_synced_at: Timestamp,
    /// What the market is made of.
    // Additive to the interface.
    pub shape: MarketShape,
    /// Reserves whose supply was read: 0 says that `total_supplied_usd` is a sum of nothing.
    // Additive to the interface.
    pub supplied_observed_count: u64,
}

/// One asset of a pool-shaped market.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarketReserve {
    /// The vault row of the reserve; null where its supply position is no vault that is known here.
    pub vault_id: Option<VaultId>,
    /// Symbol of the asset.
    pub asset_symbol: String,
    /// The asset's contract.
    pub asset_address: Address,
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Supplied value; null when it was not read.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub supplied_usd: Option<f64>,
    /// What suppliers earn, rewards included.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub supply_apr: Option<f64>,
    /// Value lent out; null when supply or utilization was not read.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub borrowed_usd: Option<f64>,
    /// Gross borrow quote.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub borrow_apr: Option<f64>,
    /// Net of priced borrower incentives.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub borrow_apr_net: Option<f64>,
    /// Borrowed over supplied, may exceed 1.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub utilization: Option<f64>,
    /// The protocol's part of the interest.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub fee_rate: Option<f64>,
    /// Whether it lends; for hub-and-spoke reserves only where both gates were read and let it.
    pub borrow_status: BorrowStatus,
    /// Whether it takes deposits; null when that could not be observed.
    pub is_depositable: Option<bool>,
    /// Room for deposits; null when uncapped or not observable.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub deposit_capacity_usd: Option<f64>,
    /// Tier of the vault row.
    pub risk_tier: Option<Tier>,
    /// Score of the vault row.
    pub total_score: Option<MilliPoints>,
    /// Shut down: listed, but in no total.
    pub is_shutdown: bool,
    /// The reserve's own supply token.
    // Additive to the interface.
    pub token_address: Option<Address>,
    /// The hub it draws from; null where none is established.
    // Additive to the interface.
    pub hub_address: Option<Address>,
}

/// A group of assets that a market lends on better terms against each other. Fractions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EfficiencyMode {
    /// Its number in the market.
    pub emode_id: u64,
    /// Label, for display.
    pub label: String,
    /// Loan-to-value up to which can be borrowed.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub ltv: f64,
    /// Loan-to-value from which can be liquidated.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub liquidation_threshold: f64,
    /// What a liquidator gains.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub liquidation_bonus: f64,
    /// Tokens that count as collateral in it.
    pub collateral_assets: Vec<String>,
    /// Tokens that may be borrowed in it.
    pub borrowable_assets: Vec<String>,
    /// Collateral that no longer adds borrowing power.
    pub ltv_zero_assets: Vec<String>,
}

/// `data` of `GET /v1/markets/{id}`.
// `M` is the market, or its encoded bytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarketPage<M = Market> {
    /// The list row.
    pub market: M,
    /// Its reserves, largest supply first, shut-down ones included; empty for a pair.
    pub reserves: Vec<MarketReserve>,
    /// Its efficiency modes, in order of their numbers.
    // Additive to the interface.
    pub emodes: Vec<EfficiencyMode>,
    /// The hubs that its reserves are known to draw from, with everything each carries; empty for pools and pairs.
    // Additive to the interface.
    pub hubs: Vec<LiquidityHub>,
    /// Who administers it, in order of their ids.
    // Additive to the interface.
    pub signer_sets: Vec<MarketSignerSet>,
}

/// A hub that spokes draw from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiquidityHub {
    /// Address of the contract.
    pub address: Address,
    /// Name, for display.
    pub name: String,
    /// What it carries, in order of symbols.
    pub assets: Vec<HubAsset>,
}

/// One asset of a hub.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HubAsset {
    /// Symbol of the asset.
    pub asset_symbol: String,
    /// Address of the asset's contract.
    pub asset_address: Address,
    /// What sets its rates; null where that is not known.
    pub interest_rate_strategy: Option<Address>,
    /// The contract that makes a position in it a token; null where there is none.
    pub wrapper_address: Option<Address>,
}
