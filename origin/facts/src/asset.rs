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
        /// Slug that identifies the asset.
        id: String,
        /// Time of the earliest observation; computed, not allowed in the ingest line.
        #[serde(default, skip_deserializing)]
        discovered_at: At,
        /// Id of the chain; a known chain.
        chain_id: i64,
        /// Token contract; null for the chain's native coin.
        address: Option<String>,
        /// Symbol of the token.
        symbol: String,
        /// Name of the token.
        name: Option<String>,
        /// Category as which the asset is scored; an asset of category `unreviewed` is never scored.
        #[serde(default = "unreviewed")]
        category: AssetCategory,
        /// The source's own tags.
        #[serde(default)]
        tags: Vec<String>,
        /// Slug of the asset that a yield-bearing asset wraps.
        underlying: Option<String>,
        /// Slugs of the assets on which this asset depends, most important first.
        #[serde(default)]
        dependency_chain: Vec<String>,
        /// Days during which a holder cannot exit.
        #[serde(default)]
        lockup_days: u32,
        /// How often the issuer attests its reserves.
        attestation_cadence: Option<AttestationCadence>,
        /// Legal form of the asset, for example `money_market_fund`.
        instrument_type: Option<String>,
        /// Who issues the asset.
        issuer: Option<Issuer>,
        /// Slug of the product to which the source assigns the asset; not verified.
        product_candidate: Option<String>,
    }

    /// One version of an asset's review. It replaces the previous version as a whole.
    AssetReview in "asset_version" by [asset_id, observed_at] {
        /// Slug of the asset.
        asset_id: String,
        /// How far the review is.
        review_status: ReviewStatus,
        /// Scores of the category's dimensions, 0 to 10 with two decimals; null or absent means "no evidence".
        dimensions: BTreeMap<String, Option<Points>>,
        /// Composition of the asset's backing, in percent.
        backing_profile: Option<BackingProfile>,
        /// Every raising and clearing of a hard-fail flag up to this version.
        #[serde(default)]
        hard_fail_events: Vec<FlagEvent>,
        /// Temporary overrides of hard-fail flags, each approved by two people.
        #[serde(default)]
        hard_fail_overrides: Vec<FlagOverride>,
        /// When the evidence was last renewed; defaults to the time of the review.
        last_refresh_at: Option<At>,
        /// Organisation of the reviewer.
        reviewed_by: Option<String>,
        /// Name of the reviewer.
        reviewer: Option<String>,
        /// Legal wrapper, custody and audit.
        #[serde(default, deserialize_with = "rds_shared::wire::object::optional")]
        institutional: Option<Institutional>,
        /// Documents used as evidence.
        #[serde(default)]
        data_provenance: Vec<Provenance>,
    }
}

/// Who issues an asset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Issuer {
    /// Id in the issuer registry.
    pub id: Option<String>,
    /// Display name.
    pub name: String,
    /// Country or state of incorporation.
    pub jurisdiction: Option<String>,
    /// Type of issuer, for example `asset_manager`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Link to the website.
    pub website_url: Option<String>,
}

/// Legal wrapper, custody, audit and figures of an institutional asset; an absent field is unknown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Institutional {
    /// Legal form of the issuing vehicle, for example `reg_d_fund`.
    pub regulatory_wrapper: Option<String>,
    /// Jurisdiction whose law governs the asset.
    pub regulatory_jurisdiction: Option<String>,
    /// Who may hold the asset.
    pub kyc_gate: Option<KycGate>,
    /// Custodian of the backing.
    pub custodian_name: Option<String>,
    /// Auditor of the backing.
    pub auditor_name: Option<String>,
    /// Duration of a redemption, as text.
    pub redemption_window: Option<String>,
    /// Value of this deployment in USD.
    pub aum_usd: Option<f64>,
    /// Annual yield in percent.
    pub yield_pct: Option<f64>,
    /// Duration of the backing in days.
    pub duration_days: Option<f64>,
    /// Base currency of the fund.
    pub currency: Option<String>,
    /// Value of this deployment in `currency`.
    pub aum_native: Option<f64>,
    /// USD per unit of `currency`.
    pub fx_rate_used: Option<f64>,
    /// Time of `fx_rate_used`.
    pub fx_rate_at: Option<At>,
    /// Source of `aum_usd`.
    pub aum_usd_source: Option<String>,
    /// How the yield was computed, as text.
    pub yield_basis: Option<String>,
}

/// A document used in a review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Type of document, for example `issuer_disclosure`.
    pub source_type: String,
    /// Link to the document.
    pub source_url: Option<String>,
    /// When the document was retrieved.
    pub retrieved_at: Option<At>,
    /// SHA-256 of the document, in hex.
    pub document_hash: Option<String>,
    /// Remarks, as text.
    pub notes: Option<String>,
}

/// Composition of an asset's backing, in percent; the shares sum to about 100.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BackingProfile {
    /// Claims and cash outside any chain.
    pub offchain_pct: f64,
    /// Crypto assets independent of the issuer.
    pub crypto_exogenous_pct: f64,
    /// Crypto assets that depend on the issuer.
    pub crypto_endogenous_pct: f64,
    /// Delta-hedged positions.
    pub delta_hedge_pct: f64,
}

/// Lifts the cap of a raised flag until `expires_at`; two people must approve it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FlagOverride {
    /// The flag.
    pub flag: HardFailFlag,
    /// Who prepared the override.
    pub preparer: String,
    /// A different person than the preparer.
    pub approver: String,
    /// Why the flag is overridden.
    pub reason: String,
    /// End of the override: from this instant on, the flag's cap applies again.
    pub expires_at: At,
}

impl FlagOverride {
    /// The override, if it was valid when the review was made.
    pub fn decision(&self, reviewed_at: At) -> Result<Override, OverrideError> {
        Override::new(self.flag, (&self.preparer, &self.approver), &self.reason, self.expires_at.0, reviewed_at.0)
    }
}

/// The raising or clearing of a hard-fail flag.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FlagEvent {
    /// The flag.
    pub flag: HardFailFlag,
    /// Whether the flag was raised or cleared.
    pub transition: Transition,
    /// When the flag was raised or cleared.
    pub at: At,
}
