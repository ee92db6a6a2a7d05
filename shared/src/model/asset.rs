//! Assets: the list row and the detail.
//!
//! Timestamps have six fractional digits. Dimensions, the breakdown and attestations need a key; for other callers these fields are empty and
//! `restricted_fields` names them. The API specification leaves open `slug`, `quality`, and the shapes of `dependency_chain[]` and
//! `underlying_asset`.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::attestation::Attestation;
use super::evidence::{AssetAnswers, AssetScoreEvidence};
use super::ids::{Address, ChainId};
use crate::rules::tiers::Tier;
use crate::scoring::asset::{
    AssetCategory, AttestationCadence, ChainOverlay, Dimensions, FreshnessStatus, HardFailFlag, ReviewStatus,
};
use crate::scoring::number::Decimal;
use crate::scoring::{METHODOLOGY_VERSION, MilliPoints, named_enum};
use crate::wire::time::{Micros, Timestamp};

named_enum! {
    /// Who may hold the asset.
    pub enum KycGate {
        /// Anybody may hold the asset.
        Permissionless = "permissionless",
        /// Only identified holders may hold the asset.
        KycRequired = "kyc_required",
        /// Only accredited investors may hold the asset.
        Accredited = "accredited",
        /// Only qualified purchasers may hold the asset.
        QualifiedPurchaser = "qualified_purchaser",
        /// Only professional investors may hold the asset.
        ProfessionalInvestor = "professional_investor",
        /// Only institutions may hold the asset.
        InstitutionalOnly = "institutional_only",
    }
}

/// The issuer of an asset.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Issuer {
    /// Id in the issuer registry; null if unknown.
    pub id: Option<String>,
    /// Name, for display.
    pub name: String,
    /// Country or state of incorporation; null if unknown.
    pub jurisdiction: Option<String>,
    /// Kind of issuer, for example `asset_manager`; null if unknown.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// URL of the website; null if unknown.
    pub website_url: Option<String>,
}

/// Composition of an asset's backing, in percent; the four shares sum to about 100.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackingProfile {
    /// Share of claims and cash outside any chain, in percent.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub offchain_pct: f64,
    /// Share of crypto assets that are independent of the issuer, in percent.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub crypto_exogenous_pct: f64,
    /// Share of crypto assets that depend on the issuer, in percent.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub crypto_endogenous_pct: f64,
    /// Share of delta-hedged positions, in percent.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub delta_hedge_pct: f64,
}

/// Legal wrapper, custody, audit and figures of an institutional asset. A null field is unknown.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Institutional {
    /// Legal form, for example `reg_d_fund`; null if unknown.
    pub regulatory_wrapper: Option<String>,
    /// Jurisdiction whose law governs the asset; null if unknown.
    pub regulatory_jurisdiction: Option<String>,
    /// Who may hold the asset; null if unknown.
    pub kyc_gate: Option<KycGate>,
    /// Name of the custodian of the backing; null if unknown.
    pub custodian_name: Option<String>,
    /// Name of the auditor; null if unknown.
    pub auditor_name: Option<String>,
    /// How often the issuer attests its reserves; null if unknown.
    pub attestation_cadence: Option<AttestationCadence>,
    /// Duration of a redemption as text, for example `T+1`; null if unknown.
    pub redemption_window: Option<String>,
    /// Assets under management of this deployment in USD, as its review states them; null if unknown. Kept for older clients; for totals, sum
    /// `canonical_aum.value_usd` of the RWA routes instead.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub aum_usd: Option<f64>,
    /// Annual yield, in percent; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub yield_pct: Option<f64>,
    /// Duration of the backing, in days; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub duration_days: Option<f64>,
    /// Base currency of the fund; null if unknown.
    pub currency: Option<String>,
    /// Assets under management in `currency`; null if unknown.
    pub aum_native: Option<f64>,
    /// USD per unit of `currency`; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub fx_rate_used: Option<f64>,
    /// Instant of `fx_rate_used`; null if unknown.
    pub fx_rate_at: Option<Micros>,
    /// Source of `aum_usd`; null if unknown.
    pub aum_usd_source: Option<String>,
    /// How `yield_pct` was computed, for example `sec_7_day`; null if unknown.
    pub yield_basis: Option<String>,
}

/// A document that a review is based on.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Provenance {
    /// Kind of source, for example `issuer_disclosure`.
    pub source_type: String,
    /// URL of the document; null if unknown.
    pub source_url: Option<String>,
    /// Instant at which the source was read; null if unknown.
    pub retrieved_at: Option<Micros>,
    /// SHA-256 of the document, in hex; null if unknown.
    pub document_hash: Option<String>,
    /// Notes on the source, as plain text; null if there are none.
    pub notes: Option<String>,
}

/// An asset that another asset wraps or depends on. Its score can cap the score of that other asset.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssetLink {
    /// Id of the asset: a number, as text.
    pub asset_id: String,
    /// Slug of the asset, as it occurs in overlay ids such as `dependency:<slug>`.
    pub slug: String,
    /// Symbol of the asset.
    pub symbol: String,
    /// Published score, 0 to 10; null if the asset is unscored.
    pub risk_score: Option<MilliPoints>,
    /// Published tier; null if the asset is unscored.
    pub risk_tier: Option<Tier>,
}

/// Age of an asset's evidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Freshness {
    /// Instant at which the evidence was last renewed; null if it never was.
    pub last_refresh_at: Option<Micros>,
    /// Hours since `last_refresh_at`, rounded down to two decimals; 0 if that instant is in the future, null if there is none.
    pub age_hours: Option<Decimal>,
    /// Class of the age, in multiples of the asset's cadence; null if `last_refresh_at` is null.
    pub status: Option<FreshnessStatus>,
    /// Value of `status` just before the latest renewal; null before the second renewal.
    pub last_status: Option<FreshnessStatus>,
}

/// Inputs of [`Freshness`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Renewal {
    /// The latest renewal of the evidence.
    pub at: Option<Timestamp>,
    /// The renewal before `at`.
    pub before: Option<Timestamp>,
    /// How often the evidence should be renewed, in seconds.
    pub cadence_seconds: i64,
}

impl Renewal {
    /// The freshness at `now`.
    pub fn freshness(&self, now: Timestamp) -> Freshness {
        Freshness {
            last_refresh_at: self.at.map(Micros),
            age_hours: self.at.map(|at| age_hours(at, now)),
            status: self.status(now),
            last_status: self.at.zip(self.before).map(|(at, before)| self.status_between(before, at)),
        }
    }

    /// The status at `now`; `None` before the first renewal.
    pub fn status(&self, now: Timestamp) -> Option<FreshnessStatus> {
        self.at.map(|at| self.status_between(at, now))
    }

    fn status_between(&self, renewed: Timestamp, then: Timestamp) -> FreshnessStatus {
        FreshnessStatus::of(then.seconds_since(renewed).max(0), self.cadence_seconds)
    }
}

/// Hours from `at` to `now`, rounded down to two decimals; 0 if `at` is in the future.
pub fn age_hours(at: Timestamp, now: Timestamp) -> Decimal {
    Decimal { units: now.seconds_since(at).max(0) / 36, scale: 2 }
}

/// How much evidence a review has for the dimensions of the asset's category. Lists include it only with `include_quality=true`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quality {
    /// Number of dimensions that have a weight in the asset's category.
    pub weighted_dimensions: u32,
    /// Number of weighted dimensions that have evidence.
    pub answered_dimensions: u32,
    /// Combined weight of the dimensions that have evidence, as a fraction from 0 to 1.
    pub evidence_coverage: Decimal,
    /// Number of documents in `data_provenance`.
    pub provenance_documents: u32,
}

/// A row of `GET /v1/assets/enriched`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssetRow {
    /// Id of the asset: a number as text, assigned when the asset is first seen and never changed.
    pub asset_id: String,
    /// Id of the newest version of the asset's review; null before the first review.
    pub asset_version_id: Option<String>,
    /// Address of the token contract; null for the chain's native coin.
    pub address: Option<Address>,
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Symbol of the asset.
    pub symbol: String,
    /// Name, for display; null if it is unknown or the asset is not a real-world asset.
    pub name: Option<String>,
    /// Category that the asset is scored as.
    pub category: AssetCategory,
    /// Status of the newest review; `unreviewed` if there is none.
    pub review_status: ReviewStatus,
    /// Published score, 0 to 10; null if the asset is unscored.
    pub risk_score: Option<MilliPoints>,
    /// Tier of `risk_score`; null if the asset is unscored.
    pub risk_tier: Option<Tier>,
    /// Issuer; null if it is unknown or the asset is not a real-world asset.
    pub issuer: Option<Issuer>,
    /// Whether the asset is in the current version of the first published basket of assets.
    pub in_basket_a: bool,
    /// All sixteen dimensions, 0 to 10. A dimension is null if there is no evidence for it or the category does not use it; without a key all are null.
    pub dimensions: Dimensions,
    /// Traits that can lower the score, whether or not they do: `yield-bearing`, `lockup`.
    pub risk_overlays: Vec<&'static str>,
    /// Legal form of the instrument, for example `money_market_fund`; null if unknown.
    pub instrument_type: Option<String>,
    /// Hard-fail flags that are active or in cooldown, lowest cap first.
    pub hard_fail_flags: Vec<HardFailFlag>,
    /// Ids of the caps that lowered the score, in the order in which they were applied.
    pub caps_applied: Vec<String>,
    /// Composition of the backing; null if it is unknown or the category has no backing.
    pub backing_profile: Option<BackingProfile>,
    /// The asset that this asset is a yield-bearing form of; null if there is none.
    pub underlying_asset: Option<AssetLink>,
    /// Legal wrapper, custody, audit and figures.
    pub institutional: Institutional,
    /// The documents behind the newest review.
    pub data_provenance: Vec<Provenance>,
    /// Organisation that made the newest review; null if unknown.
    pub reviewed_by: Option<String>,
    /// Person or desk that made the newest review; null if unknown.
    pub reviewer: Option<String>,
    /// Instant at which the newest version of the review was recorded; null before the first review.
    pub recorded_at: Option<Micros>,
    /// Age of the evidence.
    pub freshness: Freshness,
    /// Assets that this asset depends on, most important first.
    pub dependency_chain: Vec<AssetLink>,
    /// Version of the scoring methodology.
    pub methodology_version: &'static str,
    /// How the asset's chain lowers its score. Null if the chain does not: it is a settlement layer, has no profile, or has only sub-scores of 10.
    pub chain_overlay: Option<ChainOverlay>,
    /// Slug of the asset in the registry.
    pub slug: String,
    /// How much evidence the review has; null in lists unless `include_quality=true`.
    pub quality: Option<Quality>,
    /// Names of the fields that are empty because the request had no key; empty for a request with a key.
    pub restricted_fields: &'static [&'static str],
    /// What the score rests on.
    #[serde(flatten)]
    pub evidence: AssetScoreEvidence,
}

impl AssetRow {
    /// The methodology version in force.
    pub const METHODOLOGY: &'static str = METHODOLOGY_VERSION;

    /// The row for callers without a key: no dimensions, and `restricted_fields` names what is missing.
    pub fn withheld(self, restricted_fields: &'static [&'static str]) -> Self {
        AssetRow { dimensions: Dimensions::default(), restricted_fields, ..self }
    }
}

/// One version of an asset's review.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VersionPoint {
    /// Id of the version.
    pub asset_version_id: String,
    /// Instant at which the version was recorded.
    pub recorded_at: Micros,
    /// Score that was last published under this version, 0 to 10; null if the asset was unscored.
    pub risk_score: Option<MilliPoints>,
    /// Tier of `risk_score`; null if the asset is unscored.
    pub risk_tier: Option<Tier>,
    /// Status of the review in this version.
    pub review_status: ReviewStatus,
    /// Assets under management in USD, as this version states them; null if unknown.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub aum_usd: Option<f64>,
    /// Annual yield in percent, as this version states it; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub yield_pct: Option<f64>,
}

/// The source that discovered an asset.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Discovery {
    /// Slug of the registry or feed.
    pub source_slug: String,
    /// Instant at which the source first named the asset.
    pub discovered_at: Micros,
    /// Instant at which the source last named the asset.
    pub last_seen_at: Micros,
}

/// Fields that only a detail has.
// `B` is the stored breakdown.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "AssetHistory"))]
pub struct AssetHistory<B> {
    /// The newest 30 versions, newest first.
    pub version_history: Vec<VersionPoint>,
    /// The newest 50 attestations whose signature verifies, newest first; empty without a key.
    pub attestation_history: Vec<Attestation>,
    /// The source that discovered the asset; null if unknown.
    pub discovery: Option<Discovery>,
    /// Everything that is needed to recompute the score; null if the asset is unscored or the request had no key.
    pub risk_score_breakdown: Option<B>,
    /// The answers behind the dimensions, with their sources; null if there are none.
    pub answers: Option<AssetAnswers>,
}

/// `data` of `GET /v1/assets/{chain_id}/{address}` and of `GET /v1/rwa/{asset_id}`.
// `R` is the row, `H` an `AssetHistory`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub struct AssetDetail<R, H> {
    /// The fields of the list row.
    #[serde(flatten)]
    pub row: R,
    /// The fields that only a detail has.
    #[serde(flatten)]
    pub history: H,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freshness_has_the_status_now_and_the_status_before_the_latest_renewal() {
        let renewal = Renewal {
            at: Some(Timestamp::from_seconds(10_000)),
            before: Some(Timestamp::from_seconds(7_000)),
            cadence_seconds: 1_000,
        };
        let read = |seconds| serde_json::to_string(&renewal.freshness(Timestamp::from_seconds(seconds))).unwrap();
        assert_eq!(
            read(11_000),
            r#"{"last_refresh_at":"1970-01-01T02:46:40.000000Z","age_hours":0.27,"status":"fresh","last_status":"stale"}"#
        );
        assert!(read(11_001).contains(r#""status":"aging""#));
        assert!(read(9_000).contains(r#""age_hours":0,"#), "a renewal in the future has age 0");
        let never = serde_json::to_string(&Renewal::default().freshness(Timestamp::from_seconds(0))).unwrap();
        assert_eq!(never, r#"{"last_refresh_at":null,"age_hours":null,"status":null,"last_status":null}"#);
    }
}
