//! Risk signals: what was noticed, of whom, and which vaults it touches.
//!
//! Source: interface, "Signal". The elements of `entitiesFull` and `affectedVaults` are not shown there; these are ours.

use super::ids::{Address, ChainId, VaultId, VaultKey};
use super::money::DecimalUsd;
use crate::scoring::named_enum;
use crate::wire::page::PageRequest;
use crate::wire::time::Timestamp;
use alloc::{string::String, vec::Vec};
use serde::{Serialize, Serializer};

named_enum! {
    /// The ladder of signals, lowest first.
    pub enum SignalSeverity {
        /// For the record.
        Info = "Info",
        /// Worth following.
        Watch = "Watch",
        /// The risk of what it names is no longer what it was.
        RiskChange = "RiskChange",
        /// A limit that somebody set is broken.
        PolicyBreach = "PolicyBreach",
    }
}

/// Who or what a signal is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SignalEntity {
    /// `vault`, `curator`, `protocol`, `asset`, `chain`, `market`, `oracle`, or another word of the source.
    pub kind: String,
    /// Its id within its kind.
    pub id: String,
    /// Label, for display.
    pub label: String,
}

/// A signal of the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Signal {
    /// Numeric id.
    pub id: u64,
    /// Title, one line of plain text.
    pub title: String,
    /// Where it is told.
    pub url: Option<String>,
    /// Its step of the ladder.
    pub severity: SignalSeverity,
    /// How much it matters beside others of its step, from 0 to 1.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub significance: f64,
    /// Who it is about.
    pub entities: Vec<SignalEntity>,
    /// How many vaults it touches.
    pub affected_vault_count: u64,
    /// How many limits it breaks.
    pub breach_count: u64,
    /// Value of those vaults that is exposed, exact to the cent.
    pub exposure_usd: DecimalUsd,
    /// What it is about, as a slug.
    pub category: String,
    /// When it was published.
    pub published_at: Timestamp,
}

/// One signal in full.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SignalDetail {
    /// The list item.
    #[serde(flatten)]
    pub signal: Signal,
    /// What happened, as plain text; null if unknown.
    pub summary: Option<String>,
    /// Why it stands on its step.
    pub severity_reason: Option<String>,
    /// Who it is about, and what of theirs it touches.
    pub entities_full: Vec<EntityImpact>,
    /// The vaults, largest exposure first.
    pub affected_vaults: Vec<AffectedVault>,
    /// The snapshot of the graph that was current when its impact was computed, of the same facts; null where none was built yet, or the
    /// source brought the impact itself.
    pub graph_snapshot_id: Option<String>,
    /// The rules by which its impact was computed.
    pub methodology_version: Option<String>,
    /// Where it comes from.
    pub evidence: SignalEvidence,
}

/// An entity with its part of the impact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EntityImpact {
    /// As in `entities`.
    #[serde(flatten)]
    pub entity: SignalEntity,
    /// Vaults that are touched through it.
    pub affected_vault_count: u64,
    /// Their exposed value. A vault touched through two entities counts with both here, and once in the signal.
    pub exposure_usd: DecimalUsd,
}

/// A vault that a signal touches, as of its publication.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "SignalVault"))]
#[serde(rename_all = "camelCase")]
pub struct AffectedVault {
    /// Its key in the graph and signal families.
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
    /// Value of it that is exposed; null where its value was not known.
    pub exposure_usd: Option<DecimalUsd>,
    /// That part of its value, from 0 to 1.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub exposure_share: f64,
    /// The entities through which it is touched, as `kind:id`; empty where the source named the vault itself.
    pub via: Vec<String>,
}

fn as_text<S: Serializer>(key: &VaultKey, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(key)
}

/// Where a signal comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SignalEvidence {
    /// The primary source.
    pub source_url: Option<String>,
    /// Where it was reported.
    pub article_urls: Vec<String>,
    /// The snapshot that its source looked at; where the source named none, that of the graph beside which its impact was computed.
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
    /// Signals that match.
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
    fn the_ladder_is_in_order() {
        assert!(SignalSeverity::ALL.is_sorted());
        assert_eq!(SignalSeverity::ALL.first().map(|step| step.as_str()), Some("Info"));
    }
}
