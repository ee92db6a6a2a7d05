//! Lending markets: identity, reported totals, reserves with their gates, efficiency modes.

use super::fact::observations;
use rds_shared::model::market::{MarketShape, MarketSource};
use rds_shared::model::status::{BorrowStatus, DepositStatus};
use rds_shared::rules::hub_spoke;
use serde::{Deserialize, Serialize};

observations! {
    /// What a market is.
    Market in "market" by [contract] {
        /// `{chain_id}:{address}`; made here, never read.
        #[serde(default, skip_deserializing)]
        contract: String,
        /// Protocol.
        protocol_id: String,
        /// Its generation, for example `v3`.
        protocol_version: String,
        /// Chain.
        chain_id: i64,
        /// The market's contract.
        address: String,
        /// For display; it may change.
        name: String,
        /// What the market key is made of on first sight; the name when absent.
        key_hint: Option<String>,
        /// Pool, spoke or pair.
        shape: MarketShape,
        /// The one hub that a spoke draws from.
        hub_address: Option<String>,
        /// The protocol's API, or the chain.
        discovered_by: MarketSource,
        /// What a pair lends.
        loan_asset_symbol: Option<String>,
        /// What a pair lends against.
        collateral_asset_symbol: Option<String>,
        /// A pair's liquidation loan-to-value, as a fraction.
        lltv: Option<f64>,
        /// Whether the protocol itself lists it.
        #[serde(default = "super::yes")]
        is_protocol_listed: bool,
    }

    /// What a protocol reports of a pair-shaped market. Null is "not observed".
    MarketState in "market_state" by [contract] {
        /// `{chain_id}:{address}`; made here, never read.
        #[serde(default, skip_deserializing)]
        contract: String,
        /// Chain.
        chain_id: i64,
        /// The market's contract.
        address: String,
        /// Supplied value, borrowed amounts included.
        total_supplied_usd: Option<f64>,
        /// Borrowed value.
        total_borrowed_usd: Option<f64>,
        /// Owed and not recoverable.
        bad_debt_usd: Option<f64>,
    }

    /// One asset of a pool-shaped market. The vault at `token_address` is its vault row.
    MarketReserve in "market_reserve" by [contract, reserve] {
        /// `{chain_id}:{market_address}`; made here, never read.
        #[serde(default, skip_deserializing)]
        contract: String,
        /// The observer's name of the reserve within its market.
        reserve: String,
        /// Chain.
        chain_id: i64,
        /// The market's contract.
        market_address: String,
        /// The asset.
        asset_symbol: String,
        /// The asset's contract.
        asset_address: String,
        /// The reserve's own supply token.
        token_address: Option<String>,
        /// The hub it draws from.
        hub_address: Option<String>,
        /// The protocol's part of the interest, as a fraction.
        fee_rate: Option<f64>,
        /// Of a hub-and-spoke reserve: its two gates. Absent there, neither was read.
        gates: Option<Gates>,
        /// What follows from the gates; made here, never read.
        #[serde(default, skip_deserializing)]
        borrow_status: Option<BorrowStatus>,
        /// What follows from the gates; made here, never read.
        #[serde(default, skip_deserializing)]
        deposit_status: Option<DepositStatus>,
        /// What follows from the gates; made here, never read.
        #[serde(default, skip_deserializing)]
        deposit_capacity_usd: Option<f64>,
        /// False once the market no longer has it.
        #[serde(default = "super::yes")]
        is_active: bool,
    }

    /// One asset of a liquidity hub, from which the reserves of spokes draw. A hub is no market.
    HubAsset in "hub_asset" by [hub, asset_address] {
        /// `{chain_id}:{hub_address}`; made here, never read.
        #[serde(default, skip_deserializing)]
        hub: String,
        /// The asset's contract.
        asset_address: String,
        /// Protocol.
        protocol_id: String,
        /// Its generation.
        protocol_version: String,
        /// Chain.
        chain_id: i64,
        /// The hub's contract.
        hub_address: String,
        /// The hub's name, for display.
        hub_name: String,
        /// The asset.
        asset_symbol: String,
        /// What sets its rates.
        interest_rate_strategy: Option<String>,
        /// The contract that makes a position in it a token.
        wrapper_address: Option<String>,
        /// False once the hub no longer has it.
        #[serde(default = "super::yes")]
        is_active: bool,
    }

    /// A group of assets that a market lends on better terms against each other.
    MarketEmode in "market_emode" by [contract, emode_id] {
        /// `{chain_id}:{market_address}`; made here, never read.
        #[serde(default, skip_deserializing)]
        contract: String,
        /// Its number in the market.
        emode_id: i64,
        /// Chain.
        chain_id: i64,
        /// The market's contract.
        market_address: String,
        /// Its label.
        label: String,
        /// As fractions, all three.
        ltv: f64,
        /// Loan-to-value from which can be liquidated.
        liquidation_threshold: f64,
        /// What a liquidator gains.
        liquidation_bonus: f64,
        /// Tokens that count as collateral.
        #[serde(default)]
        collateral_assets: Vec<String>,
        /// Tokens that may be borrowed.
        #[serde(default)]
        borrowable_assets: Vec<String>,
        /// Collateral that adds no borrowing power any more.
        #[serde(default)]
        ltv_zero_assets: Vec<String>,
        /// False once the market no longer has it.
        #[serde(default = "super::yes")]
        is_active: bool,
    }
}

/// The gates of a hub-and-spoke reserve; one that was not read is null.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gates {
    /// Its flags on the spoke.
    pub spoke: Option<SpokeGate>,
    /// What the hub grants the spoke.
    pub hub: Option<HubGate>,
    /// What a unit of the asset is worth; null without a price.
    pub price_usd: Option<f64>,
}

/// A reserve's flags on its spoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpokeGate {
    /// Everything is stopped.
    pub paused: bool,
    /// Nothing new.
    pub frozen: bool,
    /// Whether it is lent.
    pub borrowable: bool,
}

/// What a hub grants one spoke in one asset, in whole units of it; a null cap is none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubGate {
    /// Whether the spoke is admitted.
    pub active: bool,
    /// Whether its operations are stopped.
    pub halted: bool,
    /// The most that the spoke may owe.
    pub draw_cap: Option<f64>,
    /// What it owes.
    pub owed: f64,
    /// The most that the spoke may have added.
    pub add_cap: Option<f64>,
    /// What it has added.
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

/// How a market is known before it has an id.
pub fn contract(chain_id: i64, address: &str) -> String {
    format!("{chain_id}:{address}")
}
