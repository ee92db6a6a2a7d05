//! Incident exposure: which part of a vault stands behind vaults that an incident hit, itself or those inside it.
//!
//! An incident bears on the whole of a vault that it hit, and on whoever holds that vault in proportion, as a cluster of operators
//! does: the same graph opens both. Parts behind several incidents count once.
//!
//! Source: interface, "Graph structures" (incident exposure), which leaves the shapes of results and issuers open.

use super::amount::{Share, Usd, priced};
use super::facts::{Facts, FactsError, Holding, Part, VaultFacts};
use super::look_through::ExposureGraph;
use crate::model::ids::VaultKey;
use crate::scoring::canonical::{Canonical, Canonicalize};
use crate::wire::time::{Micros, Timestamp};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// How incidents are mapped to vaults; it changes when the rule does.
pub const MAP_VERSION: &str = "incident-map-1";
/// Days after which an incident is history.
pub const WINDOW_DAYS: i64 = 365;

/// The key behind which everything stands that any incident hit; no event's number.
const ANY: &str = "*";

/// A published incident that is not resolved, and the vaults that it hit.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Incident {
    /// The event's number.
    pub event_id: u64,
    /// The event's title.
    pub title: String,
    /// The event's severity.
    pub severity: String,
    /// How large the incident is, where that was judged.
    pub incident_severity: Option<String>,
    /// When it happened.
    pub occurred_at: Timestamp,
    /// The vaults it names, and a protocol's where it counts against all of them; sorted.
    pub vault_keys: Vec<VaultKey>,
}

impl Canonicalize for Incident {
    fn canonical(&self) -> Canonical {
        Canonical::object([
            ("eventId", self.event_id.into()),
            ("title", self.title.as_str().into()),
            ("severity", self.severity.as_str().into()),
            ("incidentSeverity", self.incident_severity.as_deref().into()),
            ("occurredAt", Canonical::Text(Micros(self.occurred_at).to_string())),
            ("vaultKeys", Canonical::list(self.vault_keys.iter().map(|key| Canonical::Text(key.to_string())))),
        ])
    }
}

/// Incidents over the vaults of a snapshot.
#[derive(Clone, Debug)]
pub struct IncidentMap {
    incidents: BTreeMap<u64, Incident>,
    graph: ExposureGraph,
}

/// What a position in a vault has behind incidents.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct IncidentExposure<'a> {
    /// The vault.
    pub vault_key: &'a VaultKey,
    /// Who issued its shares: the protocol.
    pub issuer: Option<&'a str>,
    /// The part of the vault behind any incident.
    pub share: Share,
    /// That part of its TVL; null when the TVL is unknown.
    pub usd_exposure: Option<Usd>,
    /// The greatest part first, then the newest.
    pub incidents: Vec<IncidentShare<'a>>,
}

/// One incident's part of a vault.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct IncidentShare<'a> {
    /// What happened.
    #[serde(flatten)]
    pub incident: IncidentName<'a>,
    /// Whether it hit this very vault, not only one inside.
    pub is_direct: bool,
    /// The part of the vault.
    pub share: Share,
    /// That part of its TVL.
    pub usd_exposure: Option<Usd>,
}

/// An incident, by name.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct IncidentName<'a> {
    /// The event's number, under which `/v1/events/{id}` has it: a JSON number there and here.
    pub event_id: u64,
    /// The event's title.
    pub title: &'a str,
    /// The event's severity.
    pub severity: &'a str,
    /// How large the incident is, where that was judged.
    pub incident_severity: Option<&'a str>,
    /// When it happened.
    pub occurred_at: Timestamp,
}

/// All vaults together, by the protocol that issued what was hit.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct IncidentSummary<'a> {
    /// By issuer: the incidents that hit its vaults.
    pub results: BTreeMap<&'a str, IssuerIncidents<'a>>,
    /// Vaults that were hit or hold one that was.
    pub vault_count: u64,
    /// Protocols whose vaults were hit.
    pub issuer_count: u64,
    /// Values of the vaults that were hit, each once; the sum over `issuers`. What holders have in them is part of it.
    pub total_incident_exposure_usd: Usd,
    /// The greatest exposure first, then by name.
    pub issuers: Vec<IssuerExposure<'a>>,
}

/// What hit an issuer's vaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IssuerIncidents<'a> {
    /// The newest first.
    pub incidents: Vec<IncidentName<'a>>,
}

/// One issuer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct IssuerExposure<'a> {
    /// The protocol.
    pub issuer: &'a str,
    /// Incidents that hit vaults of it.
    pub incident_count: u64,
    /// Vaults of it that were hit.
    pub vault_count: u64,
    /// Those of them whose value is unknown: they are not in the exposure, which is no zero.
    pub unpriced_vault_count: u64,
    /// The values of the others.
    pub incident_exposure_usd: Usd,
}

impl IncidentMap {
    /// Maps incidents onto vaults; those that hit none of these are left out.
    pub fn build(facts: &Facts, incidents: Vec<Incident>) -> Result<Self, FactsError> {
        let mut behind: BTreeMap<&VaultKey, Vec<String>> = BTreeMap::new();
        for incident in &incidents {
            for key in incident.vault_keys.iter().filter(|key| facts.position(key).is_some()) {
                behind.entry(key).or_insert_with(|| alloc::vec![ANY.into()]).push(incident.event_id.to_string());
            }
        }
        let hit = |vault: &VaultFacts| behind.get(&vault.key).cloned().unwrap_or_default();
        let vaults = facts.vaults().iter().map(|vault| nesting_alone(vault, hit(vault))).collect();
        let graph = ExposureGraph::build(Facts::new(vaults)?);
        let hits: BTreeSet<&String> = behind.values().flatten().collect();
        let known = |incident: &Incident| hits.contains(&incident.event_id.to_string());
        let mut kept: BTreeMap<u64, Incident> =
            incidents.iter().filter(|it| known(it)).map(|it| (it.event_id, it.clone())).collect();
        kept.values_mut().for_each(|incident| incident.vault_keys.sort_unstable());
        Ok(IncidentMap { incidents: kept, graph })
    }

    /// What a vault has behind incidents; null for one that is not in the snapshot. `facts` are those it was built over.
    pub fn exposure<'a>(&'a self, facts: &'a Facts, key: &VaultKey) -> Option<IncidentExposure<'a>> {
        let vault = facts.vaults().get(facts.position(key)?)?;
        let behind = self.graph.look_through(key)?.clusters;
        let usd = |share: Share| vault.tvl.map(|tvl| priced(tvl)(share));
        let mut incidents: Vec<IncidentShare<'a>> = behind
            .iter()
            .filter_map(|cluster| {
                let incident = self.incidents.get(&cluster.id.parse().ok()?)?;
                let is_direct = incident.vault_keys.binary_search(key).is_ok();
                Some(IncidentShare {
                    incident: incident.name(),
                    is_direct,
                    share: cluster.share,
                    usd_exposure: usd(cluster.share),
                })
            })
            .collect();
        incidents.sort_by(|a, b| {
            (b.share, b.incident.occurred_at, a.incident.event_id).cmp(&(
                a.share,
                a.incident.occurred_at,
                b.incident.event_id,
            ))
        });
        let share = behind.iter().find(|cluster| cluster.id == ANY).map_or(Share::ZERO, |cluster| cluster.share);
        Some(IncidentExposure {
            vault_key: &vault.key,
            issuer: vault.protocol.as_deref(),
            share,
            usd_exposure: usd(share),
            incidents,
        })
    }

    /// All vaults together. `facts` are those it was built over.
    pub fn summary<'a>(&'a self, facts: &'a Facts) -> IncidentSummary<'a> {
        let mut by_issuer: BTreeMap<&str, (IssuerExposure<'a>, BTreeSet<u64>)> = BTreeMap::new();
        let mut vault_count = 0;
        for vault in facts.vaults() {
            let Some(exposure) = self.exposure(facts, &vault.key).filter(|it| !it.incidents.is_empty()) else {
                continue;
            };
            vault_count += 1;
            let direct: Vec<u64> =
                exposure.incidents.iter().filter(|it| it.is_direct).map(|it| it.incident.event_id).collect();
            let Some(issuer) = vault.protocol.as_deref().filter(|_| !direct.is_empty()) else { continue };
            let (total, incidents) =
                by_issuer.entry(issuer).or_insert_with(|| (IssuerExposure::none_of(issuer), BTreeSet::new()));
            incidents.extend(direct);
            total.vault_count += 1;
            total.unpriced_vault_count += u64::from(vault.tvl.is_none());
            total.incident_exposure_usd = total.incident_exposure_usd.plus(vault.tvl.unwrap_or_default());
        }
        let mut results = BTreeMap::new();
        let mut issuers = Vec::new();
        for (issuer, (mut total, numbers)) in by_issuer {
            total.incident_count = numbers.len() as u64;
            issuers.push(total);
            let mut incidents: Vec<_> =
                numbers.iter().filter_map(|id| self.incidents.get(id)).map(Incident::name).collect();
            incidents.sort_by_key(|incident| (core::cmp::Reverse(incident.occurred_at), incident.event_id));
            results.insert(issuer, IssuerIncidents { incidents });
        }
        issuers
            .sort_by(|a, b| b.incident_exposure_usd.cmp(&a.incident_exposure_usd).then_with(|| a.issuer.cmp(b.issuer)));
        IncidentSummary {
            results,
            vault_count,
            issuer_count: issuers.len() as u64,
            total_incident_exposure_usd: issuers.iter().fold(Usd::ZERO, |sum, it| sum.plus(it.incident_exposure_usd)),
            issuers,
        }
    }
}

impl<'a> IssuerExposure<'a> {
    fn none_of(issuer: &'a str) -> Self {
        IssuerExposure {
            issuer,
            incident_count: 0,
            vault_count: 0,
            unpriced_vault_count: 0,
            incident_exposure_usd: Usd::ZERO,
        }
    }
}

impl Incident {
    fn name(&self) -> IncidentName<'_> {
        IncidentName {
            event_id: self.event_id,
            title: &self.title,
            severity: &self.severity,
            incident_severity: self.incident_severity.as_deref(),
            occurred_at: self.occurred_at,
        }
    }
}

/// A vault with what it holds of other vaults, behind the incidents that hit it.
fn nesting_alone(vault: &VaultFacts, clusters: Vec<String>) -> VaultFacts {
    let held = vault.parts.iter().flatten().filter(|part| matches!(part.holding, Holding::Vault(_)));
    VaultFacts {
        key: vault.key.clone(),
        curator: None,
        protocol: None,
        clusters,
        signer_sets: Vec::new(),
        tvl: None,
        idle: None,
        parts: Some(held.map(|part| Part { share: part.share, holding: part.holding.clone() }).collect()),
    }
}

#[cfg(test)]
#[path = "incidents_tests.rs"]
mod tests;
