//! Strategies of an aggregator's vault: how it uses deposits.

use super::At;
use super::fact::observations;
use rds_shared::model::status::YieldKind;
use rds_shared::model::strategy as model;
use serde::{Deserialize, Serialize};

observations! {
    /// Current state of one strategy of a vault. A withdrawn strategy is observed with `is_active` false.
    VaultStrategy in "vault_strategy" by [vault_id, strategy_id] {
        /// Id of the vault; a known vault.
        vault_id: String,
        /// The source's id of the strategy, unique within the vault.
        strategy_id: String,
        /// The strategy's contract.
        address: Option<String>,
        /// Display name.
        name: String,
        /// Type, as the source names it.
        strategy_type: Option<String>,
        /// Description in one sentence.
        description: Option<String>,
        /// Whether the strategy is in use.
        #[serde(default = "super::yes")]
        is_active: bool,
        /// Observed share of the vault, as a fraction.
        share: Option<f64>,
        /// Target share of the vault, set by its manager, as a fraction.
        target_share: Option<f64>,
        /// Annual yield without compounding.
        apr: Option<f64>,
        /// Annual yield with compounding.
        apy: Option<f64>,
        /// Fee on gains, as a fraction.
        performance_fee: Option<f64>,
        /// Time of the latest report of gains or losses.
        last_report_at: Option<At>,
        /// What the yield comes from.
        #[serde(default)]
        yield_sources: Vec<YieldSource>,
        /// Warnings of the source.
        #[serde(default)]
        risk_flags: Vec<String>,
        /// Link to a page on which the data can be verified.
        source_url: Option<String>,
    }
}

/// One source of a strategy's yield.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct YieldSource {
    /// Display name.
    pub name: String,
    /// Kind of yield.
    pub kind: YieldKind,
    /// The protocol behind the yield, if it is in the registry.
    pub protocol_id: Option<String>,
    /// The annual yield from this source, as a fraction; part of the strategy's `apr`.
    pub apr: Option<f64>,
}

impl From<YieldSource> for model::YieldSource {
    fn from(YieldSource { name, kind, protocol_id, apr }: YieldSource) -> Self {
        model::YieldSource { name, kind, protocol_id, apr }
    }
}
