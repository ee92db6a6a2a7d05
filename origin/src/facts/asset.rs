//! Assets and their reviews.

use super::At;
use super::Points;
use super::fact::observations;
use rds_shared::model::asset::KycGate;
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
    Asset in "asset" by [id] earliest discovered_at {
        /// Slug.
        id: String,
        /// The earliest observation; made here, never read.
        #[serde(default, skip_deserializing)]
        discovered_at: At,
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
        /// What it legally is.
        instrument_type: Option<String>,
        /// Who issues it.
        issuer: Option<Issuer>,
        /// A product that the source claims it to be: a slug.
        product_candidate: Option<String>,
    }

    /// One version of an asset's review. It replaces the one before whole.
    AssetReview in "asset_version" by [asset_id, observed_at] {
        /// The asset.
        asset_id: String,
        /// How far the review has come.
        review_status: ReviewStatus,
        /// Answers to what is asked of the category, 0 to 10 with two decimals; null or absent is "no evidence".
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
        /// How the asset is wrapped, held and audited.
        institutional: Option<Institutional>,
        /// The documents behind the review.
        #[serde(default)]
        data_provenance: Vec<Provenance>,
    }
}

/// Who issues an asset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Issuer {
    /// The registry's id.
    pub id: Option<String>,
    /// For display.
    pub name: String,
    /// Where it is incorporated.
    pub jurisdiction: Option<String>,
    /// For example `asset_manager`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Site.
    pub website_url: Option<String>,
}

/// How an asset is wrapped, held and audited; what is absent is not known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Institutional {
    /// The legal form.
    pub regulatory_wrapper: Option<String>,
    /// The law it is under.
    pub regulatory_jurisdiction: Option<String>,
    /// Who may hold it.
    pub kyc_gate: Option<KycGate>,
    /// Who keeps the backing.
    pub custodian_name: Option<String>,
    /// Who audits it.
    pub auditor_name: Option<String>,
    /// How long a redemption takes.
    pub redemption_window: Option<String>,
    /// USD of this deployment.
    pub aum_usd: Option<f64>,
    /// Yield in percent.
    pub yield_pct: Option<f64>,
    /// Duration of the backing in days.
    pub duration_days: Option<f64>,
    /// Currency of the fund.
    pub currency: Option<String>,
    /// Value in that currency.
    pub aum_native: Option<f64>,
    /// USD for one unit of it.
    pub fx_rate_used: Option<f64>,
    /// When that rate was taken.
    pub fx_rate_at: Option<At>,
    /// Where `aum_usd` comes from.
    pub aum_usd_source: Option<String>,
    /// How the yield is counted.
    pub yield_basis: Option<String>,
}

/// A document behind a review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// For example `issuer_disclosure`.
    pub source_type: String,
    /// Where it was read.
    pub source_url: Option<String>,
    /// When.
    pub retrieved_at: Option<At>,
    /// SHA-256 of what was read, in hex.
    pub document_hash: Option<String>,
    /// In words.
    pub notes: Option<String>,
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
