//! Events of any type: what happened, whom it concerns, and whether it is public at once.

use super::At;
use super::fact::{Fact, Kind};
use super::{EventLink, EventScope, Reference, event_id};
use rds_shared::model::status::{IncidentSeverity, RemediationStatus, Severity};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Whether an event is public when it is first observed. Every other observation leaves its state as it is, whatever it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Publication {
    /// Kept until an editor publishes it.
    Draft,
    /// Public at once.
    #[default]
    Published,
}

/// One event with everything that it concerns. A newer observation replaces it whole, its links included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventRecord {
    /// Read before the rest of the line.
    #[serde(default, skip_serializing)]
    pub kind: Kind,
    /// [`event_id`]; made here, never read.
    #[serde(default, skip_deserializing)]
    pub id: i64,
    /// When the source saw this.
    pub observed_at: At,
    /// Who saw it: what `excludeSource` names.
    pub source: String,
    /// Slug of this occurrence.
    pub event_key: String,
    /// The feed's word for it.
    pub event_type: String,
    /// Draft or published. No part of the record: of two that differ in it alone, neither is newer.
    #[serde(default, skip_serializing)]
    pub publication: Publication,
    /// How much it matters.
    pub severity: Severity,
    /// Its size class, of an incident.
    pub incident_severity: Option<IncidentSeverity>,
    /// One line.
    pub title: String,
    /// The whole story.
    pub description: Option<String>,
    /// When it happened.
    pub occurred_at: At,
    /// What was lost.
    pub loss_usd: Option<f64>,
    /// What came back.
    pub returned_usd: Option<f64>,
    /// Whether it has been dealt with.
    pub remediation_status: Option<RemediationStatus>,
    /// The transaction.
    pub tx_hash: Option<String>,
    /// Its block.
    pub block_number: Option<i64>,
    /// Where it is told.
    #[serde(default)]
    pub links: Vec<Reference>,
    /// Slug that repeats of one underlying event share; null stands alone.
    pub group_key: Option<String>,
    /// What follows from the vaults; made here, never read.
    #[serde(default = "EventScope::protocol", skip_deserializing)]
    pub scope: EventScope,
    /// The vaults concerned.
    #[serde(default)]
    pub vault_ids: Vec<String>,
    /// The protocol concerned.
    pub protocol_id: Option<String>,
    /// Whether it counts against the score: of an incident of the protocol, against all of its vaults.
    #[serde(default)]
    pub affects_protocol_score: bool,
    /// The curator concerned, where no vault says so.
    pub curator_id: Option<String>,
    /// The chain concerned, where no vault says so; the market's chain.
    pub chain_id: Option<i64>,
    /// The market's contract on that chain.
    pub market_address: Option<String>,
    /// `{chain_id}:{market_address}`; made here, never read.
    #[serde(default, skip_deserializing)]
    pub market: Option<String>,
    /// Metrics that belong to the type of event.
    #[serde(default)]
    pub data: Map<String, Value>,
    /// A reading of the protocol and not a judgement about it: in no market's events.
    #[serde(default)]
    pub is_telemetry: bool,
}

impl EventRecord {
    /// An event that concerns nobody yet: the caller fills in the rest with `..`.
    pub fn new(event_key: String, event_type: &str, severity: Severity, title: String, source: &str, at: At) -> Self {
        EventRecord {
            kind: Kind,
            id: event_id(&event_key),
            observed_at: at,
            source: source.to_owned(),
            event_key,
            event_type: event_type.to_owned(),
            publication: Publication::Published,
            severity,
            incident_severity: None,
            title,
            description: None,
            occurred_at: at,
            loss_usd: None,
            returned_usd: None,
            remediation_status: None,
            tx_hash: None,
            block_number: None,
            links: Vec::new(),
            group_key: None,
            scope: EventScope::Protocol,
            vault_ids: Vec::new(),
            protocol_id: None,
            affects_protocol_score: false,
            curator_id: None,
            chain_id: None,
            market_address: None,
            market: None,
            data: Map::new(),
            is_telemetry: false,
        }
    }

    /// The same about these vaults.
    pub fn about(self, vault_ids: Vec<String>) -> Self {
        let scope = if vault_ids.is_empty() { EventScope::Protocol } else { EventScope::Vault };
        EventRecord { scope, vault_ids, ..self }
    }

    /// The links that the observation leaves behind.
    pub fn subjects(&self) -> impl Iterator<Item = EventLink> {
        let vaults = self.vault_ids.iter().map(|id| (EventScope::Vault, id));
        let protocols = self.protocol_id.iter().map(|id| (EventScope::Protocol, id));
        vaults.chain(protocols).map(|(scope, subject_id)| EventLink {
            event_id: self.id,
            scope,
            subject_id: subject_id.clone(),
            affects_protocol_score: self.affects_protocol_score,
            observed_at: self.observed_at,
            source: self.source.clone(),
        })
    }
}

impl Fact for EventRecord {
    const TABLE: &'static str = "event";
    const KEY: &'static [&'static str] = &["id"];
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "observed_at",
        "source",
        "event_key",
        "event_type",
        "severity",
        "incident_severity",
        "title",
        "description",
        "occurred_at",
        "loss_usd",
        "returned_usd",
        "remediation_status",
        "tx_hash",
        "block_number",
        "links",
        "group_key",
        "scope",
        "protocol_id",
        "curator_id",
        "chain_id",
        "market",
        "data",
        "is_telemetry",
    ];

    fn observed_at(&self) -> At {
        self.observed_at
    }

    fn key(&self) -> String {
        self.id.to_string()
    }
}
