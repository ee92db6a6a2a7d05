//! Incident exposure: the share of a vault that is exposed to vaults hit by an incident, including the vault itself.
//!
//! An incident affects the whole of each vault it hit, and holders of that vault in proportion. Incidents are therefore resolved
//! through the same exposure graph as operator clusters. A share that is exposed to several incidents counts once.

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

/// Version of the rule that maps incidents to vaults.
pub const MAP_VERSION: &str = "incident-map-1";
/// Age in days after which an incident no longer counts.
pub const WINDOW_DAYS: i64 = 365;

/// Key of an extra cluster that contains every vault hit by any incident. Its exposure counts a share once, however many incidents hit it.
/// Event ids are numbers, so none of them equals this key.
const ANY: &str = "*";

/// A published, unresolved incident and the vaults it hit.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Incident {
    /// Id of the event.
    pub event_id: u64,
    pub title: String,
    pub severity: String,
    /// Size of the incident; `None` when not assessed.
    pub incident_severity: Option<String>,
    pub occurred_at: Timestamp,
    /// Vaults that the event names, and all vaults of a protocol that it affects as a whole; sorted.
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

/// Incidents mapped to the vaults of a snapshot.
#[derive(Clone, Debug)]
pub struct IncidentMap {
    incidents: BTreeMap<u64, Incident>,
    graph: ExposureGraph,
}

/// Exposure of a vault to unresolved incidents.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct IncidentExposure<'a> {
    /// The vault, as `{chain_id}:{address}`.
    pub vault_key: &'a VaultKey,
    /// The protocol that issued the vault's shares; null when unknown.
    pub issuer: Option<&'a str>,
    /// Fraction of the vault that is exposed to at least one incident, 0 to 1.
    pub share: Share,
    /// `share` of the vault's TVL, in US dollars; null when the TVL is unknown.
    pub usd_exposure: Option<Usd>,
    /// The incidents, by share descending, then newest first.
    pub incidents: Vec<IncidentShare<'a>>,
}

/// A vault's exposure to one incident.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct IncidentShare<'a> {
    /// The incident.
    #[serde(flatten)]
    pub incident: IncidentName<'a>,
    /// True if the incident hit this vault itself, not only a vault inside it.
    pub is_direct: bool,
    /// Fraction of the vault that is exposed to the incident, 0 to 1.
    pub share: Share,
    /// `share` of the vault's TVL, in US dollars; null when the TVL is unknown.
    pub usd_exposure: Option<Usd>,
}

/// An incident's event in brief.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct IncidentName<'a> {
    /// Id of the event in `/v1/events/{id}`, a JSON number.
    pub event_id: u64,
    /// Title of the event.
    pub title: &'a str,
    /// Severity of the event.
    pub severity: &'a str,
    /// Size of the incident; null when not assessed.
    pub incident_severity: Option<&'a str>,
    /// Time of the event.
    pub occurred_at: Timestamp,
}

/// Incident exposure over all vaults, by the protocol that issued the vaults hit.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct IncidentSummary<'a> {
    /// The incidents that hit an issuer's vaults, by issuer.
    pub results: BTreeMap<&'a str, IssuerIncidents<'a>>,
    /// Number of vaults that were hit or hold a vault that was hit.
    pub vault_count: u64,
    /// Number of protocols whose vaults were hit.
    pub issuer_count: u64,
    /// TVL of the vaults that were hit, each counted once, in US dollars: the sum over `issuers`. Shares of these vaults that
    /// other vaults hold are included and not added again.
    pub total_incident_exposure_usd: Usd,
    /// Exposure per issuer, by exposure descending, then by name.
    pub issuers: Vec<IssuerExposure<'a>>,
}

/// The incidents that hit an issuer's vaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IssuerIncidents<'a> {
    /// The incidents, newest first.
    pub incidents: Vec<IncidentName<'a>>,
}

/// Incident exposure of one issuer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct IssuerExposure<'a> {
    /// The issuing protocol.
    pub issuer: &'a str,
    /// Number of incidents that hit the issuer's vaults.
    pub incident_count: u64,
    /// Number of the issuer's vaults that were hit.
    pub vault_count: u64,
    /// Number of vaults that were hit and whose TVL is unknown. They are missing from `incidentExposureUsd`; their exposure is unknown, not zero.
    pub unpriced_vault_count: u64,
    /// Sum of the known TVLs of the issuer's vaults that were hit, in US dollars.
    pub incident_exposure_usd: Usd,
}

impl IncidentMap {
    /// Maps incidents to vaults. Incidents that hit none of these vaults are dropped.
    pub fn build(facts: &Facts, incidents: Vec<Incident>) -> Result<Self, FactsError> {
        let mut behind: BTreeMap<&VaultKey, Vec<String>> = BTreeMap::new();
        for incident in &incidents {
            for key in incident.vault_keys.iter().filter(|key| facts.position(key).is_some()) {
                behind.entry(key).or_insert_with(|| alloc::vec![ANY.into()]).push(incident.event_id.to_string());
            }
        }
        let hit = |vault: &VaultFacts| behind.get(&vault.key).cloned().unwrap_or_default();
        let vaults = facts.vaults().iter().map(|vault| with_incidents_as_clusters(vault, hit(vault))).collect();
        let graph = ExposureGraph::build(Facts::new(vaults)?);
        let hits: BTreeSet<&String> = behind.values().flatten().collect();
        let known = |incident: &Incident| hits.contains(&incident.event_id.to_string());
        let mut kept: BTreeMap<u64, Incident> =
            incidents.iter().filter(|it| known(it)).map(|it| (it.event_id, it.clone())).collect();
        kept.values_mut().for_each(|incident| incident.vault_keys.sort_unstable());
        Ok(IncidentMap { incidents: kept, graph })
    }

    /// Exposure of one vault; `None` if it is not in the snapshot. `facts` must be the facts that the map was built from.
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

    /// Exposure over all vaults. `facts` must be the facts that the map was built from.
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

/// The vault reduced to its nested vaults, with the incidents that hit it as clusters.
fn with_incidents_as_clusters(vault: &VaultFacts, clusters: Vec<String>) -> VaultFacts {
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
