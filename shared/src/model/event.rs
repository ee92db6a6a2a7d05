//! The event feed: its item, an event's detail, the events of a market, and vaults with critical incidents.
//!
//! Source: interface, "Event (feed item)", "Market event row" and "Vaults". Fields under "additive" are ours.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::ids::{Address, ChainId, VaultId};
use super::status::{IncidentSeverity, RemediationStatus, Severity};
use crate::scoring::named_enum;
use crate::wire::page::PageRequest;
use crate::wire::time::Timestamp;

named_enum! {
    /// How far an event is published. Source: interface, "Event and security-event publication".
    pub enum PublicationState {
        /// Not public yet.
        Draft = "draft",
        /// Public.
        Published = "published",
        /// Was public, and was withdrawn.
        Retracted = "retracted",
    }
}

/// One event, with the repeated occurrences of the same underlying event folded into it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventRow {
    /// The event's id.
    pub id: String,
    /// `Incident`, `DepositabilityChange`, `AllocationChange`, `BadDebt`, and others as sources are added.
    pub event_type: String,
    /// How much it matters.
    pub severity: Severity,
    /// Title, one line of plain text.
    pub title: String,
    /// The whole story.
    pub description: Option<String>,
    /// When it happened.
    pub occurred_at: Timestamp,
    /// The protocol concerned.
    pub protocol_id: Option<String>,
    /// Protocol, for display.
    pub protocol_name: Option<String>,
    /// The chain concerned.
    pub chain_id: Option<ChainId>,
    /// Chain, for display.
    pub chain_name: Option<String>,
    /// The curator concerned.
    pub curator_id: Option<String>,
    /// Curator, for display.
    pub curator_name: Option<String>,
    /// Size class of an incident.
    pub incident_severity: Option<IncidentSeverity>,
    /// What was lost.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub loss_amount_usd: Option<f64>,
    /// Whether it has been dealt with.
    pub remediation_status: Option<RemediationStatus>,
    /// Where it is told.
    pub links: Vec<Link>,
    /// How many public occurrences the group has, whichever of them a filter matches; 1 for an event that stands alone.
    pub occurrence_count: u64,
    /// What the occurrences share; null for an event that stands alone.
    pub group_key: Option<String>,
    /// Who reported it: what `excludeSource` takes.
    // Additive to the interface, as is the field after it.
    pub source: String,
    /// When it last became public.
    pub published_at: Option<Timestamp>,
}

/// One event with the vaults that it touches: what the detail serves and what subscribers are sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventDetail {
    /// The list item.
    #[serde(flatten)]
    pub row: EventRow,
    /// The vaults it names, and its protocol's where it counts against them; largest value first, at most 500.
    pub affected_vaults: Vec<AffectedVault>,
    /// How many vaults that are in all.
    // Additive to the interface, as are the fields after it.
    pub affected_vault_count: u64,
    /// The market it is about.
    pub market_id: Option<String>,
    /// Hash of the transaction; null if unknown.
    pub tx_hash: Option<String>,
    /// Number of the block of the transaction; null if unknown.
    pub block_number: Option<u64>,
    /// When this service learned of it.
    pub detected_at: Timestamp,
    /// When it was promoted into the feed from a registry.
    pub promoted_at: Option<Timestamp>,
    /// When it was withdrawn; only in what subscribers are sent then.
    pub retracted_at: Option<Timestamp>,
    /// Reason of the retraction; null if it is not retracted or no reason was given.
    pub retracted_reason: Option<String>,
    /// Metrics that belong to the type of event.
    pub data: serde_json::Map<String, serde_json::Value>,
}

/// A vault that an event touches.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AffectedVault {
    /// Id of the vault, `<protocol_id>-<chain_id>-<address>`.
    pub vault_id: VaultId,
    /// Name of the vault, for display.
    pub vault_name: String,
    /// Its value at that time; null when it was not read.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: Option<f64>,
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// The share token.
    pub address: Address,
}

/// `meta` of the feed: there is no count of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FeedMeta {
    /// The page, counted from 1.
    pub page: u64,
    /// Rows per page, after clamping.
    pub limit: u64,
    /// Whether there is a next page.
    #[serde(rename = "hasMore")]
    pub has_more: bool,
}

impl FeedMeta {
    /// The meta of `page`.
    pub fn new(page: PageRequest, has_more: bool) -> Self {
        FeedMeta { page: page.number, limit: page.size, has_more }
    }
}

/// `{"data": [...], "meta": {page, limit, hasMore}}`: a page of the feed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub struct Feed<T> {
    /// The rows of this page.
    pub data: Vec<T>,
    /// Where this page stands.
    pub meta: FeedMeta,
}

/// Something that happened to one market.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarketEvent {
    /// The event's number.
    pub id: i64,
    /// Id of the market.
    pub market_id: String,
    /// `Incident`, `BadDebt`, `LiquidationCascade`, and others as sources are added.
    pub event_type: String,
    /// How much it matters.
    pub severity: Severity,
    /// Title, one line of plain text.
    pub title: String,
    /// The whole story.
    pub description: Option<String>,
    /// `protocol` for the market itself, `vault` for one of its vaults.
    pub scope: String,
    /// The vault; null for the market itself.
    pub vault_id: Option<VaultId>,
    /// What was lost.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub loss_amount_usd: Option<f64>,
    /// Whether it has been dealt with.
    pub remediation_status: Option<RemediationStatus>,
    /// Hash of the transaction; null if unknown.
    pub tx_hash: Option<String>,
    /// Number of the block of the transaction; null if unknown.
    pub block_number: Option<u64>,
    /// When it happened.
    pub occurred_at: Timestamp,
    /// When this service learned of it.
    pub detected_at: Timestamp,
    /// Metrics that belong to the type of event.
    pub data: serde_json::Map<String, serde_json::Value>,
}

/// A vault with a critical incident in the last 365 days, told by the newest of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CriticalVault {
    /// Id of the vault, `<protocol_id>-<chain_id>-<address>`.
    pub vault_id: VaultId,
    /// Name of the vault, for display.
    pub vault_name: String,
    /// Chain, for display.
    pub chain_name: String,
    /// Protocol, for display.
    pub protocol_name: String,
    /// Curator, for display.
    pub curator_name: Option<String>,
    /// Its value; null when it was not read.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: Option<f64>,
    /// When the newest one happened.
    pub last_incident_at: Timestamp,
    /// Whole days since then.
    pub days_since_incident: u64,
    /// Title of the incident, one line of plain text.
    pub incident_title: String,
    /// Its size class.
    pub incident_severity: Option<IncidentSeverity>,
    /// How much it matters.
    pub event_severity: Severity,
}

/// Where an event is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Link {
    /// What the link shows.
    pub label: String,
    /// URL of the page.
    pub url: String,
}
