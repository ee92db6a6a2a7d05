//! Risk signals: what was detected, which entities it is about, and which vaults it affects.

use super::ids::{Address, ChainId, VaultId, VaultKey};
use super::money::DecimalUsd;
use crate::scoring::named_enum;
use crate::wire::page::PageRequest;
use crate::wire::time::Timestamp;
use alloc::{string::String, vec::Vec};
use serde::{Serialize, Serializer};

named_enum! {
    /// Severity of a signal, lowest first.
    pub enum SignalSeverity {
        /// For information only.
        Info = "Info",
        /// Worth following.
        Watch = "Watch",
        /// The risk of an entity that the signal names has changed.
        RiskChange = "RiskChange",
        /// A limit of a policy is breached.
        PolicyBreach = "PolicyBreach",
    }
}

/// An entity that a signal is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SignalEntity {
    /// Kind of the entity: `vault`, `curator`, `protocol`, `asset`, `chain`, `market`, `oracle`, or another slug of the source.
    pub kind: String,
    /// Id of the entity within its kind; for a market or oracle `{chain_id}:{address}`.
    pub id: String,
    /// Name of the entity, for display.
    pub label: String,
}

/// A signal in the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Signal {
    /// Numeric id of the signal.
    pub id: u64,
    /// Title, one line of plain text.
    pub title: String,
    /// URL of a page about the signal; null if there is none.
    pub url: Option<String>,
    /// Severity of the signal.
    pub severity: SignalSeverity,
    /// Weight among signals of the same severity, from 0 to 1.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub significance: f64,
    /// Entities that the signal is about.
    pub entities: Vec<SignalEntity>,
    /// Number of vaults that the signal affects.
    pub affected_vault_count: u64,
    /// Number of risk limits that are exceeded, as the signal's source states it.
    pub breach_count: u64,
    /// Exposed value of the affected vaults in USD, as decimal text exact to the cent.
    pub exposure_usd: DecimalUsd,
    /// Subject of the signal, as a slug.
    pub category: String,
    /// Instant of publication.
    pub published_at: Timestamp,
}

/// A signal with its affected vaults and its evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SignalDetail {
    /// The fields of the list item.
    #[serde(flatten)]
    pub signal: Signal,
    /// What happened, as plain text; null if unknown.
    pub summary: Option<String>,
    /// Reason for the severity; null if the source gives none.
    pub severity_reason: Option<String>,
    /// Entities that the signal is about, each with its part of the impact.
    pub entities_full: Vec<EntityImpact>,
    /// Vaults that the signal affects, largest exposure first.
    pub affected_vaults: Vec<AffectedVault>,
    /// Id of the exposure graph snapshot that was current when the service computed the impact; null if there was none yet, or if the
    /// source stated the impact.
    pub graph_snapshot_id: Option<String>,
    /// Version of the methodology behind the impact figures; null if the source names none.
    pub methodology_version: Option<String>,
    /// Evidence for the signal.
    pub evidence: SignalEvidence,
}

/// An entity with its part of the impact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EntityImpact {
    /// The entity, as in `entities`.
    #[serde(flatten)]
    pub entity: SignalEntity,
    /// Number of vaults that are affected through this entity.
    pub affected_vault_count: u64,
    /// Exposed value of these vaults in USD, as decimal text. A vault that is affected through two entities counts for both, but only once
    /// for the signal.
    pub exposure_usd: DecimalUsd,
}

/// A vault that a signal affects, with figures as of the computation of the impact.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "SignalVault"))]
#[serde(rename_all = "camelCase")]
pub struct AffectedVault {
    /// Key of the vault, `{chain_id}:{address}`, as the graph and signal routes use it.
    #[cfg_attr(feature = "schema", schemars(with = "VaultKey"))]
    #[serde(serialize_with = "as_text")]
    pub vault_key: VaultKey,
    /// Id of the vault, `<protocol_id>-<chain_id>-<address>`.
    pub vault_id: VaultId,
    /// Name of the vault, for display.
    pub vault_name: String,
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Address of the vault's share token.
    pub address: Address,
    /// Exposed value of the vault in USD, as decimal text; null if the vault's value was unknown.
    pub exposure_usd: Option<DecimalUsd>,
    /// Exposed part of the vault's value, from 0 to 1, as a fraction.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub exposure_share: f64,
    /// Entities through which the signal affects the vault, as `kind:id`; empty if the source names the vault itself.
    pub via: Vec<String>,
}

fn as_text<S: Serializer>(key: &VaultKey, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(key)
}

/// The evidence for a signal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SignalEvidence {
    /// URL of the primary source; null if unknown.
    pub source_url: Option<String>,
    /// URLs of articles about the signal.
    pub article_urls: Vec<String>,
    /// Id of the exposure graph snapshot that the source used; if the source names none, the value of `graphSnapshotId`.
    pub snapshot_id: Option<String>,
}

/// `meta` of the signals feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SignalMeta {
    /// The page, counted from 1.
    pub page: u64,
    /// Rows per page, after clamping.
    pub limit: u64,
    /// Number of signals that match the filters.
    pub total: u64,
    /// Whether another page follows.
    pub has_more: bool,
}

impl SignalMeta {
    /// The meta of `page` over `total` signals.
    pub fn new(page: PageRequest, total: u64) -> Self {
        SignalMeta { page: page.number, limit: page.size, total, has_more: page.end() < total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severities_are_listed_in_ascending_order() {
        assert!(SignalSeverity::ALL.is_sorted());
        assert_eq!(SignalSeverity::ALL.first().map(|severity| severity.as_str()), Some("Info"));
    }
}
