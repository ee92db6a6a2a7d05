//! Events of any type: what happened, which vaults and protocol are affected, and whether the event is published at once.

use super::At;
use super::fact::{Fact, Kind};
use super::incident::event_columns;
use super::{EventLink, EventScope, Reference, event_id};
use rds_shared::model::status::{IncidentSeverity, RemediationStatus, Severity};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Initial state of an event. Only the first observation sets it; later observations leave the state unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Publication {
    /// Hidden until an editor publishes it.
    Draft,
    /// Published at once.
    #[default]
    Published,
}

/// One event with all its links. A newer observation replaces it as a whole, including the links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EventRecord {
    /// Placeholder: the line's `kind` is read before the struct is parsed.
    #[serde(default, skip_serializing)]
    pub kind: Kind,
    /// Computed with [`event_id`]; not allowed in the ingest line.
    #[serde(default, skip_deserializing)]
    pub id: i64,
    /// When the source observed the event.
    pub observed_at: At,
    /// Name of the source; the filter `excludeSource` matches it.
    pub source: String,
    /// Slug of this occurrence.
    pub event_key: String,
    /// Type of the event, such as `AllocationChange`; a source may use types of its own.
    pub event_type: String,
    /// Initial state. Not part of the content hash, so observations that differ only in this field are equal.
    #[serde(default, skip_serializing)]
    pub publication: Publication,
    /// Severity.
    pub severity: Severity,
    /// Size class of an incident.
    pub incident_severity: Option<IncidentSeverity>,
    /// Title in one sentence.
    pub title: String,
    /// Description as text.
    pub description: Option<String>,
    /// When it happened.
    pub occurred_at: At,
    /// Loss in USD.
    pub loss_usd: Option<f64>,
    /// Returned funds in USD.
    pub returned_usd: Option<f64>,
    /// What became of the lost funds.
    pub remediation_status: Option<RemediationStatus>,
    /// Hash of the transaction.
    pub tx_hash: Option<String>,
    /// Block of the transaction.
    pub block_number: Option<i64>,
    /// Reports about the event.
    #[serde(default)]
    pub links: Vec<Reference>,
    /// Slug shared by repeated occurrences of one underlying event; null if there is no group.
    pub group_key: Option<String>,
    /// Derived from `vault_ids`; not allowed in the ingest line.
    #[serde(default = "EventScope::protocol", skip_deserializing)]
    pub scope: EventScope,
    /// The affected vaults.
    #[serde(default)]
    pub vault_ids: Vec<String>,
    /// The affected protocol.
    pub protocol_id: Option<String>,
    /// Whether the event counts against scores; an event of a protocol then counts against all vaults of the protocol.
    #[serde(default)]
    pub affects_protocol_score: bool,
    /// The affected curator, if no vault implies it.
    pub curator_id: Option<String>,
    /// The affected chain, if no vault implies it; with `market_address`, the market's chain.
    pub chain_id: Option<i64>,
    /// The market's contract on `chain_id`.
    pub market_address: Option<String>,
    /// `{chain_id}:{market_address}`; computed, not allowed in the ingest line.
    #[serde(default, skip_deserializing)]
    pub market: Option<String>,
    /// Metrics specific to the event type.
    #[serde(default)]
    pub data: Map<String, Value>,
    /// Whether the event is a measurement rather than a judgement; measurements are excluded from the events of markets.
    #[serde(default)]
    pub is_telemetry: bool,
}

impl EventRecord {
    /// An event without subjects; the caller sets the remaining fields with `..`.
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

    /// The same event for these vaults.
    pub fn about(self, vault_ids: Vec<String>) -> Self {
        let scope = if vault_ids.is_empty() { EventScope::Protocol } else { EventScope::Vault };
        EventRecord { scope, vault_ids, ..self }
    }

    /// The link rows of the observation.
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
    const COLUMNS: &'static [&'static str] =
        event_columns!["group_key", "protocol_id", "curator_id", "chain_id", "market", "data", "is_telemetry"];

    fn observed_at(&self) -> At {
        self.observed_at
    }

    fn key(&self) -> String {
        self.id.to_string()
    }
}
