//! A vault through time: snapshots, score history and events.
//!
//! Source: interface, "Vault snapshot point", "Score history point" and "Vault event row".

use alloc::string::String;
use serde::Serialize;

use super::status::{BorrowIncentiveStatus, Severity};
use crate::rules::downsampling::Series;
use crate::rules::dwell::ChangeType;
use crate::rules::tiers::Tier;
use crate::scoring::MilliPoints;
use crate::wire::time::Timestamp;

/// One stored reading of a vault.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SnapshotPoint {
    /// When it was read.
    pub recorded_at: Timestamp,
    /// Supplied value; null when that reading failed.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: Option<f64>,
    /// Net rate.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub apr_net: Option<f64>,
    /// Gross borrow quote.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub borrow_apr: Option<f64>,
    /// Priced borrower incentives.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub borrow_reward_apr: Option<f64>,
    /// Borrow quote net of incentives.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub borrow_apr_net: Option<f64>,
    /// What was known of borrower campaigns.
    pub borrow_incentive_status: BorrowIncentiveStatus,
    /// Assets a share is worth, in the deposit asset.
    pub price_per_share: Option<f64>,
}

impl SnapshotPoint {
    /// The columns a chart draws: thinning keeps the extremes of each.
    pub const CHARTED: &'static [Series<SnapshotPoint>] = &[
        |point| point.tvl_usd,
        |point| point.apr_net,
        |point| point.price_per_share,
        |point| point.borrow_apr,
        |point| point.borrow_apr_net,
    ];
}

/// One persisted change of a published score.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScoreHistoryPoint {
    /// When it was published.
    pub observed_at: Timestamp,
    /// What moved, for example a promotion.
    pub change_type: ChangeType,
    /// Before; null for a first score.
    pub prev_score: Option<MilliPoints>,
    /// After; null when the score was withdrawn.
    pub new_score: Option<MilliPoints>,
    /// Tier before the change; null if there was none.
    pub prev_tier: Option<Tier>,
    /// Tier after the change; null if there is none.
    pub new_tier: Option<Tier>,
    /// The methodology that gave the new score.
    pub methodology_version: String,
}

/// Something that happened to one vault.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VaultEvent {
    /// The event's number.
    pub id: i64,
    /// `Incident`, `DepositabilityChange`, `AllocationChange`, `BadDebt`, and others as sources are added.
    pub event_type: String,
    /// How much it matters.
    pub severity: Severity,
    /// Title, one line of plain text.
    pub title: String,
    /// The whole story.
    pub description: Option<String>,
    /// The transaction, where there is one.
    pub tx_hash: Option<String>,
    /// Number of the block of the transaction; null if unknown.
    pub block_number: Option<u64>,
    /// When it happened.
    pub occurred_at: Timestamp,
    /// Who reported it.
    // Additive to the interface, as are the three fields after it.
    pub source: String,
    /// When this service learned of it.
    pub detected_at: Option<Timestamp>,
    /// When it was withdrawn from the feed.
    pub retracted_at: Option<Timestamp>,
    /// Reason of the retraction; null if it is not retracted or no reason was given.
    pub retracted_reason: Option<String>,
}
