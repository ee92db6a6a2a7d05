//! Protocols: the list row and the detail.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::event::Link;
use super::status::{IncidentSeverity, RemediationStatus, Severity};
use super::vault::VaultRow;
use crate::wire::time::Timestamp;

/// A protocol in the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProtocolRow {
    /// Id of the protocol.
    pub id: String,
    /// Name, for display.
    pub name: String,
    /// URL of the logo; null if unknown.
    pub logo_url: Option<String>,
    /// Number of active vaults.
    pub vault_count: u64,
    /// Supplied value of the active vaults, in USD.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl: f64,
}

/// `data` of `GET /v1/protocols/{id}`.
// `V` is the vault row, or its encoded bytes where the host splices them in.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProtocolPage<V = VaultRow> {
    /// The protocol's name and URLs.
    pub protocol: ProtocolIdentity,
    /// The requested page of the protocol's active vaults, largest first.
    pub vaults: Vec<V>,
    /// Number of the protocol's active vaults on all pages.
    #[serde(rename = "vaultTotal")]
    pub vault_total: u64,
    /// Deployed versions of the protocol, newest first; empty if no version is known.
    pub versions: Vec<ProtocolVersion>,
    /// Published incidents of the protocol and its vaults, newest first; at most 100.
    pub incidents: Vec<ProtocolIncident>,
}

/// A protocol's name and URLs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProtocolIdentity {
    /// Id of the protocol.
    pub id: String,
    /// Name, for display.
    pub name: String,
    /// URL of the logo; null if unknown.
    pub logo_url: Option<String>,
    /// URL of the website; null if unknown.
    pub website_url: Option<String>,
}

/// One deployed version of a protocol, which the platform vector of a score rates.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProtocolVersion {
    /// Name of the version, for example `v3`.
    pub version: String,
    /// Number of active vaults on this version.
    pub vault_count: u64,
    /// Supplied value of the active vaults on this version, in USD.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: f64,
    /// Instant of the deployment, or of the first vault seen on chain, which gives a lower bound of the age; null if unknown.
    pub first_seen_at: Option<Timestamp>,
    /// Number of audits that are known to cover this version; null if nobody has searched for audits.
    pub audit_count: Option<u64>,
    /// Date of the newest audit that is known to cover this version; null if none is known.
    pub newest_audit_at: Option<Timestamp>,
    /// URL of the audit reports; null if unknown.
    pub audit_report_url: Option<String>,
}

/// One incident linked to a protocol.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProtocolIncident {
    /// Id of the event in the event feed.
    pub id: String,
    /// Title, one line of plain text.
    pub title: String,
    /// Severity of the event.
    pub severity: Severity,
    /// Size class of the incident; null if unknown.
    pub incident_severity: Option<IncidentSeverity>,
    /// Instant at which the incident happened.
    pub occurred_at: Timestamp,
    /// Loss in USD; null if unknown.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub loss_amount_usd: Option<f64>,
    /// Whether the incident is resolved; null if unknown.
    pub remediation_status: Option<RemediationStatus>,
    /// True if the incident counts against the score of every vault of the protocol.
    pub affects_protocol_score: bool,
    /// Links to reports about the incident.
    pub links: Vec<Link>,
}
