//! Assets and their reviews.

use super::Points;
use crate::ingest::fact::observations;
use crate::store::At;
use rds_shared::scoring::asset::{
    AssetCategory, AttestationCadence, HardFailFlag, Override, OverrideError, ReviewStatus, Transition,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

fn unreviewed() -> AssetCategory {
    AssetCategory::Unreviewed
}

observations! {
    /// One deployment of an asset.
    Asset in "asset" by [id] {
        /// Slug.
        id: String,
        /// Chain.
        chain_id: i64,
        /// The token; null for the chain's native coin.
        address: Option<String>,
        /// Symbol.
        symbol: String,
        /// Name.
        name: Option<String>,
        /// What it is scored as; `unreviewed` is never scored.
        #[serde(default = "unreviewed")]
        category: AssetCategory,
        /// What the source calls it.
        #[serde(default)]
        tags: Vec<String>,
        /// For a yield-bearing form: the asset below it.
        underlying: Option<String>,
        /// Assets it depends on, most important first.
        #[serde(default)]
        dependency_chain: Vec<String>,
        /// Days during which a holder cannot exit.
        #[serde(default)]
        lockup_days: u32,
        /// How often the issuer attests its reserves.
        attestation_cadence: Option<AttestationCadence>,
    }

    /// One version of an asset's review. It replaces the one before whole.
    AssetReview in "asset_version" by [asset_id, observed_at] {
        /// The asset.
        asset_id: String,
        /// How far the review has come.
        review_status: ReviewStatus,
        /// Answers by dimension, 0 to 10 with two decimals; null or absent is "no evidence".
        dimensions: BTreeMap<String, Option<Points>>,
        /// What stands behind the asset, in percent.
        backing_profile: Option<BackingProfile>,
        /// Every raising and clearing of a hard-fail flag so far.
        #[serde(default)]
        hard_fail_events: Vec<FlagEvent>,
        /// Decisions of two people that a flag shall not cap for a while.
        #[serde(default)]
        hard_fail_overrides: Vec<FlagOverride>,
        /// When the evidence was last renewed; the time of the review when absent.
        last_refresh_at: Option<At>,
        /// The organisation that reviewed.
        reviewed_by: Option<String>,
        /// The person.
        reviewer: Option<String>,
    }
}

/// Shares of what stands behind an asset, in percent; they sum to about 100.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackingProfile {
    /// Claims and cash outside any chain.
    pub offchain_pct: f64,
    /// Crypto assets independent of the issuer.
    pub crypto_exogenous_pct: f64,
    /// Crypto assets that depend on the issuer.
    pub crypto_endogenous_pct: f64,
    /// Hedged positions.
    pub delta_hedge_pct: f64,
}

/// Two people decided that a raised flag shall not cap until the decision expires.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlagOverride {
    /// Which flag.
    pub flag: HardFailFlag,
    /// Who proposed it.
    pub preparer: String,
    /// Who approved it: somebody else.
    pub approver: String,
    /// Why.
    pub reason: String,
    /// The first instant at which the flag caps again.
    pub expires_at: At,
}

impl FlagOverride {
    /// The decision, if it was a valid one when the review was made.
    pub fn decision(&self, reviewed_at: At) -> Result<Override, OverrideError> {
        Override::new(self.flag, (&self.preparer, &self.approver), &self.reason, self.expires_at.0, reviewed_at.0)
    }
}

/// A hard-fail flag was raised or cleared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlagEvent {
    /// Which flag.
    pub flag: HardFailFlag,
    /// What happened to it.
    pub transition: Transition,
    /// When.
    pub at: At,
}
