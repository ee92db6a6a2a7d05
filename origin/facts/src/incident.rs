//! Incidents, and the vaults or protocols they affect.

use super::At;
use super::fact::{Fact, Kind};
use rds_shared::model::event::Link;
use rds_shared::model::status::{IncidentSeverity, RemediationStatus, Severity};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

fn incident() -> String {
    "Incident".to_owned()
}

/// One incident and one affected subject. Every link repeats the incident's own fields; the fields of the newest observation are stored.
/// An incident is published when it is first observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct IncidentLink {
    /// Placeholder: the line's `kind` is read before the struct is parsed.
    #[serde(default, skip_serializing)]
    pub kind: Kind,
    /// When the source observed the incident.
    pub observed_at: At,
    /// Name of the source.
    pub source: String,
    /// Slug of the incident, the same on all of its links.
    pub event_key: String,
    /// The affected vault; exactly one of `vault_id` and `protocol_id` is set.
    pub vault_id: Option<String>,
    /// The affected protocol.
    pub protocol_id: Option<String>,
    /// Whether a protocol's incident counts against its vaults.
    #[serde(default)]
    pub affects_protocol_score: bool,
    /// Event type in the feed.
    #[serde(default = "incident")]
    pub event_type: String,
    /// Severity.
    pub severity: Severity,
    /// Size class; null counts as major.
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
    /// Null counts as unresolved.
    pub remediation_status: Option<RemediationStatus>,
    /// Hash of the transaction.
    pub tx_hash: Option<String>,
    /// Block of the transaction.
    pub block_number: Option<i64>,
    /// Reports about the incident.
    #[serde(default)]
    pub links: Vec<Reference>,
}

/// A report about an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Link text.
    pub label: String,
    /// Link to the report.
    pub url: String,
}

impl From<Reference> for Link {
    fn from(Reference { label, url }: Reference) -> Self {
        Link { label, url }
    }
}

/// The id of an event: the first 53 bits of the SHA-256 of its key.
///
/// Derived from the key instead of a sequence, so it does not depend on the order of writers. 53 bits fit a JSON number exactly.
pub fn event_id(event_key: &str) -> i64 {
    let digest: [u8; 32] = Sha256::digest(event_key).into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    (u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 11).cast_signed()
}

/// The kind of subject of an event link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EventScope {
    Vault,
    Protocol,
}

impl EventScope {
    /// Scope of an event that names no vault.
    pub(super) fn protocol() -> Self {
        EventScope::Protocol
    }
}

/// The columns of the table `event` that every observation fills, followed by the columns that the caller adds.
macro_rules! event_columns {
    ($($more:literal),*) => {
        &[
            "id", "observed_at", "source", "event_key", "event_type", "severity", "incident_severity", "title",
            "description", "occurred_at", "loss_usd", "returned_usd", "remediation_status", "tx_hash", "block_number",
            "links", "scope", $($more),*
        ]
    };
}
pub(super) use event_columns;

/// The row of the table `event` that an incident link fills.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// Computed with [`event_id`] from the link's `event_key`.
    pub id: i64,
    /// Scope of the observed link.
    pub scope: EventScope,
    /// The observed link; its subject fields are not columns of this table.
    #[serde(flatten)]
    pub link: IncidentLink,
}

/// A row of the table `event_link`: one affected subject of an event.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventLink {
    pub event_id: i64,
    pub scope: EventScope,
    /// Id of the vault or the protocol.
    pub subject_id: String,
    /// Whether a protocol's incident counts against its vaults.
    pub affects_protocol_score: bool,
    pub observed_at: At,
    pub source: String,
}

impl IncidentLink {
    /// The event row and the link row of the observation.
    pub fn rows(self) -> (Event, EventLink) {
        let id = event_id(&self.event_key);
        let (scope, subject_id) = match (&self.vault_id, &self.protocol_id) {
            (Some(vault_id), _) => (EventScope::Vault, vault_id.clone()),
            (None, protocol_id) => (EventScope::Protocol, protocol_id.clone().unwrap_or_default()),
        };
        let link = EventLink {
            event_id: id,
            scope,
            subject_id,
            affects_protocol_score: self.affects_protocol_score,
            observed_at: self.observed_at,
            source: self.source.clone(),
        };
        (Event { id, scope, link: self }, link)
    }
}

impl Fact for Event {
    const TABLE: &'static str = "event";
    const KEY: &'static [&'static str] = &["id"];
    const COLUMNS: &'static [&'static str] = event_columns![];

    fn observed_at(&self) -> At {
        self.link.observed_at
    }

    fn key(&self) -> String {
        self.id.to_string()
    }
}

impl Fact for EventLink {
    const TABLE: &'static str = "event_link";
    const KEY: &'static [&'static str] = &["event_id", "scope", "subject_id"];
    const COLUMNS: &'static [&'static str] =
        &["event_id", "scope", "subject_id", "affects_protocol_score", "observed_at", "source"];

    fn observed_at(&self) -> At {
        self.observed_at
    }

    fn key(&self) -> String {
        format!("{}|{:?}|{}", self.event_id, self.scope, self.subject_id)
    }
}
