//! What an aggregator's vault does with deposits, strategy by strategy.

use super::At;
use super::fact::observations;
use rds_shared::model::status::YieldKind;
use serde::{Deserialize, Serialize};

observations! {
    /// A strategy of a vault as it stands. One that was withdrawn is observed with `is_active` false.
    VaultStrategy in "vault_strategy" by [vault_id, strategy_id] {
        /// The vault.
        vault_id: String,
        /// The source's id of it, unique within the vault.
        strategy_id: String,
        /// Its contract.
        address: Option<String>,
        /// For display.
        name: String,
        /// The source's word for what it does.
        strategy_type: Option<String>,
        /// In a sentence.
        description: Option<String>,
        /// Whether it is in use.
        #[serde(default = "super::yes")]
        is_active: bool,
        /// Of the vault, as observed, as a fraction.
        share: Option<f64>,
        /// Of the vault, as its manager wants it.
        target_share: Option<f64>,
        /// Yield a year, without compounding.
        apr: Option<f64>,
        /// The same with compounding.
        apy: Option<f64>,
        /// Of gains, as a fraction.
        performance_fee: Option<f64>,
        /// When it last reported gains or losses.
        last_report_at: Option<At>,
        /// What it earns with.
        #[serde(default)]
        yield_sources: Vec<YieldSource>,
        /// What the source warns of.
        #[serde(default)]
        risk_flags: Vec<String>,
        /// Where it can be checked.
        source_url: Option<String>,
    }
}

/// One thing a strategy earns with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct YieldSource {
    /// For display.
    pub name: String,
    /// What kind of yield.
    pub kind: YieldKind,
    /// The protocol it comes from, where it is in the registry.
    pub protocol_id: Option<String>,
    /// Its part of the strategy's rate.
    pub apr: Option<f64>,
}
