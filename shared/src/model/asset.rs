//! Assets: the enriched row, the detail and the facets.
//!
//! Source: interface, "Enriched asset (GET /v1/assets/enriched)" and "Assets". Instants of this family have six
//! fractional digits. Per-dimension values, the breakdown and attestations belong to callers with a key: everybody else
//! gets the same fields emptied, and `restricted_fields` names them. Ours, because the interface leaves them open: `slug`,
//! `quality`, and the shapes of `dependency_chain[]` and `underlying_asset`.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::attestation::Attestation;
use super::ids::{Address, ChainId};
use crate::rules::tiers::Tier;
use crate::scoring::asset::{
    AssetCategory, AttestationCadence, ChainOverlay, Dimensions, FreshnessStatus, HardFailFlag, ReviewStatus,
};
use crate::scoring::number::Decimal;
use crate::scoring::{METHODOLOGY_VERSION, MilliPoints, named_enum};
use crate::wire::time::{Micros, Timestamp};

/// What of a row is emptied for callers without a key.
pub const RESTRICTED_IN_ROWS: &[&str] = &["dimensions"];
/// What of a detail is emptied for callers without a key.
pub const RESTRICTED_IN_DETAIL: &[&str] = &["dimensions", "attestation_history", "risk_score_breakdown"];

named_enum! {
    /// Who may hold the asset.
    pub enum KycGate {
        /// Anybody.
        Permissionless = "permissionless",
        /// Whoever was identified.
        KycRequired = "kyc_required",
        /// Accredited investors.
        Accredited = "accredited",
        /// Qualified purchasers.
        QualifiedPurchaser = "qualified_purchaser",
        /// Professional investors.
        ProfessionalInvestor = "professional_investor",
        /// Institutions.
        InstitutionalOnly = "institutional_only",
    }
}

/// Who issues the asset; every part may be unknown but the name.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Issuer {
    /// The registry's id.
    pub id: Option<String>,
    /// Name, for display.
    pub name: String,
    /// Where it is incorporated.
    pub jurisdiction: Option<String>,
    /// For example `asset_manager`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// URL of the website; null if unknown.
    pub website_url: Option<String>,
}

/// What stands behind an asset, in percent; the parts sum to about 100.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackingProfile {
    /// Claims and cash outside any chain.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub offchain_pct: f64,
    /// Crypto assets independent of the issuer.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub crypto_exogenous_pct: f64,
    /// Crypto assets that depend on the issuer.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub crypto_endogenous_pct: f64,
    /// Share of hedged positions in the backing, in percent.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub delta_hedge_pct: f64,
}

/// How the asset is wrapped, held and audited. Null is "not known".
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Institutional {
    /// The legal form, for example `reg_d_fund`.
    pub regulatory_wrapper: Option<String>,
    /// The law it is under.
    pub regulatory_jurisdiction: Option<String>,
    /// Who may hold it.
    pub kyc_gate: Option<KycGate>,
    /// Who keeps the backing.
    pub custodian_name: Option<String>,
    /// Who audits it.
    pub auditor_name: Option<String>,
    /// How often reserves are attested.
    pub attestation_cadence: Option<AttestationCadence>,
    /// How long a redemption takes, for example `T+1`.
    pub redemption_window: Option<String>,
    /// USD of this deployment, as its review stated it. Kept for old clients; sum `canonical_aum` instead.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub aum_usd: Option<f64>,
    /// Yield in percent.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub yield_pct: Option<f64>,
    /// Duration of the backing in days.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub duration_days: Option<f64>,
    /// Currency of the fund.
    pub currency: Option<String>,
    /// Value in that currency.
    pub aum_native: Option<f64>,
    /// USD for one unit of that currency.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub fx_rate_used: Option<f64>,
    /// When that rate was taken.
    pub fx_rate_at: Option<Micros>,
    /// Where `aum_usd` comes from.
    pub aum_usd_source: Option<String>,
    /// How the yield is counted, for example `sec_7_day`.
    pub yield_basis: Option<String>,
}

/// One document behind a review.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Provenance {
    /// For example `issuer_disclosure`.
    pub source_type: String,
    /// Where it was read.
    pub source_url: Option<String>,
    /// Instant at which the source was read; null if unknown.
    pub retrieved_at: Option<Micros>,
    /// SHA-256 of what was read, in hex.
    pub document_hash: Option<String>,
    /// Notes of the source, as plain text; null if unknown.
    pub notes: Option<String>,
}

/// Another asset that this one stands on, with the score that bounds it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssetLink {
    /// Id of the asset.
    pub asset_id: String,
    /// Its slug: what overlay ids such as `dependency:<slug>` name.
    pub slug: String,
    /// Symbol of the asset.
    pub symbol: String,
    /// Its published score; null while unscored.
    pub risk_score: Option<MilliPoints>,
    /// Published tier; null if unknown.
    pub risk_tier: Option<Tier>,
}

/// How old the evidence is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Freshness {
    /// When the evidence was last renewed.
    pub last_refresh_at: Option<Micros>,
    /// Hours since then, to the hundredth, rounded down.
    pub age_hours: Option<Decimal>,
    /// The age against the asset's cadence.
    pub status: Option<FreshnessStatus>,
    /// What `status` was just before the latest renewal; null after a first one.
    pub last_status: Option<FreshnessStatus>,
}

/// What [`Freshness`] is worked out from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Renewal {
    /// The latest renewal of the evidence.
    pub at: Option<Timestamp>,
    /// The one before.
    pub before: Option<Timestamp>,
    /// How often the evidence should be renewed, in seconds.
    pub cadence_seconds: i64,
}

impl Renewal {
    /// The freshness as it reads at `now`.
    pub fn freshness(&self, now: Timestamp) -> Freshness {
        Freshness {
            last_refresh_at: self.at.map(Micros),
            age_hours: self.at.map(|at| age_hours(at, now)),
            status: self.status(now),
            last_status: self.at.zip(self.before).map(|(at, before)| self.status_between(before, at)),
        }
    }

    /// The age at `now` against the cadence; null before the first renewal.
    pub fn status(&self, now: Timestamp) -> Option<FreshnessStatus> {
        self.at.map(|at| self.status_between(at, now))
    }

    fn status_between(&self, renewed: Timestamp, then: Timestamp) -> FreshnessStatus {
        FreshnessStatus::of(then.seconds_since(renewed).max(0), self.cadence_seconds)
    }
}

/// Hours from `at` to `now`, to the hundredth, rounded down; 0 for what lies ahead.
pub fn age_hours(at: Timestamp, now: Timestamp) -> Decimal {
    Decimal { units: now.seconds_since(at).max(0) / 36, scale: 2 }
}

/// How much of what the category asks is answered. In lists only with `include_quality=true`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quality {
    /// Dimensions that the category weighs.
    pub weighted_dimensions: u32,
    /// How many of them have evidence.
    pub answered_dimensions: u32,
    /// The weight of those, as a fraction.
    pub evidence_coverage: Decimal,
    /// Documents behind the review.
    pub provenance_documents: u32,
}

/// A row of `GET /v1/assets/enriched`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssetRow {
    /// A number, as text; given on first sight and never changed.
    pub asset_id: String,
    /// The newest version of its review; null before the first.
    pub asset_version_id: Option<String>,
    /// The token; null for the chain's native coin.
    pub address: Option<Address>,
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Symbol of the asset.
    pub symbol: String,
    /// Name; null unless it is a real-world asset.
    pub name: Option<String>,
    /// What it is scored as.
    pub category: AssetCategory,
    /// How far the newest review has come.
    pub review_status: ReviewStatus,
    /// 0 to 10; null while unscored.
    pub risk_score: Option<MilliPoints>,
    /// The tier of `risk_score`.
    pub risk_tier: Option<Tier>,
    /// Null unless it is a real-world asset.
    pub issuer: Option<Issuer>,
    /// Whether it is a constituent of the first published basket.
    pub in_basket_a: bool,
    /// All sixteen; null where there is no evidence or the category does not ask.
    pub dimensions: Dimensions,
    /// Traits that can lower the score, whether or not they do: `yield-bearing`, `lockup`.
    pub risk_overlays: Vec<&'static str>,
    /// What it legally is, for example `money_market_fund`.
    pub instrument_type: Option<String>,
    /// Active and cooling-down flags, the gravest first.
    pub hard_fail_flags: Vec<HardFailFlag>,
    /// Ids of the caps that lowered the score, in order.
    pub caps_applied: Vec<String>,
    /// What stands behind it; null where the category has no backing or nobody looked.
    pub backing_profile: Option<BackingProfile>,
    /// The asset it is a yield-bearing form of.
    pub underlying_asset: Option<AssetLink>,
    /// How it is wrapped, held and audited.
    pub institutional: Institutional,
    /// The documents behind the newest review.
    pub data_provenance: Vec<Provenance>,
    /// The organisation that reviewed.
    pub reviewed_by: Option<String>,
    /// The person or desk that reviewed.
    pub reviewer: Option<String>,
    /// When the newest version was recorded.
    pub recorded_at: Option<Micros>,
    /// How old the evidence is.
    pub freshness: Freshness,
    /// Assets it depends on, most important first.
    pub dependency_chain: Vec<AssetLink>,
    /// The rules that made the score.
    pub methodology_version: &'static str,
    /// What its chain costs it; null on a settlement layer and on a chain that nobody profiled.
    pub chain_overlay: Option<ChainOverlay>,
    /// The registry's slug.
    pub slug: String,
    /// In lists null unless asked for.
    pub quality: Option<Quality>,
    /// Fields that were emptied for want of a key.
    pub restricted_fields: &'static [&'static str],
}

impl AssetRow {
    /// The rules in force.
    pub const METHODOLOGY: &'static str = METHODOLOGY_VERSION;

    /// The row without what needs a key.
    pub fn withheld(self, restricted_fields: &'static [&'static str]) -> Self {
        AssetRow { dimensions: Dimensions::default(), restricted_fields, ..self }
    }
}

/// One published version of an asset's review.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VersionPoint {
    /// Id of the asset's version.
    pub asset_version_id: String,
    /// When it was recorded.
    pub recorded_at: Micros,
    /// The score it led to, last published under it; null while unscored.
    pub risk_score: Option<MilliPoints>,
    /// The tier of that score.
    pub risk_tier: Option<Tier>,
    /// How far the review had come.
    pub review_status: ReviewStatus,
    /// As that version stated it.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub aum_usd: Option<f64>,
    /// As that version stated it.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub yield_pct: Option<f64>,
}

/// What surfaced the asset.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Discovery {
    /// The registry or feed.
    pub source_slug: String,
    /// When it first named the asset.
    pub discovered_at: Micros,
    /// When it last did.
    pub last_seen_at: Micros,
}

/// What a detail has beside the row. `B` is the stored breakdown.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "AssetHistory"))]
pub struct AssetHistory<B> {
    /// The newest 30 versions, newest first.
    pub version_history: Vec<VersionPoint>,
    /// The newest 50 attestations whose signature verifies, newest first; empty without a key.
    pub attestation_history: Vec<Attestation>,
    /// What surfaced the asset.
    pub discovery: Option<Discovery>,
    /// Everything that recomputing the score takes; null for unscored assets and without a key.
    pub risk_score_breakdown: Option<B>,
}

/// `data` of `GET /v1/assets/{chain_id}/{address}` and of `GET /v1/rwa/{asset_id}`. `R` is the row, `H` an
/// [`AssetHistory`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub struct AssetDetail<R, H> {
    /// The row.
    #[serde(flatten)]
    pub row: R,
    /// What a row has not.
    #[serde(flatten)]
    pub history: H,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freshness_tells_the_age_now_and_before_the_latest_renewal() {
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
        assert!(read(9_000).contains(r#""age_hours":0,"#), "a renewal ahead of the clock has no negative age");
        let never = serde_json::to_string(&Renewal::default().freshness(Timestamp::from_seconds(0))).unwrap();
        assert_eq!(never, r#"{"last_refresh_at":null,"age_hours":null,"status":null,"last_status":null}"#);
    }
}
