//! Incidents: what went wrong, and with which vaults or protocols.

use super::At;
use super::fact::{Fact, Kind};
use rds_shared::model::status::{IncidentSeverity, RemediationStatus, Severity};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

fn incident() -> String {
    "Incident".to_owned()
}

/// One incident and one subject that it concerns. The incident's own facts stand on every link of it; the newest count. One that
/// nobody told of before is public at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IncidentLink {
    /// Read before the rest of the line.
    #[serde(default, skip_serializing)]
    pub kind: Kind,
    /// When the source saw this.
    pub observed_at: At,
    /// Who saw it.
    pub source: String,
    /// Slug of the incident, the same on all of its links.
    pub event_key: String,
    /// The vault concerned; exactly one of this and `protocol_id`.
    pub vault_id: Option<String>,
    /// The protocol concerned.
    pub protocol_id: Option<String>,
    /// A protocol's incident counts against its vaults only when this is true.
    #[serde(default)]
    pub affects_protocol_score: bool,
    /// The feed's word for it.
    #[serde(default = "incident")]
    pub event_type: String,
    /// How much it matters.
    pub severity: Severity,
    /// Its size class; null is counted as major.
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
    /// Null is counted as unresolved.
    pub remediation_status: Option<RemediationStatus>,
    /// The transaction.
    pub tx_hash: Option<String>,
    /// Its block.
    pub block_number: Option<i64>,
    /// Where it is told.
    #[serde(default)]
    pub links: Vec<Reference>,
}

/// Where an incident is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// What the link shows.
    pub label: String,
    /// Where.
    pub url: String,
}

/// The number of an event: the first 53 bits of its key's digest.
///
/// Made from the key and not from a sequence, so that the order of two writers leaves no trace; it fits a JSON number.
pub fn event_id(event_key: &str) -> i64 {
    let digest: [u8; 32] = Sha256::digest(event_key).into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    (u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 11).cast_signed()
}

/// What an incident is linked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventScope {
    /// One vault.
    Vault,
    /// A protocol.
    Protocol,
}

impl EventScope {
    /// What an event is about that names no vault.
    pub(super) fn protocol() -> Self {
        EventScope::Protocol
    }
}

/// The incident's own row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// [`event_id`].
    pub id: i64,
    /// What the link that told of it names.
    pub scope: EventScope,
    /// The link that told of it; what belongs to the subject fills no column here.
    #[serde(flatten)]
    pub link: IncidentLink,
}

/// The link's row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventLink {
    /// The event.
    pub event_id: i64,
    /// What kind of subject.
    pub scope: EventScope,
    /// The vault's or the protocol's id.
    pub subject_id: String,
    /// Whether a protocol's incident counts against its vaults.
    pub affects_protocol_score: bool,
    /// When the source saw the link.
    pub observed_at: At,
    /// Who saw it.
    pub source: String,
}

impl IncidentLink {
    /// The two rows that the observation leaves behind.
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
        "scope",
    ];

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
