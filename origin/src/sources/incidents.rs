//! incidents.jsonl: exploits, of those the ones whose victim is a listed vault.

use super::adapter::{Adapter, Known, Observed};
use crate::ingest::Observation;
use crate::ingest::fact::Kind;
use crate::ingest::kinds::{IncidentLink, Reference};
use crate::store::At;
use rds_shared::model::status::Severity;
use rds_shared::wire::Timestamp;
use serde::Deserialize;

/// 2026-08-22, the date of the file.
pub(super) const AS_OF: Timestamp = Timestamp::from_seconds(1_787_356_800);

/// Reads the incidents.
pub struct Incidents;

/// A row.
#[derive(Deserialize)]
pub struct Row {
    source: String,
    source_id: String,
    title: String,
    technique: String,
    attacked_at: Timestamp,
    loss_usd: Option<f64>,
    loss_text: Option<String>,
    loss_doubtful: bool,
    duplicate_of: Option<String>,
    chain_id: Option<i64>,
    victims: Vec<String>,
    tx_hashes: Vec<String>,
    links: Vec<String>,
}

impl Adapter for Incidents {
    const FILE: &'static str = "incidents.jsonl";
    type Row = Row;

    /// A contract at the same address of the same chain is the only link that counts; names are none.
    fn observe(&self, row: Row, known: &Known) -> Observed {
        if row.duplicate_of.is_some() {
            return Observed::Skipped("the event is told in another row");
        }
        let Some(chain_id) = row.chain_id else { return Observed::Skipped("the chain is not known") };
        let vault = |address: &String| known.vaults.get(&(chain_id, address.clone()));
        let hit: Vec<_> = row.victims.iter().filter_map(vault).collect();
        if hit.is_empty() {
            return Observed::Skipped("no victim is a listed vault");
        }
        let link = |vault_id: &str| {
            Observation::IncidentLink(Box::new(IncidentLink {
                kind: Kind,
                observed_at: At(AS_OF),
                source: row.source.clone(),
                event_key: format!("{}-{}", row.source, row.source_id.to_lowercase()),
                vault_id: Some(vault_id.to_owned()),
                protocol_id: None,
                affects_protocol_score: false,
                event_type: "Incident".to_owned(),
                severity: Severity::Critical,
                // The list states neither size class nor remediation; the methodology counts unknown as the worst.
                incident_severity: None,
                title: row.title.clone(),
                description: Some(description(&row)),
                occurred_at: At(row.attacked_at),
                loss_usd: row.loss_usd.filter(|_| !row.loss_doubtful),
                returned_usd: None,
                remediation_status: None,
                tx_hash: row.tx_hashes.first().cloned(),
                // The file's block is the one before the attack.
                block_number: None,
                links: row.links.iter().map(|url| Reference { label: host(url), url: url.clone() }).collect(),
            }))
        };
        Observed::As(hit.into_iter().map(|vault| link(&vault.id)).collect())
    }
}

fn description(row: &Row) -> String {
    let loss = row.loss_text.as_ref().map(|loss| format!(" Loss as reported: {loss}.")).unwrap_or_default();
    format!("{}.{loss}", row.technique)
}

/// What a link shows: the site it leads to.
fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest).to_owned()
}
