//! Research from elsewhere: what others found about the scores, and what they foretell.

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
    /// What somebody else found. Its list, its source and its key name it; what it says anew takes the place of what it said.
    ResearchRecord in "given_research" by [id] {
        /// The three names; made here, never read.
        #[serde(default, skip_deserializing)]
        id: String,
        /// The list that shows it.
        record: GivenKind,
        /// Slug; its name within list and source.
        key: String,
        /// The rules it is about.
        model_version: String,
        /// The chains whose vaults it counts: it is kept back while one of them is withheld.
        chain_ids: Vec<i64>,
        /// What it says, as [`Finding`] reads it.
        body: Value,
    }
}

/// A score that somebody foretells with, told as its window begins. What becomes of it is the service's to find.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResearchPrediction {
    /// Read before the rest of the line.
    #[serde(default, skip_serializing)]
    pub kind: Kind,
    /// When its window begins.
    pub observed_at: At,
    /// Who foretells.
    pub source: String,
    /// The vault.
    pub vault_id: String,
    /// How long its window is.
    pub horizon: Horizon,
    /// The rules behind the score.
    pub model_version: String,
    /// The score: lower ones are to lose sooner.
    pub score: Points,
}

/// The lists that take records from elsewhere. Sources are in none of them: they are counted from what each has told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GivenKind {
    /// `/v1/research/validation-reports`.
    ValidationReport,
    /// `/v1/research/claims`.
    Claim,
    /// `/v1/research/backtests`.
    Backtest,
    /// `/v1/research/model-health`.
    ModelHealth,
}

impl From<GivenKind> for RecordKind {
    fn from(kind: GivenKind) -> Self {
        match kind {
            GivenKind::ValidationReport => RecordKind::ValidationReport,
            GivenKind::Claim => RecordKind::Claim,
            GivenKind::Backtest => RecordKind::Backtest,
            GivenKind::ModelHealth => RecordKind::ModelHealth,
        }
    }
}

/// The body of a record from elsewhere. Fields that follow from others are not in it.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    Report(GivenReport),
    Claim(GivenClaim),
    Backtest(Box<GivenBacktest>),
    Health(GivenHealth),
}

impl Finding {
    /// Reads the body of a record of this kind. An error knows the field.
    pub fn read(kind: GivenKind, body: &Value) -> Result<Self, serde_path_to_error::Error<serde_json::Error>> {
        Ok(match kind {
            GivenKind::ValidationReport => Finding::Report(serde_path_to_error::deserialize(body)?),
            GivenKind::Claim => Finding::Claim(serde_path_to_error::deserialize(body)?),
            GivenKind::Backtest => Finding::Backtest(serde_path_to_error::deserialize(body)?),
            GivenKind::ModelHealth => Finding::Health(serde_path_to_error::deserialize(body)?),
        })
    }
}

/// A validation report.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenReport {
    /// What it is about.
    pub report_type: ReportType,
    /// In one sentence.
    pub summary: String,
    /// How it was found.
    pub method: String,
    /// What stands in its way, at least one thing.
    pub weaknesses: Vec<String>,
    /// What was counted.
    #[serde(default)]
    pub figures: Vec<GivenFigure>,
    /// The backtests that were tried, shown or not.
    #[serde(default)]
    pub backtests: Vec<GivenTried>,
}

/// A number with what it was counted from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenFigure {
    /// What is counted.
    pub name: String,
    /// Of these …
    pub count: u64,
    /// … so many; absent where it is a plain number.
    pub of: Option<u64>,
}

/// A backtest that a report lists.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenTried {
    /// What was tested.
    pub signal: Signal,
    /// What counted as a loss.
    pub outcome: OutcomeKind,
    /// How far ahead.
    pub horizon: Horizon,
    /// Samples.
    pub samples: u64,
    /// Samples that lost.
    pub losses: u64,
    /// What it lacked to be shown.
    #[serde(default)]
    pub unmet: Vec<Unmet>,
}

/// A claim about the service's rows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenClaim {
    /// How firmly.
    pub level: Level,
    /// Slug; the family of routes that it is about.
    pub surface: String,
    /// What is said.
    pub statement: String,
    /// Rows that it was checked against.
    pub checked: u64,
    /// Rows that contradict it: with one it stays a draft.
    pub violations: u64,
    /// How it was checked.
    pub method: String,
    /// What the check does not cover, at least one thing.
    pub weaknesses: Vec<String>,
}

/// A backtest.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenBacktest {
    /// What was tested.
    pub signal: Signal,
    /// What counted as a loss.
    pub outcome: OutcomeKind,
    /// How far ahead.
    pub horizon: Horizon,
    /// The first instant that a sample was taken at.
    pub from: Option<At>,
    /// The last one.
    pub to: Option<At>,
    /// Samples: one vault at one instant.
    pub samples: u64,
    /// Samples that lost.
    pub losses: u64,
    /// Looks into windows that nobody watched well enough.
    #[serde(default)]
    pub unobserved: u64,
    /// Of them, those whose prices only repeat in the last quarter.
    #[serde(default)]
    pub repeated: u64,
    /// Vaults that were left out for steps that no share price takes.
    #[serde(default)]
    pub broken_series: u64,
    /// Vaults.
    pub vaults: u64,
    /// Protocols of them.
    pub protocols: u64,
    /// Vaults that lost at least once.
    pub loss_vaults: u64,
    /// Groups that lost at least once: vaults, or protocols where incidents count.
    pub loss_groups: u64,
    /// Values among the samples that differ.
    pub distinct_values: u64,
    /// How often a sample that lost had the lower value, ties counting half; absent without samples of both sides.
    pub auc: Option<Share>,
    /// The lower end of its 95 percent interval.
    pub auc_low: Option<Share>,
    /// The upper end.
    pub auc_high: Option<Share>,
    /// Samples and losses by the tiers' ranges: each tier once.
    pub bands: Vec<GivenBand>,
    /// How it was found.
    pub method: String,
    /// What stands in its way, at least one thing.
    pub weaknesses: Vec<String>,
    /// SHA-256 of the samples, a line each: instant in seconds, vault, thousandths of a point, 1 or 0; in that order.
    pub samples_hash: String,
}

/// One range of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenBand {
    /// The tier whose range it is.
    pub tier: Tier,
    /// Samples in it.
    pub samples: u64,
    /// Those of them that lost.
    pub losses: u64,
}

/// One reading of how the model does.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenHealth {
    /// What is measured.
    pub name: String,
    /// Of these …
    pub count: u64,
    /// … so many; absent where it is a plain number.
    pub of: Option<u64>,
    /// How.
    pub method: String,
}
