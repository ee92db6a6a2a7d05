//! Real-world assets: the list row and the coverage report. The API specification states what the report covers and leaves its fields open.

use alloc::{string::String, vec::Vec};
use serde::{Serialize, Serializer};

use super::asset::AssetRow;
use super::ids::{Address, ChainId};
use crate::rules::rwa_sources::{CandidateState, Finding, SourceState, SourceType};
use crate::rules::rwa_totals::{Caveat, Exclusion, IdentityStatus};
use crate::scoring::asset::RwaScoreStatus;
use crate::scoring::number::Decimal;
use crate::wire::time::{Micros, Timestamp};

/// An amount in US dollars, exact to the cent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cents(pub i64);

impl Serialize for Cents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Decimal { units: self.0, scale: 2 }.serialize(serializer)
    }
}

/// A UTC day, written as `YYYY-MM-DD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(pub Timestamp);

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use alloc::string::ToString;
        let text = self.0.to_string();
        serializer.serialize_str(text.get(..10).unwrap_or(&text))
    }
}

/// A deployment's part of the canonical total of assets under management. Missing and excluded figures are null, never zero.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CanonicalAum {
    /// UTC day of the newest total; null before the first total.
    pub snapshot_date: Option<Day>,
    /// Whether `value_usd` is part of the total. The values of the included rows add up to the total.
    pub included: bool,
    /// Why the deployment adds nothing to the total; null if it is included.
    pub exclusion_reason: Option<Exclusion>,
    /// Value of the product in USD, exact to the cent; null unless `included` is true.
    pub value_usd: Option<Cents>,
    /// Id of the source whose figure is used; null without a figure.
    pub source_id: Option<String>,
    /// Instant that the figure refers to; null without a figure.
    pub effective_at: Option<Micros>,
    /// Hours since `effective_at`, rounded down to two decimals; null without a figure.
    pub age_hours: Option<Decimal>,
    /// Whether the figure is from an earlier day than `snapshot_date`; null without a figure.
    pub carried_forward: Option<bool>,
    /// Ids of the observations that the figure was chosen from.
    pub observation_ids: Vec<String>,
    /// Limitations of the figure.
    pub caveats: Vec<Caveat>,
}

/// The newest current figures that sources state about a deployment and its product; null means that no source states the figure.
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
    /// Annualised yield of the last 7 days, in percent.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub apy_7d_pct: Option<f64>,
    /// Annualised yield of the last 30 days, in percent.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub apy_30d_pct: Option<f64>,
    /// Duration of the backing, in days.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub duration_days: Option<f64>,
}

/// A row of `GET /v1/rwa`, and the row of its detail.
///
/// In the list, `risk_score` is the headline score: the stored score, or without one the highest core dimension. In the detail it is the
/// stored score only.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RwaRow {
    /// The fields of the enriched asset.
    #[serde(flatten)]
    pub asset: AssetRow,
    /// Where the headline score of the list comes from.
    pub score_status: RwaScoreStatus,
    /// True exactly if `score_status` is `derived`.
    pub dimensions_only: bool,
    /// Id of the product; null until a signed review maps the deployment to one.
    pub product_id: Option<String>,
    /// How certain the mapping to a product is.
    pub identity_status: IdentityStatus,
    /// Deprecated: the symbol in upper case. Different products may share it.
    pub canonical_product_id: String,
    /// Deprecated: what `institutional.aum_usd` covers, always `deployment`; null without that figure.
    pub aum_scope: Option<&'static str>,
    /// The deployment's part of the canonical total.
    pub canonical_aum: CanonicalAum,
    /// The newest current figures that sources state about the deployment and its product.
    pub metrics: RwaMetrics,
}

/// A number of items out of a total.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "RwaFieldCoverage"))]
pub struct Coverage {
    /// Number of items that are covered, for example deployments that have the field.
    pub present: u64,
    /// Number of all items.
    pub total: u64,
    /// `present` divided by `total`, as a fraction rounded down to four decimals; null if `total` is 0.
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
    /// UTC day of the newest total; null before the first total.
    pub snapshot_date: Option<Day>,
    /// Number of deployments by `score_status`.
    pub universe: Universe,
    /// Number of deployments by the status of their mapping to a product.
    pub identity: IdentityCoverage,
    /// Number of deployments that have each field.
    pub fields: FieldCoverage,
    /// How many entries of market catalogs are assets of the registry.
    pub market_catalog: CatalogMatch,
    /// How the newest total is distributed over sources.
    pub source_concentration: Concentration,
    /// All sources, each with its current state.
    pub sources: Vec<SourceStatus>,
    /// Findings that operators should look at, most urgent first.
    pub findings: Vec<CoverageFinding>,
    /// The discovery queue: deployments that wait for a decision.
    pub discovery: DiscoveryQueue,
}

/// Number of deployments by `score_status`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Universe {
    /// Number of all deployments of real-world assets.
    pub deployments: u64,
    /// Number of products to which a signed review has mapped a deployment.
    pub products: u64,
    /// Number of deployments with a stored score.
    pub scored: u64,
    /// Number of deployments without a stored score whose headline score is derived from core dimensions.
    pub derived: u64,
    /// Number of deployments with neither a stored score nor a core dimension.
    pub unscored: u64,
}

/// Number of deployments by the status of their mapping to a product.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdentityCoverage {
    /// Deployments that a signed review maps to a product, out of all deployments.
    pub reviewed: Coverage,
    /// Number of deployments that a signed review maps to a product.
    pub verified: u64,
    /// Number of deployments that signed reviews map to different products.
    pub disputed: u64,
    /// Number of deployments with a claimed product that no signed review confirms.
    pub candidate: u64,
    /// Number of deployments without a claimed product.
    pub unmapped: u64,
}

/// A field, with the number of deployments that have it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FieldCount {
    /// Name of the field in the row.
    pub field: &'static str,
    /// Number of deployments that have the field.
    #[serde(flatten)]
    pub count: Coverage,
}

/// Coverage of the row's fields, older and newer ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FieldCoverage {
    /// Coverage of the fields of `institutional`.
    pub legacy: Vec<FieldCount>,
    /// Coverage of the product id, the canonical figure and the fields of `metrics`.
    pub canonical: Vec<FieldCount>,
}

/// How many entries of market catalogs are assets of the registry.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CatalogMatch {
    /// Entries of enabled market catalogs that are assets of the registry, out of all their entries.
    pub matched: Coverage,
    /// Ids of the enabled market catalogs.
    pub catalogs: Vec<String>,
}

/// How a total is distributed over sources.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Concentration {
    /// Herfindahl–Hirschman index: the sum of the squared shares, 0 to 1, rounded down to four decimals; null if the total is 0.
    pub hhi: Option<Decimal>,
    /// Sources whose figures are part of the total, largest share first.
    pub sources: Vec<SourceShare>,
}

/// A source's part of a total.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceShare {
    /// Id of the source.
    pub source_id: String,
    /// Number of products whose figure comes from this source.
    pub products: u64,
    /// Value of the products whose figure comes from this source, in USD.
    pub value_usd: Cents,
    /// The source's share of the total, as a fraction rounded down to four decimals; null if the total is 0.
    pub share: Option<Decimal>,
}

/// A source with its current state.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceStatus {
    /// Id of the source.
    pub source_id: String,
    /// Name, for display.
    pub name: String,
    /// Where the source's figures come from.
    pub source_type: SourceType,
    /// Current state of the source.
    pub state: SourceState,
    /// Rank among the sources of one product; the smallest wins.
    pub priority: i32,
    /// Maximum age of the newest publication in seconds; beyond it the source is `stale`.
    pub max_age_seconds: i64,
    /// Id of the newest publication; null if the source has published nothing, and for market catalogs, whose publications have no ids.
    pub publication_id: Option<String>,
    /// Instant of the newest publication; null if the source has published nothing.
    pub published_at: Option<Micros>,
    /// Number of publications on record; a publication never changes.
    pub publications: u64,
    /// Number of observations in the publications on record.
    pub observations: u64,
    /// Instant of the latest attempt to read the source; null before the first.
    pub last_attempt_at: Option<Micros>,
    /// Whether the latest attempt succeeded; null before the first.
    pub last_attempt_ok: Option<bool>,
}

/// A finding that operators should look at.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoverageFinding {
    /// `P0` if totals are wrong or missing, `P1` if they will become wrong unless somebody acts, `P2` if coverage is incomplete.
    pub severity: &'static str,
    /// Identifier of the kind of finding, for example `source_stale`.
    pub code: &'static str,
    /// The source, product, asset slug, candidate or field concerned; null if the finding is about all of the registry.
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

/// Discovered deployments that wait for a decision.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiscoveryQueue {
    /// Number of open candidates; `candidates` lists at most the oldest 200.
    pub open: u64,
    /// Candidates that are discovered or being classified and come from an enabled source, oldest first.
    pub candidates: Vec<Candidate>,
}

/// A deployment in the discovery queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Candidate {
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Address of the deployment's contract.
    pub address: Address,
    /// Symbol, as the source states it; null if it states none.
    pub symbol: Option<String>,
    /// Name, as the source states it; null if it states none.
    pub name: Option<String>,
    /// State of the candidate.
    pub state: CandidateState,
    /// Id of the source that discovered the deployment.
    pub source_slug: String,
    /// URL of the evidence; null if there is none.
    pub evidence_url: Option<String>,
    /// Instant at which the deployment was first seen.
    pub discovered_at: Micros,
    /// Instant at which the deployment was last seen.
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
