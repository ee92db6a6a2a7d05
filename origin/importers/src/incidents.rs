//! incidents.jsonl: exploits. Each becomes a row of the security registry and a loss case. If the victim is a listed vault, the exploit
//! also becomes an incident of that vault.
//!
//! A figure that the list marks as doubtful is kept as text only, not as a loss. If the figure's currency is assumed or the figure omits
//! tokens, the loss basis says so. A row that the list marks as a duplicate is skipped.

use super::adapter::{Adapter, Known, Observed};
use rds_engine::ingest::Observation;
use rds_facts::fact::Kind;
use rds_facts::{IncidentLink, LossCase, Reference, SecurityReport, Usd};
use rds_shared::model::ids::VaultId;
use rds_shared::model::loss::LossBasis;
use rds_shared::model::money::Cents;
use rds_shared::model::status::Severity;
use rds_shared::rules::losses::LossSeverity;
use rds_shared::scoring::decimal::from_float;
use rds_shared::wire::Timestamp;
use rds_store::At;
use serde::Deserialize;
use std::collections::BTreeSet;

/// 2026-08-22, the date of the file.
pub(super) const AS_OF: Timestamp = Timestamp::from_seconds(1_787_356_800);

pub struct Incidents;

/// An exploit.
#[derive(Deserialize)]
pub struct Row {
    source: String,
    source_id: String,
    title: String,
    technique: String,
    attacked_at: Timestamp,
    loss_usd: Option<f64>,
    loss_text: Option<String>,
    loss_unit_stated: Option<bool>,
    loss_partial: Option<bool>,
    loss_doubtful: bool,
    loss_doubtful_reason: Option<String>,
    duplicate_of: Option<String>,
    chain_id: Option<i64>,
    #[serde(default)]
    attackers: Vec<String>,
    victims: Vec<String>,
    tx_hashes: Vec<String>,
    links: Vec<String>,
}

impl Adapter for Incidents {
    const FILE: &'static str = "incidents.jsonl";
    type Row = Row;

    /// A victim is linked to a vault only by chain and address, never by name.
    fn observe(&self, row: Row, known: &Known) -> Observed {
        if row.duplicate_of.is_some() {
            return Observed::Skipped("another row reports the same event");
        }
        let vault = |address: &String| known.vaults.get(&(row.chain_id?, address.clone()));
        let hit: Vec<&str> = row.victims.iter().filter_map(vault).map(|vault| vault.id.as_str()).collect();
        let mut observations =
            vec![Observation::SecurityEvent(Box::new(row.report())), Observation::LossCase(Box::new(row.case(&hit)))];
        observations.extend(hit.iter().map(|id| Observation::IncidentLink(Box::new(row.incident(id)))));
        Observed::As(observations)
    }
}

impl Row {
    /// The row of the security registry. Confirmations are 0, because the list states none.
    fn report(&self) -> SecurityReport {
        SecurityReport {
            kind: Kind,
            observed_at: At(AS_OF),
            source: self.source.clone(),
            id: 0,
            source_id: self.source_id.clone(),
            chain_id: self.chain_id,
            protocol_id: None,
            title: self.title.clone(),
            description: Some(self.description()),
            attackers: self.attackers.clone(),
            victims: self.victims.clone(),
            confirmations: 0,
            disconfirmations: 0,
            loss_usd: self.loss(),
            severity: self.severity(),
            tx_hash: self.tx_hashes.first().cloned(),
            native_url: None,
            links: self.references(),
            attacked_at: At(self.attacked_at),
        }
    }

    fn case(&self, hit: &[&str]) -> LossCase {
        let (loss_basis, note) = self.basis();
        LossCase {
            kind: Kind,
            observed_at: At(AS_OF),
            source: self.source.clone(),
            case_id: self.key(),
            source_id: self.source_id.clone(),
            title: self.title.clone(),
            loss_usd: self.loss(),
            returned_usd: None,
            loss_text: self.loss_text.clone(),
            loss_basis,
            note,
            // The list states no severity, so the case gets the severity band of its loss.
            severity: self.loss().map(|Usd(loss)| LossSeverity::of(loss).to_string()),
            classification: None,
            technique: Some(self.technique.clone()),
            mechanism: None,
            chain_ids: self.chain_id.into_iter().collect(),
            protocol_id: only_protocol(hit),
            protocol_name: None,
            attacked_at: At(self.attacked_at),
            tx_hashes: self.tx_hashes.clone(),
            links: self.references(),
            is_active: true,
            contamination: None,
            security_source: Some(self.source.clone()),
            security_source_id: Some(self.source_id.clone()),
        }
    }

    fn incident(&self, vault_id: &str) -> IncidentLink {
        IncidentLink {
            kind: Kind,
            observed_at: At(AS_OF),
            source: self.source.clone(),
            // Promotion of the registry row looks for this key, so it marks this event as promoted and creates no second one.
            event_key: self.key(),
            vault_id: Some(vault_id.to_owned()),
            protocol_id: None,
            affects_protocol_score: false,
            event_type: "Incident".to_owned(),
            severity: Severity::Critical,
            // The list states neither size class nor remediation; the methodology treats unknown as the worst.
            incident_severity: None,
            title: self.title.clone(),
            description: Some(self.description()),
            occurred_at: At(self.attacked_at),
            loss_usd: self.loss().map(|Usd(loss)| loss.as_f64()),
            returned_usd: None,
            remediation_status: None,
            tx_hash: self.tx_hashes.first().cloned(),
            // The file states the block before the attack, not the block of the attack.
            block_number: None,
            links: self.references(),
        }
    }

    fn key(&self) -> String {
        format!("{}-{}", self.source, self.source_id.to_lowercase())
    }

    /// The loss; a doubtful figure is left out.
    fn loss(&self) -> Option<Usd> {
        let stated = self.loss_usd.filter(|_| !self.loss_doubtful)?;
        from_float(stated, 2).ok().map(|cents| Usd(Cents(cents)))
    }

    fn basis(&self) -> (LossBasis, Option<String>) {
        let note = |text: &str| Some(text.to_owned());
        match self.loss_usd {
            Some(_) if self.loss_doubtful => (LossBasis::Doubtful, self.loss_doubtful_reason.clone()),
            None => (LossBasis::NotStated, None),
            Some(_) if self.loss_partial == Some(true) => {
                (LossBasis::Partial, note("the list also names tokens that are not in the figure"))
            }
            Some(_) if self.loss_unit_stated == Some(false) => {
                (LossBasis::UnitAssumed, note("the list states no currency; US dollars are assumed"))
            }
            Some(_) => (LossBasis::Stated, None),
        }
    }

    /// Severity by the loss; an unknown loss is a warning.
    fn severity(&self) -> Severity {
        match self.loss().map(|Usd(loss)| LossSeverity::of(loss)) {
            Some(LossSeverity::Critical | LossSeverity::High) => Severity::Critical,
            Some(LossSeverity::Medium) | None => Severity::Warning,
            Some(LossSeverity::Low) => Severity::Info,
        }
    }

    fn description(&self) -> String {
        let loss = self.loss_text.as_ref().map(|loss| format!(" Loss as reported: {loss}.")).unwrap_or_default();
        let doubt = match self.basis() {
            (LossBasis::Doubtful, Some(reason)) => format!(" In doubt: {reason}."),
            (LossBasis::Doubtful, None) => " The figure is in doubt.".to_owned(),
            _ => String::new(),
        };
        format!("{}.{loss}{doubt}", self.technique)
    }

    fn references(&self) -> Vec<Reference> {
        self.links.iter().map(|url| Reference { label: host(url), url: url.clone() }).collect()
    }
}

/// The protocol of the vaults that were hit, if they all have the same one.
fn only_protocol(hit: &[&str]) -> Option<String> {
    let protocol = |id: &&str| {
        let id = VaultId::parse(id)?;
        let (rest, _) = id.as_str().rsplit_once('-')?;
        Some(rest.rsplit_once('-')?.0.to_owned())
    };
    let protocols: BTreeSet<String> = hit.iter().filter_map(protocol).collect();
    protocols.first().filter(|_| protocols.len() == 1).cloned()
}

/// The label of a link: its host.
fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest).to_owned()
}
