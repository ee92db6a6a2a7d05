//! How aggregators use deposits: the strategies of a vault, or its single strategy.
//!
//! The interface specification does not define the fields of these responses. Shares are fractions of the vault's value, rates are
//! fractions, and null means that the source does not state the value.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::ids::{Address, VaultId};
use super::status::{EvidenceStatus, YieldKind};
use crate::scoring::Ppm;
use crate::wire::time::Timestamp;

/// `data` of `GET /v1/vault/{network}/{address}/strategies`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StrategyBreakdown {
    /// Id of the vault, `<protocol_id>-<chain_id>-<address>`.
    pub vault_id: VaultId,
    /// `unavailable` if no strategy was observed; then the shares are null.
    pub status: EvidenceStatus,
    /// Value of the vault in USD; null if it was not read.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: Option<f64>,
    /// Number of active strategies.
    pub strategy_count: u64,
    /// Part of the vault's value that is lent to strategies, as a fraction; null if the share of an active strategy is unknown.
    pub allocated_share: Option<Ppm>,
    /// Part of the vault's value that is not lent to strategies, as a fraction; null if `allocated_share` is null.
    pub idle_share: Option<Ppm>,
    /// `idle_share` of the vault's value, in USD; null if the share or the value is unknown.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub idle_usd: Option<f64>,
    /// The active strategies, largest share first.
    pub strategies: Vec<StrategyRow>,
}

/// One strategy of a vault.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StrategyRow {
    /// The source's id of the strategy, unique within the vault.
    pub strategy_id: String,
    /// Address of the contract; null if unknown.
    pub address: Option<Address>,
    /// Name, for display.
    pub name: String,
    /// Type of the strategy, as the source names it; null if the source does not state it.
    pub strategy_type: Option<String>,
    /// Description in one sentence; null if the source gives none.
    pub description: Option<String>,
    /// False once the strategy was withdrawn.
    pub is_active: bool,
    /// Observed part of the vault's value, as a fraction; null if unknown.
    pub share: Option<Ppm>,
    /// Part of the vault's value that the vault's manager intends for the strategy, as a fraction; null if unknown.
    pub target_share: Option<Ppm>,
    /// `share` of the vault's value, in USD; null if the share or the value is unknown.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub allocated_usd: Option<f64>,
    /// Annual yield without compounding, as a fraction; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub apr: Option<f64>,
    /// Annual yield with compounding, as a fraction; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub apy: Option<f64>,
    /// Performance fee as a fraction of gains; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub performance_fee: Option<f64>,
    /// Instant at which the strategy last reported gains or losses; null if unknown.
    pub last_report_at: Option<Timestamp>,
    /// What the strategy earns its yield from; empty if unknown.
    pub yield_sources: Vec<YieldSource>,
    /// Warnings of the source, in its own words.
    pub risk_flags: Vec<String>,
    /// Name of the source of the observation.
    pub source: String,
    /// URL at which the observation can be verified; null if unknown.
    pub source_url: Option<String>,
    /// Instant of the observation.
    pub observed_at: Timestamp,
}

/// One source of a strategy's yield.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct YieldSource {
    /// Name, for display.
    pub name: String,
    /// Kind of yield.
    pub kind: YieldKind,
    /// Id of the protocol that pays the yield; null if it is unknown to this service.
    pub protocol_id: Option<String>,
    /// Annual yield that the strategy earns from this source, as a fraction; part of the strategy's `apr`; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub apr: Option<f64>,
}

/// `data` of `GET /v1/vault/{network}/{address}/strategy`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StrategyInfo {
    /// Id of the vault, `<protocol_id>-<chain_id>-<address>`.
    pub vault_id: VaultId,
    /// `unavailable` where no strategy was observed.
    pub status: EvidenceStatus,
    /// Value of the vault in USD; null if it was not read.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: Option<f64>,
    /// Net annual rate of the vault, observed by this service, as a fraction; for comparison with the strategy's `apr`; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub vault_apr_net: Option<f64>,
    /// The source's id of the strategy; null if `status` is `unavailable`. If the vault has several strategies, the most recently observed
    /// active strategy is shown.
    pub strategy_id: Option<String>,
    /// Address of the contract; null if unknown.
    pub address: Option<Address>,
    /// Name, for display; null if unknown.
    pub name: Option<String>,
    /// Type of the strategy, as the source names it; null if the source does not state it.
    pub strategy_type: Option<String>,
    /// Description in one sentence; null if the source gives none.
    pub description: Option<String>,
    /// False once the strategy was withdrawn; null if `status` is `unavailable`.
    pub is_active: Option<bool>,
    /// Annual yield without compounding, as a fraction; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub apr: Option<f64>,
    /// Annual yield with compounding, as a fraction; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub apy: Option<f64>,
    /// Performance fee as a fraction of gains; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub performance_fee: Option<f64>,
    /// Instant at which the strategy last reported gains or losses; null if unknown.
    pub last_report_at: Option<Timestamp>,
    /// What the strategy earns its yield from; empty if unknown.
    pub yield_sources: Vec<YieldSource>,
    /// Warnings of the source, in its own words.
    pub risk_flags: Vec<String>,
    /// Name of the source of the observation; null if `status` is `unavailable`.
    pub source: Option<String>,
    /// URL at which the observation can be verified; null if unknown.
    pub source_url: Option<String>,
    /// Instant of the observation; null if `status` is `unavailable`.
    pub observed_at: Option<Timestamp>,
}

impl StrategyInfo {
    /// The information about a vault's strategy; without a strategy the status is `unavailable`.
    pub fn new(
        vault_id: VaultId,
        tvl_usd: Option<f64>,
        vault_apr_net: Option<f64>,
        strategy: Option<StrategyRow>,
    ) -> Self {
        let mut info = StrategyInfo {
            vault_id,
            status: EvidenceStatus::Unavailable,
            tvl_usd,
            vault_apr_net,
            strategy_id: None,
            address: None,
            name: None,
            strategy_type: None,
            description: None,
            is_active: None,
            apr: None,
            apy: None,
            performance_fee: None,
            last_report_at: None,
            yield_sources: Vec::new(),
            risk_flags: Vec::new(),
            source: None,
            source_url: None,
            observed_at: None,
        };
        if let Some(row) = strategy {
            info.status = EvidenceStatus::Observed;
            info.strategy_id = Some(row.strategy_id);
            info.address = row.address;
            info.name = Some(row.name);
            info.strategy_type = row.strategy_type;
            info.description = row.description;
            info.is_active = Some(row.is_active);
            info.apr = row.apr;
            info.apy = row.apy;
            info.performance_fee = row.performance_fee;
            info.last_report_at = row.last_report_at;
            info.yield_sources = row.yield_sources;
            info.risk_flags = row.risk_flags;
            info.source = Some(row.source);
            info.source_url = row.source_url;
            info.observed_at = Some(row.observed_at);
        }
        info
    }
}
