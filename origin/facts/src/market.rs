//! Lending markets: identity, reported totals, reserves with their gates, efficiency modes, and liquidity hubs.

use super::fact::observations;
use rds_shared::model::market::{MarketShape, MarketSource};
use rds_shared::model::status::{BorrowStatus, DepositStatus};
use rds_shared::rules::hub_spoke;
use rds_shared::scoring::provenance::ChainEvidence;
use serde::{Deserialize, Serialize};

observations! {
    /// Identity of a market.
    Market in "market" by [contract] {
        /// `{chain_id}:{address}`; computed, not allowed in the ingest line.
        #[serde(default, skip_deserializing)]
        contract: String,
        /// Slug of the protocol; a known protocol.
        protocol_id: String,
        /// Version of the protocol, for example `v3`.
        protocol_version: String,
        /// Id of the chain; a known chain.
        chain_id: i64,
        /// The market's contract.
        address: String,
        /// Display name; may change.
        name: String,
        /// Text from which the market key is made on first observation; defaults to the name.
        key_hint: Option<String>,
        /// Structure of the market.
        shape: MarketShape,
        /// The hub from which a spoke draws liquidity.
        hub_address: Option<String>,
        /// Whether the protocol's API or the chain revealed the market.
        discovered_by: MarketSource,
        /// Loan asset of a pair.
        loan_asset_symbol: Option<String>,
        /// Collateral asset of a pair.
        collateral_asset_symbol: Option<String>,
        /// Liquidation loan-to-value of a pair, as a fraction.
        lltv: Option<f64>,
        /// Whether the protocol itself lists the market.
        #[serde(default = "super::yes")]
        is_protocol_listed: bool,
        /// Where it was read on a chain; absent for what a source stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence: Option<ChainEvidence>,
    }

    /// Totals that a protocol reports for a pair-shaped market. Null means "not observed".
    MarketState in "market_state" by [contract] {
        /// `{chain_id}:{address}`; computed, not allowed in the ingest line.
        #[serde(default, skip_deserializing)]
        contract: String,
        /// Id of the chain; a known chain.
        chain_id: i64,
        /// The market's contract.
        address: String,
        /// Supplied value, borrowed amounts included.
        total_supplied_usd: Option<f64>,
        /// Borrowed value.
        total_borrowed_usd: Option<f64>,
        /// Unrecoverable debt.
        bad_debt_usd: Option<f64>,
    }

    /// One asset of a market with reserves. The vault at `token_address` represents deposits into the reserve.
    MarketReserve in "market_reserve" by [contract, reserve] {
        /// `{chain_id}:{market_address}`; computed, not allowed in the ingest line.
        #[serde(default, skip_deserializing)]
        contract: String,
        /// The source's name of the reserve, unique within the market.
        reserve: String,
        /// Id of the chain; a known chain.
        chain_id: i64,
        /// The market's contract.
        market_address: String,
        /// Symbol of the asset.
        asset_symbol: String,
        /// Contract of the asset.
        asset_address: String,
        /// The reserve's own supply token.
        token_address: Option<String>,
        /// The hub from which the reserve draws liquidity.
        hub_address: Option<String>,
        /// The protocol's part of the interest, as a fraction.
        fee_rate: Option<f64>,
        /// The gates of a hub-and-spoke reserve, absent if neither was read; or what a pool allows with a reserve whose supply token is no vault.
        gates: Option<Gates>,
        /// Derived from the gates; not allowed in the ingest line.
        #[serde(default, skip_deserializing)]
        borrow_status: Option<BorrowStatus>,
        /// Derived from the gates; not allowed in the ingest line.
        #[serde(default, skip_deserializing)]
        deposit_status: Option<DepositStatus>,
        /// Derived from the gates; not allowed in the ingest line.
        #[serde(default, skip_deserializing)]
        deposit_capacity_usd: Option<f64>,
        /// False once the market no longer lists it.
        #[serde(default = "super::yes")]
        is_active: bool,
        /// Where it was read on a chain; absent for what a source stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence: Option<ChainEvidence>,
    }

    /// One asset of a liquidity hub, from which the reserves of spokes draw. A hub is not a market.
    HubAsset in "hub_asset" by [hub, asset_address] {
        /// `{chain_id}:{hub_address}`; computed, not allowed in the ingest line.
        #[serde(default, skip_deserializing)]
        hub: String,
        /// Contract of the asset.
        asset_address: String,
        /// Slug of the protocol; a known protocol.
        protocol_id: String,
        /// Version of the protocol.
        protocol_version: String,
        /// Id of the chain; a known chain.
        chain_id: i64,
        /// The hub's contract.
        hub_address: String,
        /// Display name.
        hub_name: String,
        /// Symbol of the asset.
        asset_symbol: String,
        /// Contract that sets the interest rates.
        interest_rate_strategy: Option<String>,
        /// Contract that wraps a position in the asset as a token.
        wrapper_address: Option<String>,
        /// False once the hub no longer lists it.
        #[serde(default = "super::yes")]
        is_active: bool,
    }

    /// An efficiency mode: a group of assets with better lending terms against each other.
    MarketEmode in "market_emode" by [contract, emode_id] {
        /// `{chain_id}:{market_address}`; computed, not allowed in the ingest line.
        #[serde(default, skip_deserializing)]
        contract: String,
        /// Unique within the market.
        emode_id: i64,
        /// Id of the chain; a known chain.
        chain_id: i64,
        /// The market's contract.
        market_address: String,
        /// Display name.
        label: String,
        /// Maximum loan-to-value, as a fraction.
        ltv: f64,
        /// Loan-to-value above which a position can be liquidated, as a fraction.
        liquidation_threshold: f64,
        /// The liquidator's bonus, as a fraction.
        liquidation_bonus: f64,
        /// Contracts of tokens that count as collateral.
        #[serde(default)]
        collateral_assets: Vec<String>,
        /// Contracts of tokens that can be borrowed.
        #[serde(default)]
        borrowable_assets: Vec<String>,
        /// Contracts of collateral tokens that add no borrowing power any more.
        #[serde(default)]
        ltv_zero_assets: Vec<String>,
        /// False once the market no longer has it.
        #[serde(default = "super::yes")]
        is_active: bool,
        /// Where it was read on a chain; absent for what a source stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence: Option<ChainEvidence>,
    }
}

/// The gates of a hub-and-spoke reserve; a gate that was not read is null. A pool has the flags of a spoke and the limits of a hub itself.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Gates {
    /// The reserve's flags on the spoke.
    pub spoke: Option<SpokeGate>,
    /// The hub's limits for the spoke.
    pub hub: Option<HubGate>,
    /// USD per unit of the asset; null without a price.
    pub price_usd: Option<f64>,
}

/// A reserve's flags on its spoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SpokeGate {
    /// All operations are stopped.
    pub paused: bool,
    /// New supply and borrowing are stopped.
    pub frozen: bool,
    /// Whether the asset can be borrowed.
    pub borrowable: bool,
}

/// A hub's limits for one spoke and one asset, in whole units of the asset. A null cap means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HubGate {
    /// Whether the hub admits the spoke.
    pub active: bool,
    /// Whether the spoke's operations are stopped.
    pub halted: bool,
    /// Maximum debt of the spoke.
    pub draw_cap: Option<f64>,
    /// Current debt of the spoke.
    pub owed: f64,
    /// Maximum amount added by the spoke.
    pub add_cap: Option<f64>,
    /// Amount added by the spoke.
    pub added: f64,
}

impl From<SpokeGate> for hub_spoke::SpokeGate {
    fn from(gate: SpokeGate) -> Self {
        hub_spoke::SpokeGate { paused: gate.paused, frozen: gate.frozen, borrowable: gate.borrowable }
    }
}

impl From<HubGate> for hub_spoke::HubGate {
    fn from(gate: HubGate) -> Self {
        let HubGate { active, halted, draw_cap, owed, add_cap, added } = gate;
        hub_spoke::HubGate { active, halted, draw_cap, owed, add_cap, added }
    }
}

/// The `contract` key of a market, which identifies it before it has an id.
pub fn contract(chain_id: i64, address: &str) -> String {
    format!("{chain_id}:{address}")
}
