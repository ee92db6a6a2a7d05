//! The event feed's item.
//!
//! Source: interface, "Event (feed item)".

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::ids::ChainId;
use super::status::{IncidentSeverity, RemediationStatus, Severity};
use crate::wire::time::Timestamp;

/// One event, with the repeated occurrences of the same underlying event folded into it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventRow {
    /// The event's id.
    pub id: String,
    /// `Incident`, `DepositabilityChange`, `AllocationChange`, `BadDebt`, and others as sources are added.
    pub event_type: String,
    /// How much it matters.
    pub severity: Severity,
    /// One line.
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
    pub loss_amount_usd: Option<f64>,
    /// Whether it has been dealt with.
    pub remediation_status: Option<RemediationStatus>,
    /// Where it is told.
    pub links: Vec<Link>,
    /// How many occurrences this row stands for, at least 1.
    pub occurrence_count: u64,
    /// What the occurrences share; null for an event that stands alone.
    pub group_key: Option<String>,
}

/// Where an event is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Link {
    /// What the link shows.
    pub label: String,
    /// Where.
    pub url: String,
}
