//! What aggregators do with deposits: a vault's strategies, or its one strategy.
//!
//! Source: interface, "Vault detail", `/strategies` and `/strategy`, which leaves the shapes open. Shares are fractions of the
//! vault's value; rates are fractions; null is "the source does not say".

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
    /// `unavailable` where no strategy was observed.
    pub status: EvidenceStatus,
    /// The vault's value; null when it was not read.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: Option<f64>,
    /// How many strategies are active.
    pub strategy_count: u64,
    /// Lent to strategies; null when the share of one of them is unknown.
    pub allocated_share: Option<Ppm>,
    /// Not lent.
    pub idle_share: Option<Ppm>,
    /// The same in USD.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub idle_usd: Option<f64>,
    /// The active ones, largest share first.
    pub strategies: Vec<StrategyRow>,
}

/// One strategy.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StrategyRow {
    /// The source's id of it: unique within the vault.
    pub strategy_id: String,
    /// Address of the contract; null if unknown.
    pub address: Option<Address>,
    /// Name, for display.
    pub name: String,
    /// The source's word for what it does.
    pub strategy_type: Option<String>,
    /// In a sentence.
    pub description: Option<String>,
    /// False once it was withdrawn.
    pub is_active: bool,
    /// Of the vault, as observed …
    pub share: Option<Ppm>,
    /// … and as its manager wants it.
    pub target_share: Option<Ppm>,
    /// `share` in USD.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub allocated_usd: Option<f64>,
    /// Yield a year, without compounding.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub apr: Option<f64>,
    /// Yield over a year, with compounding.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub apy: Option<f64>,
    /// Performance fee as a fraction of gains; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub performance_fee: Option<f64>,
    /// When it last reported gains or losses.
    pub last_report_at: Option<Timestamp>,
    /// What it earns with.
    pub yield_sources: Vec<YieldSource>,
    /// What the source warns of, in the source's words.
    pub risk_flags: Vec<String>,
    /// Who saw it.
    pub source: String,
    /// Where it can be checked.
    pub source_url: Option<String>,
    /// When it was seen.
    pub observed_at: Timestamp,
}

/// One thing a strategy earns with.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct YieldSource {
    /// Name, for display.
    pub name: String,
    /// What kind of yield.
    pub kind: YieldKind,
    /// The protocol it comes from, where this service knows it.
    pub protocol_id: Option<String>,
    /// Its part of the strategy's rate.
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
    /// The vault's value; null when it was not read.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: Option<f64>,
    /// The vault's net rate as this service observes it, to compare the strategy's own with.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub vault_apr_net: Option<f64>,
    /// The source's id of the strategy; like the fields below null when `status` is `unavailable`. Of several strategies the
    /// active one that was observed last.
    pub strategy_id: Option<String>,
    /// Address of the contract; null if unknown.
    pub address: Option<Address>,
    /// Name, for display; null if unknown.
    pub name: Option<String>,
    /// The source's word for what it does.
    pub strategy_type: Option<String>,
    /// In a sentence.
    pub description: Option<String>,
    /// False once it was withdrawn.
    pub is_active: Option<bool>,
    /// Yield a year, without compounding.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub apr: Option<f64>,
    /// Yield over a year, with compounding.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub apy: Option<f64>,
    /// Performance fee as a fraction of gains; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub performance_fee: Option<f64>,
    /// When it last reported gains or losses.
    pub last_report_at: Option<Timestamp>,
    /// What it earns with.
    pub yield_sources: Vec<YieldSource>,
    /// What the source warns of, in the source's words.
    pub risk_flags: Vec<String>,
    /// Who saw it.
    pub source: Option<String>,
    /// Where it can be checked.
    pub source_url: Option<String>,
    /// When it was seen.
    pub observed_at: Option<Timestamp>,
}

impl StrategyInfo {
    /// The information about a vault's strategy; without one, that there is none.
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
