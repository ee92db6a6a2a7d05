//! Protocols: the list row and the detail.
//!
//! Source: interface, "Curator and protocol". The shapes of `versions[]` and `incidents[]` are ours.

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
    /// Their supplied value in USD.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl: f64,
}

/// `data` of `GET /v1/protocols/{id}`.
// `V` is the vault row, or its encoded bytes where the host splices them in.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProtocolPage<V = VaultRow> {
    /// Who it is.
    pub protocol: ProtocolIdentity,
    /// The asked page of its vaults, largest first.
    pub vaults: Vec<V>,
    /// How many vaults there are on all pages.
    #[serde(rename = "vaultTotal")]
    pub vault_total: u64,
    /// What it has deployed, newest first.
    pub versions: Vec<ProtocolVersion>,
    /// What went wrong, newest first.
    pub incidents: Vec<ProtocolIncident>,
}

/// A protocol's name and addresses.
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

/// One deployed generation of a protocol: what the platform vector judges.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProtocolVersion {
    /// Its name, for example `v3`.
    pub version: String,
    /// Active vaults on it.
    pub vault_count: u64,
    /// Their supplied value.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: f64,
    /// When it was deployed, or its first vault seen on chain: then a lower bound of its age.
    pub first_seen_at: Option<Timestamp>,
    /// Audits known to cover it; null when nobody looked.
    pub audit_count: Option<u64>,
    /// Date of the newest of them.
    pub newest_audit_at: Option<Timestamp>,
    /// Where they can be read.
    pub audit_report_url: Option<String>,
}

/// One incident linked to a protocol.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProtocolIncident {
    /// The event's id in the feed.
    pub id: String,
    /// Title, one line of plain text.
    pub title: String,
    /// How much it matters.
    pub severity: Severity,
    /// Its size class.
    pub incident_severity: Option<IncidentSeverity>,
    /// When it happened.
    pub occurred_at: Timestamp,
    /// What was lost.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub loss_amount_usd: Option<f64>,
    /// Whether it has been dealt with.
    pub remediation_status: Option<RemediationStatus>,
    /// True when it counts against every vault of the protocol.
    pub affects_protocol_score: bool,
    /// Where it is told.
    pub links: Vec<Link>,
}
