//! External research: findings about the scores, and predictions.

use super::At;
use super::Points;
use super::Share;
use super::fact::{Kind, observations};
use rds_shared::model::research::{Level, RecordKind, ReportType, Signal};
use rds_shared::research::Horizon;
use rds_shared::research::gates::Unmet;
use rds_shared::research::outcome::OutcomeKind;
use rds_shared::rules::tiers::Tier;
use serde::{Deserialize, Serialize};
use serde_json::Value;

observations! {
    /// A finding of an external source about the scores. `record`, `source` and `key` identify it; a later observation replaces the earlier one.
    ResearchRecord in "given_research" by [id] {
        /// Computed from `record`, `source` and `key`; not allowed in the ingest line.
        #[serde(default, skip_deserializing)]
        id: String,
        /// The list in which the record is served.
        record: ExternalKind,
        /// Slug, unique within `record` and `source`.
        key: String,
        /// Version of the methodology that the finding is about.
        model_version: String,
        /// Chains of the vaults that the finding counts; the record is hidden while one of these chains is withheld.
        chain_ids: Vec<i64>,
        /// Content of the finding, by `record`.
        #[cfg_attr(feature = "schema", schemars(with = "Body"))]
        body: Value,
    }
}

/// A score used as a prediction, observed when its window begins. The service determines the outcome itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ResearchPrediction {
    /// Placeholder: the line's `kind` is read before the struct is parsed.
    #[serde(default, skip_serializing)]
    pub kind: Kind,
    /// Start of the window.
    pub observed_at: At,
    /// Name of the predicting source.
    pub source: String,
    /// Id of the vault; a known vault.
    pub vault_id: String,
    /// Length of the window.
    pub horizon: Horizon,
    /// Version of the methodology behind the score.
    pub model_version: String,
    /// The score; a lower score predicts an earlier loss.
    pub score: Points,
}

/// The lists that accept external records. The list of sources is not among them, because it is computed from the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExternalKind {
    /// `/v1/research/validation-reports`.
    ValidationReport,
    /// `/v1/research/claims`.
    Claim,
    /// `/v1/research/backtests`.
    Backtest,
    /// `/v1/research/model-health`.
    ModelHealth,
}

impl From<ExternalKind> for RecordKind {
    fn from(kind: ExternalKind) -> Self {
        match kind {
            ExternalKind::ValidationReport => RecordKind::ValidationReport,
            ExternalKind::Claim => RecordKind::Claim,
            ExternalKind::Backtest => RecordKind::Backtest,
            ExternalKind::ModelHealth => RecordKind::ModelHealth,
        }
    }
}

/// The body of an external record, without the fields that are derived from others.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    Report(ExternalReport),
    Claim(ExternalClaim),
    Backtest(Box<ExternalBacktest>),
    Health(ExternalHealth),
}

impl Finding {
    /// Parses the body of a record of this kind. The error contains the path of the field.
    pub fn read(kind: ExternalKind, body: &Value) -> Result<Self, serde_path_to_error::Error<serde_json::Error>> {
        Ok(match kind {
            ExternalKind::ValidationReport => Finding::Report(serde_path_to_error::deserialize(body)?),
            ExternalKind::Claim => Finding::Claim(serde_path_to_error::deserialize(body)?),
            ExternalKind::Backtest => Finding::Backtest(serde_path_to_error::deserialize(body)?),
            ExternalKind::ModelHealth => Finding::Health(serde_path_to_error::deserialize(body)?),
        })
    }
}

/// The body of an external record, as the documentation of ingest describes it; [`Finding::read`] reads it.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Body {
    Report(ExternalReport),
    Claim(ExternalClaim),
    Backtest(ExternalBacktest),
    Health(ExternalHealth),
}

/// A validation report of an external source.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExternalReport {
    /// Kind of report.
    pub report_type: ReportType,
    /// Summary of the report in one sentence.
    pub summary: String,
    /// How the result was obtained.
    pub method: String,
    /// Limitations of the report, at least one.
    pub weaknesses: Vec<String>,
    /// Figures of the report.
    #[serde(default)]
    pub figures: Vec<ExternalFigure>,
    /// All backtests that were tried, whether published or not.
    #[serde(default)]
    pub backtests: Vec<ExternalTried>,
}

/// A count, optionally as part of a total.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExternalFigure {
    /// What is counted.
    pub name: String,
    /// The count; the numerator if `of` is given.
    pub count: u64,
    /// The total; absent for a plain number.
    pub of: Option<u64>,
}

/// A backtest that a report lists.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExternalTried {
    /// The tested signal.
    pub signal: Signal,
    /// The kind of loss.
    pub outcome: OutcomeKind,
    /// How far the prediction looks ahead.
    pub horizon: Horizon,
    /// Number of samples.
    pub samples: u64,
    /// Number of samples with a loss.
    pub losses: u64,
    /// Requirements for publication that the backtest did not meet.
    #[serde(default)]
    pub unmet: Vec<Unmet>,
}

/// A claim about the service's rows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExternalClaim {
    /// How firm the claim is.
    pub level: Level,
    /// Slug of the group of routes that the claim is about.
    pub surface: String,
    /// Text of the claim.
    pub statement: String,
    /// Number of rows checked.
    pub checked: u64,
    /// Number of rows that contradict the claim; with one or more, the claim stays a draft.
    pub violations: u64,
    /// How the claim was checked.
    pub method: String,
    /// Limitations of the check, at least one.
    pub weaknesses: Vec<String>,
}

/// A backtest of an external source.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExternalBacktest {
    /// The tested signal.
    pub signal: Signal,
    /// The kind of loss.
    pub outcome: OutcomeKind,
    /// How far the prediction looks ahead.
    pub horizon: Horizon,
    /// Time of the first sample.
    pub from: Option<At>,
    /// Time of the last sample.
    pub to: Option<At>,
    /// Number of samples; a sample is one vault at one instant.
    pub samples: u64,
    /// Number of samples with a loss.
    pub losses: u64,
    /// Number of windows whose prices were not read well enough to be samples.
    #[serde(default)]
    pub unobserved: u64,
    /// Number of unobserved windows in which every price of the last quarter repeats an earlier price.
    #[serde(default)]
    pub repeated: u64,
    /// Number of vaults excluded because their share price moved implausibly.
    #[serde(default)]
    pub broken_series: u64,
    /// Number of distinct vaults in the samples.
    pub vaults: u64,
    /// Number of protocols of these vaults.
    pub protocols: u64,
    /// Number of vaults with at least one loss.
    pub loss_vaults: u64,
    /// Number of groups with at least one loss. A group is a vault; for incidents, a protocol.
    pub loss_groups: u64,
    /// Number of different values among the samples.
    pub distinct_values: u64,
    /// Probability that a sample with a loss has a lower value than a sample without a loss; ties count half. Absent if all samples or none
    /// have a loss.
    pub auc: Option<Share>,
    /// Lower end of the 95 percent confidence interval of `auc`.
    pub auc_low: Option<Share>,
    /// Upper end of the 95 percent confidence interval of `auc`.
    pub auc_high: Option<Share>,
    /// Samples and losses per tier range; each tier once.
    pub bands: Vec<ExternalBand>,
    /// How the result was obtained.
    pub method: String,
    /// Limitations of the backtest, at least one.
    pub weaknesses: Vec<String>,
    /// SHA-256 of the samples in hex. Each sample is one line: time in seconds, vault id, value in thousandths of a point, and 1 for a loss
    /// or 0; sorted in that order.
    pub samples_hash: String,
}

/// The value range of one tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExternalBand {
    /// The tier.
    pub tier: Tier,
    /// Number of samples in the range.
    pub samples: u64,
    /// Number of these samples with a loss.
    pub losses: u64,
}

/// One measurement of the model's performance.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExternalHealth {
    /// What is measured.
    pub name: String,
    /// The count; the numerator if `of` is given.
    pub count: u64,
    /// The total; absent for a plain number.
    pub of: Option<u64>,
    /// How the count was measured.
    pub method: String,
}
