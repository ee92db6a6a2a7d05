//! Real-world assets: the row and the coverage census.
//!
//! Source: interface, "RWA item (GET /v1/rwa)" and "RWA". The census is ours: the interface says what it reports and leaves
//! its fields open.

use alloc::{string::String, vec::Vec};
use serde::{Serialize, Serializer};

use super::asset::AssetRow;
use super::ids::{Address, ChainId};
use crate::rules::canonical_aum::{Caveat, Exclusion, IdentityStatus};
use crate::rules::rwa_sources::{CandidateState, Finding, SourceState, SourceType};
use crate::scoring::asset::RwaScoreStatus;
use crate::scoring::number::Decimal;
use crate::wire::time::{Micros, Timestamp};

/// US dollars, exact to the cent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cents(pub i64);

impl Serialize for Cents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Decimal { units: self.0, scale: 2 }.serialize(serializer)
    }
}

/// A UTC day, as `YYYY-MM-DD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(pub Timestamp);

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use alloc::string::ToString;
        let text = self.0.to_string();
        serializer.serialize_str(text.get(..10).unwrap_or(&text))
    }
}

/// A deployment's part in the canonical total. Missing and excluded figures are null, never zero.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CanonicalAum {
    /// The day of the newest total; null before the first.
    pub snapshot_date: Option<Day>,
    /// Whether `value_usd` is part of it. Summing the included rows gives the total.
    pub included: bool,
    /// Why the product does not count; null if it counts.
    pub exclusion_reason: Option<Exclusion>,
    /// The product's figure.
    pub value_usd: Option<Cents>,
    /// Who stated it.
    pub source_id: Option<String>,
    /// What instant it is of.
    pub effective_at: Option<Micros>,
    /// Hours since then, to the hundredth, rounded down.
    pub age_hours: Option<Decimal>,
    /// Whether that is an earlier day than `snapshot_date`; null without a figure.
    pub carried_forward: Option<bool>,
    /// The observations it was chosen from.
    pub observation_ids: Vec<String>,
    /// What to know of it.
    pub caveats: Vec<Caveat>,
}

/// The newest current figures that sources state of a deployment and its product. Null is "not stated".
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RwaMetrics {
    /// Assets of the whole fund, in USD.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub fund_aum_usd: Option<f64>,
    /// Value issued on all chains, in USD.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub global_issued_value_usd: Option<f64>,
    /// Value of this deployment, in USD.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub deployment_circulating_value_usd: Option<f64>,
    /// Yield of the last 7 days, a year, in percent.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub apy_7d_pct: Option<f64>,
    /// Yield of the last 30 days, a year, in percent.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub apy_30d_pct: Option<f64>,
    /// Duration in days.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub duration_days: Option<f64>,
}

/// A row of `GET /v1/rwa`, and the row of its detail.
///
/// In the list `risk_score` is the headline: the stored score, else the greatest core dimension. The detail shows a stored
/// score only.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RwaRow {
    /// The enriched asset.
    #[serde(flatten)]
    pub asset: AssetRow,
    /// Where the list's headline comes from.
    pub score_status: RwaScoreStatus,
    /// True exactly when it is derived.
    pub dimensions_only: bool,
    /// The product; null until a signed review maps the deployment.
    pub product_id: Option<String>,
    /// How sure that mapping is.
    pub identity_status: IdentityStatus,
    /// Deprecated: the upper-case symbol. Different products may share it.
    pub canonical_product_id: String,
    /// Deprecated: what `institutional.aum_usd` covers; null without it.
    pub aum_scope: Option<&'static str>,
    /// Its part in the total.
    pub canonical_aum: CanonicalAum,
    /// What sources state.
    pub metrics: RwaMetrics,
}

/// So many of so many.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "RwaFieldCoverage"))]
pub struct Coverage {
    /// Number of rows in which the field has a value.
    pub present: u64,
    /// Out of how many.
    pub total: u64,
    /// The fraction, to four decimals, rounded down; null out of none.
    pub coverage: Option<Decimal>,
}

impl Coverage {
    /// `present` out of `total`.
    pub fn of(present: u64, total: u64) -> Self {
        let fraction = present.saturating_mul(10_000).checked_div(total);
        let coverage = fraction.and_then(|units| i64::try_from(units).ok()).map(|units| Decimal { units, scale: 4 });
        Coverage { present, total, coverage }
    }
}

/// `data` of `GET /v1/rwa/coverage`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RwaCoverage {
    /// The day of the newest total.
    pub snapshot_date: Option<Day>,
    /// Deployments by where their headline comes from.
    pub universe: Universe,
    /// How many deployments a signed review has mapped.
    pub identity: IdentityCoverage,
    /// Which fields are known of how many deployments.
    pub fields: FieldCoverage,
    /// How much of the catalogs' products the registry knows.
    pub market_catalog: CatalogMatch,
    /// How the total spreads over sources.
    pub source_concentration: Concentration,
    /// Every source with its state.
    pub sources: Vec<SourceStatus>,
    /// What should be looked at, most urgent first.
    pub findings: Vec<CoverageFinding>,
    /// The open review queue.
    pub discovery: DiscoveryQueue,
}

/// Deployments by where their headline comes from.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Universe {
    /// All deployments of real-world assets.
    pub deployments: u64,
    /// Products that a signed review mapped.
    pub products: u64,
    /// With a stored score.
    pub scored: u64,
    /// With dimensions only.
    pub derived: u64,
    /// Number of vaults without a score.
    pub unscored: u64,
}

/// Deployments by the standing of their mapping.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdentityCoverage {
    /// Mapped by a signed review, out of all.
    pub reviewed: Coverage,
    /// Mapped by a signed review.
    pub verified: u64,
    /// Mapped to different products.
    pub disputed: u64,
    /// Claimed, not signed.
    pub candidate: u64,
    /// Not even claimed.
    pub unmapped: u64,
}

/// A field with how many deployments have it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FieldCount {
    /// Its name in the row.
    pub field: &'static str,
    /// How many have it.
    #[serde(flatten)]
    pub count: Coverage,
}

/// Fields by generation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FieldCoverage {
    /// Coverage of the fields of `institutional`.
    pub legacy: Vec<FieldCount>,
    /// Of `canonical_aum`, identity and `metrics`.
    pub canonical: Vec<FieldCount>,
}

/// Products of market catalogs that are assets of the registry.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CatalogMatch {
    /// Matched, out of all that enabled catalogs name.
    pub matched: Coverage,
    /// The enabled catalogs.
    pub catalogs: Vec<String>,
}

/// How the total spreads over sources.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Concentration {
    /// Sum of squared shares, 0 to 1, to four decimals; null without a total.
    pub hhi: Option<Decimal>,
    /// Sources, largest share first.
    pub sources: Vec<SourceShare>,
}

/// A source's part in the total.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceShare {
    /// Id of the source.
    pub source_id: String,
    /// Products whose figure is its own.
    pub products: u64,
    /// Their value.
    pub value_usd: Cents,
    /// Of the total, to four decimals, rounded down; null when the total is zero.
    pub share: Option<Decimal>,
}

/// A source with its state.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceStatus {
    /// Id of the source.
    pub source_id: String,
    /// Name, for display.
    pub name: String,
    /// What it is good for.
    pub source_type: SourceType,
    /// How it does now.
    pub state: SourceState,
    /// Its rank among sources of one product; the smallest wins.
    pub priority: i32,
    /// How old its newest publication may be.
    pub max_age_seconds: i64,
    /// Its newest publication.
    pub publication_id: Option<String>,
    /// When that was published.
    pub published_at: Option<Micros>,
    /// Publications on record; none of them ever changes.
    pub publications: u64,
    /// Observations in them.
    pub observations: u64,
    /// The latest attempt to read it.
    pub last_attempt_at: Option<Micros>,
    /// Whether that worked.
    pub last_attempt_ok: Option<bool>,
}

/// A finding as it is served.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoverageFinding {
    /// `P0`, `P1` or `P2`.
    pub severity: &'static str,
    /// What kind of thing.
    pub code: &'static str,
    /// What it is about; null for the whole.
    pub subject: Option<String>,
    /// The finding as one sentence of plain text.
    pub message: String,
}

impl From<Finding> for CoverageFinding {
    fn from(found: Finding) -> Self {
        let Finding { urgency, code, subject, message } = found;
        CoverageFinding { severity: urgency.as_str(), code, subject, message }
    }
}

/// Deployments that wait for a decision.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiscoveryQueue {
    /// How many, `candidates` being at most the oldest 200 of them.
    pub open: u64,
    /// Discovered or being classified, with evidence from an enabled source; oldest first.
    pub candidates: Vec<Candidate>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Candidate {
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Address of the contract.
    pub address: Address,
    /// Symbol, as the source has it.
    pub symbol: Option<String>,
    /// Name, as the source has it.
    pub name: Option<String>,
    /// How far it has come.
    pub state: CandidateState,
    /// Who surfaced it.
    pub source_slug: String,
    /// Where that can be read.
    pub evidence_url: Option<String>,
    /// When it was first seen.
    pub discovered_at: Micros,
    /// When it was last seen.
    pub last_seen_at: Micros,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_days_and_fractions_print_as_people_read_them() {
        let printed =
            serde_json::to_string(&(Cents(123_456), Day(Timestamp::from_seconds(86_400)), Coverage::of(1, 3)));
        assert_eq!(printed.unwrap(), r#"[1234.56,"1970-01-02",{"present":1,"total":3,"coverage":0.3333}]"#);
        assert_eq!(Coverage::of(0, 0).coverage, None);
    }
}
