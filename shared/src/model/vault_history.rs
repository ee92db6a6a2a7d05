//! A vault's history: snapshots, changes of its score, and events.

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
    /// Instant of the reading.
    pub recorded_at: Timestamp,
    /// Supplied value in USD; null if it was not read.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: Option<f64>,
    /// Net annual rate of depositors, as a fraction; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub apr_net: Option<f64>,
    /// Gross annual rate that borrowers pay, as a fraction; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub borrow_apr: Option<f64>,
    /// Annual rate of the priced borrower incentives, as a fraction; null if it is unknown or there is no borrower side.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub borrow_reward_apr: Option<f64>,
    /// `borrow_apr` minus `borrow_reward_apr`, as a fraction; may be negative; null if either is null.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub borrow_apr_net: Option<f64>,
    /// Status, at that instant, of the campaigns that pay borrowers.
    pub borrow_incentive_status: BorrowIncentiveStatus,
    /// Amount of the deposit asset that one share is worth; null if unknown.
    pub price_per_share: Option<f64>,
}

impl SnapshotPoint {
    /// The values that charts show; downsampling keeps the extremes of each.
    pub const CHARTED: &'static [Series<SnapshotPoint>] = &[
        |point| point.tvl_usd,
        |point| point.apr_net,
        |point| point.price_per_share,
        |point| point.borrow_apr,
        |point| point.borrow_apr_net,
    ];
}

/// One recorded change of a published score or tier.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScoreHistoryPoint {
    /// Instant at which the change was published.
    pub observed_at: Timestamp,
    /// Why the score or tier changed.
    pub change_type: ChangeType,
    /// Score before the change, 0 to 10; null if there was none.
    pub prev_score: Option<MilliPoints>,
    /// Score after the change, 0 to 10; null if the score was withdrawn.
    pub new_score: Option<MilliPoints>,
    /// Tier before the change; null if there was none.
    pub prev_tier: Option<Tier>,
    /// Tier after the change; null if there is none.
    pub new_tier: Option<Tier>,
    /// Version of the methodology behind the new score.
    pub methodology_version: String,
}

/// An event of one vault, or of its protocol if it counts against the vault's score.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VaultEvent {
    /// Numeric id of the event.
    pub id: i64,
    /// Type of the event: `Incident`, `DepositabilityChange`, `AllocationChange`, `BadDebt`, `ControlChange`, or another type; new sources may add types.
    pub event_type: String,
    /// Severity of the event.
    pub severity: Severity,
    /// Title, one line of plain text.
    pub title: String,
    /// Full description, as plain text; null if unknown.
    pub description: Option<String>,
    /// Hash of the transaction; null if there is none or it is unknown.
    pub tx_hash: Option<String>,
    /// Number of the block of the transaction; null if unknown.
    pub block_number: Option<u64>,
    /// Instant at which the event happened.
    pub occurred_at: Timestamp,
    /// Name of the source that reported the event.
    // `source` and the three fields after it are additions to the interface specification.
    pub source: String,
    /// Instant at which this service learned of the event; null if unknown.
    pub detected_at: Option<Timestamp>,
    /// Instant at which the event was retracted; null while it is published.
    pub retracted_at: Option<Timestamp>,
    /// Reason of the retraction; null if it is not retracted or no reason was given.
    pub retracted_reason: Option<String>,
}
