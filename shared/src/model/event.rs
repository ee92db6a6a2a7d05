//! The event feed: its row, an event's detail, the events of a market, and vaults with critical incidents.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::ids::{Address, ChainId, VaultId};
use super::status::{IncidentSeverity, RemediationStatus, Severity};
use crate::scoring::named_enum;
use crate::wire::page::PageRequest;
use crate::wire::time::Timestamp;

named_enum! {
    /// Publication state of an event.
    pub enum PublicationState {
        /// Not public yet.
        Draft = "draft",
        /// Public.
        Published = "published",
        /// Withdrawn after it was public.
        Retracted = "retracted",
    }
}

/// A row of the event feed. Repeated occurrences of the same underlying event share one row, which shows the newest that matches the filters.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventRow {
    /// Id of the event: a number, as text.
    pub id: String,
    /// `Incident`, `DepositabilityChange`, `AllocationChange`, `BadDebt`, `ControlChange`, and others as sources are added.
    pub event_type: String,
    /// Severity of the event.
    pub severity: Severity,
    /// Title, one line of plain text.
    pub title: String,
    /// What happened, as plain text; null if unknown.
    pub description: Option<String>,
    /// Instant of the event.
    pub occurred_at: Timestamp,
    /// Id of the affected protocol, the first if there are several; null if there is none.
    pub protocol_id: Option<String>,
    /// Name of the protocol, for display; null if `protocol_id` is null.
    pub protocol_name: Option<String>,
    /// Number of the affected chain, the first if there are several; null if there is none.
    pub chain_id: Option<ChainId>,
    /// Name of the chain, for display; null if `chain_id` is null.
    pub chain_name: Option<String>,
    /// Id of the affected curator, the first if there are several; null if there is none.
    pub curator_id: Option<String>,
    /// Name of the curator, for display; null if `curator_id` is null.
    pub curator_name: Option<String>,
    /// Size class of an incident; null if the event is not an incident or its size was not assessed.
    pub incident_severity: Option<IncidentSeverity>,
    /// Loss in USD; null if unknown.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub loss_amount_usd: Option<f64>,
    /// Whether the incident is resolved; null if unknown.
    pub remediation_status: Option<RemediationStatus>,
    /// Links to reports about the event.
    pub links: Vec<Link>,
    /// Number of public occurrences in the group, whether or not they match the filters; 1 for an event without a group.
    pub occurrence_count: u64,
    /// Key that the occurrences of the group share; null for an event without a group.
    pub group_key: Option<String>,
    /// Name of the source that reported the event; the filter `excludeSource` takes it.
    // `source` and `published_at` are additive to the API specification.
    pub source: String,
    /// Instant at which the event last became public; null only for an event that never became public.
    pub published_at: Option<Timestamp>,
}

/// One event with the vaults that it affects, as the detail route and subscribers receive it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventDetail {
    /// The fields of the feed row.
    #[serde(flatten)]
    pub row: EventRow,
    /// The vaults that the event names and, if it counts against its protocol, all active vaults of the protocol; largest value first, at most 500.
    pub affected_vaults: Vec<AffectedVault>,
    /// Number of all affected vaults, including those beyond the first 500.
    // `affected_vault_count` and every field after it are additive to the API specification.
    pub affected_vault_count: u64,
    /// Id of the affected market; null if there is none.
    pub market_id: Option<String>,
    /// Hash of the transaction; null if unknown.
    pub tx_hash: Option<String>,
    /// Number of the block of the transaction; null if unknown.
    pub block_number: Option<u64>,
    /// Instant of the observation that the event's current content comes from.
    pub detected_at: Timestamp,
    /// Instant at which the event was promoted into the feed from a registry; null if it was not.
    pub promoted_at: Option<Timestamp>,
    /// Instant at which the event was withdrawn; null except in the message that informs subscribers of the withdrawal.
    pub retracted_at: Option<Timestamp>,
    /// Reason of the retraction; null if the event is not retracted or no reason was given.
    pub retracted_reason: Option<String>,
    /// Metrics specific to the event type.
    pub data: serde_json::Map<String, serde_json::Value>,
}

/// A vault that an event affects.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AffectedVault {
    /// Id of the vault, `<protocol_id>-<chain_id>-<address>`.
    pub vault_id: VaultId,
    /// Name of the vault, for display.
    pub vault_name: String,
    /// Supplied value in USD when the response or message was made; null if it was not read.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: Option<f64>,
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Address of the vault's share token.
    pub address: Address,
}

/// `meta` of the event feed, which has no total.
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

/// A page of the event feed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub struct Feed<T> {
    /// The rows of this page.
    pub data: Vec<T>,
    /// Number and size of this page.
    pub meta: FeedMeta,
}

/// An event that affects one market.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarketEvent {
    /// Id of the event: a JSON number.
    pub id: i64,
    /// Id of the market.
    pub market_id: String,
    /// `Incident`, `BadDebt`, `LiquidationCascade`, and others as sources are added.
    pub event_type: String,
    /// Severity of the event.
    pub severity: Severity,
    /// Title, one line of plain text.
    pub title: String,
    /// What happened, as plain text; null if unknown.
    pub description: Option<String>,
    /// `vault` if the event names vaults, `protocol` otherwise.
    pub scope: String,
    /// Id of an affected vault, one of the market's if there is one; null if the event names no vault.
    pub vault_id: Option<VaultId>,
    /// Loss in USD; null if unknown.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub loss_amount_usd: Option<f64>,
    /// Whether the incident is resolved; null if unknown.
    pub remediation_status: Option<RemediationStatus>,
    /// Hash of the transaction; null if unknown.
    pub tx_hash: Option<String>,
    /// Number of the block of the transaction; null if unknown.
    pub block_number: Option<u64>,
    /// Instant of the event.
    pub occurred_at: Timestamp,
    /// Instant of the observation that the event's current content comes from.
    pub detected_at: Timestamp,
    /// Metrics specific to the event type.
    pub data: serde_json::Map<String, serde_json::Value>,
}

/// A vault with a critical incident in the last 365 days. The incident fields describe the newest such incident.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CriticalVault {
    /// Id of the vault, `<protocol_id>-<chain_id>-<address>`.
    pub vault_id: VaultId,
    /// Name of the vault, for display.
    pub vault_name: String,
    /// Name of the chain, for display.
    pub chain_name: String,
    /// Name of the protocol, for display.
    pub protocol_name: String,
    /// Name of the curator, for display; null if there is none.
    pub curator_name: Option<String>,
    /// Supplied value in USD; null if it was not read.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: Option<f64>,
    /// Instant of the newest critical incident.
    pub last_incident_at: Timestamp,
    /// Whole days since `last_incident_at`, rounded down.
    pub days_since_incident: u64,
    /// Title of the incident, one line of plain text.
    pub incident_title: String,
    /// Size class of the incident; null if it was not assessed.
    pub incident_severity: Option<IncidentSeverity>,
    /// Severity of the event.
    pub event_severity: Severity,
}

/// A link to a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Link {
    /// Text of the link, for display.
    pub label: String,
    /// URL of the page.
    pub url: String,
}
