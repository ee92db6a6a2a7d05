//! Research records: reports, claims, sources, backtests, model health and predictions. The API specification leaves most fields of the
//! rows open.
//!
//! Findings state their method and weaknesses, and figures state the total they are part of.

use crate::research::discrimination::{Band, Verdict};
use crate::research::outcome::{OutcomeKind, PredictionOutcome};
use crate::research::{Discrimination, Horizon, gates::Unmet};
use crate::rules::tiers::Tier;
use crate::scoring::{METHODOLOGY_VERSION, MilliPoints, Ppm, named_enum};
use crate::wire::time::Timestamp;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;

/// The `stage` of records that are a preview.
pub const PREVIEW_STAGE: &str = "preview";

/// The notice of lists whose rows are a preview.
pub const PREVIEW: &str = "A preview: promotion-gated, subject to change, not investment guidance.";

named_enum! {
    /// The kinds of research records that are stored as documents.
    pub enum RecordKind {
        ValidationReport = "validation_report",
        Claim = "claim",
        Source = "source",
        Backtest = "backtest",
        ModelHealth = "model_health",
    }
}

impl RecordKind {
    /// Whether records of this kind are a preview.
    pub const fn is_preview(self) -> bool {
        matches!(self, RecordKind::Backtest | RecordKind::ModelHealth)
    }
}

named_enum! {
    /// Subject of a validation report.
    pub enum ReportType {
        /// How many vaults have a score, and how many have each of its inputs.
        Coverage = "coverage",
        /// Whether low values preceded losses; the report lists every backtest that was tried.
        Discrimination = "discrimination",
        /// Whether assets and vaults that lost money had lower scores before, from the answers dated before.
        Hindsight = "hindsight",
    }
}

/// A count, as part of a total where there is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figure {
    /// Name of what is counted.
    pub name: String,
    /// The count; if `of` is not null, the count is a part of that total.
    pub count: u64,
    /// The total that `count` is part of; null if the figure is a plain number.
    pub of: Option<u64>,
    /// `count` divided by `of`, as a fraction rounded to six decimals; null if `of` is null or 0.
    pub share: Option<Ppm>,
}

impl Figure {
    /// A count that is part of a total.
    pub fn part(name: impl Into<String>, count: u64, of: u64) -> Self {
        Figure { name: name.into(), count, of: Some(of), share: crate::research::discrimination::share(count, of) }
    }

    /// A plain count.
    pub fn number(name: impl Into<String>, count: u64) -> Self {
        Figure { name: name.into(), count, of: None, share: None }
    }
}

/// A record as it is served: with its id, its provider and the instant of its publication.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub struct Recorded<T> {
    /// Id of the record.
    pub id: String,
    /// The content of the record.
    #[serde(flatten)]
    pub record: T,
    /// External source of the record; null for the service's own findings.
    pub provided_by: Option<String>,
    /// Instant at which the record was published.
    pub published_at: Timestamp,
}

/// The result of a test of the scoring model. Served with `id`, `provided_by` and `published_at`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ValidationReport {
    /// Version of the methodology that was tested.
    pub model_version: Cow<'static, str>,
    /// Subject of the report.
    pub report_type: ReportType,
    /// The result in short.
    pub summary: String,
    /// How the result was obtained.
    pub method: Cow<'static, str>,
    /// Known limitations of the result.
    pub weaknesses: Vec<String>,
    /// Figures of the report.
    pub figures: Vec<Figure>,
    /// Every backtest that was tried, with the requirements it does not meet; empty in reports on another subject.
    pub backtests: Vec<TriedBacktest>,
}

/// A backtest as a validation report lists it, whatever its result and whether or not it is published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TriedBacktest {
    /// The tested value.
    pub signal: Signal,
    /// What counts as a loss.
    pub outcome: OutcomeKind,
    /// Length of the window in which losses are counted.
    pub horizon: Horizon,
    /// Number of samples; a sample is one vault at one instant.
    pub samples: u64,
    /// Number of samples with a loss in their window.
    pub losses: u64,
    /// Requirements for publication that the backtest does not meet; empty if it is published.
    pub unmet: Vec<Unmet>,
}

named_enum! {
    /// The value that a backtest tests.
    #[cfg_attr(feature = "schema", schemars(rename = "ResearchSignal"))]
    pub enum Signal {
        /// The score that was published at the sample's instant.
        PublishedScore = "published_score",
        /// The history vector, recomputed from facts that are dated at or before the sample's instant.
        HistoryVector = "history_vector",
    }
}

named_enum! {
    /// Which samples count as one group because their losses are not independent.
    pub enum Grouping {
        /// Samples of the same vault.
        Vault = "vault",
        /// Samples of the same protocol, because one incident affects its vaults together.
        Protocol = "protocol",
    }
}

impl Grouping {
    /// The grouping that applies to a kind of loss.
    pub const fn of(outcome: OutcomeKind) -> Self {
        match outcome {
            OutcomeKind::PriceLoss => Grouping::Vault,
            OutcomeKind::Incident => Grouping::Protocol,
        }
    }
}

named_enum! {
    /// How firmly a claim is made.
    #[cfg_attr(feature = "schema", schemars(rename = "ClaimLevel"))]
    pub enum Level {
        /// A firm claim, listed by default.
        Public = "public",
        /// A preliminary claim, listed only on request.
        Beta = "beta",
    }
}

/// A claim that the service makes about its own data. Served with `id`, `provided_by` and `published_at`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Claim {
    /// How firmly the claim is made.
    pub level: Level,
    /// Name of the group of routes that makes the claim, for example `vaults`.
    pub surface: Cow<'static, str>,
    /// The claim itself.
    pub statement: Cow<'static, str>,
    /// Version of the methodology that the claim is about.
    pub model_version: Cow<'static, str>,
    /// Number of rows that the claim was checked against.
    pub checked: u64,
    /// Number of rows that contradict the claim; only a claim without any is published.
    pub violations: u64,
    /// How the claim was checked.
    pub method: Cow<'static, str>,
    /// What the check does not cover.
    pub weaknesses: Vec<String>,
}

/// A source of facts. Served with `id`, `provided_by` and `published_at`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ResearchSource"))]
pub struct Source {
    /// Name of the source, as score inputs cite it.
    pub source: String,
    /// The source's facts, by kind.
    pub kinds: Vec<SourceKind>,
}

/// A source's facts of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceKind {
    /// Kind of the facts.
    pub kind: String,
    /// Number of rows whose newest observation comes from this source.
    pub rows: u64,
    /// Instant of the oldest observation that `rows` counts.
    pub first_observed_at: Timestamp,
    /// Instant of the newest observation that `rows` counts.
    pub last_observed_at: Timestamp,
}

/// A test of whether low values preceded losses. Served with `id`, `provided_by` and `published_at`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Backtest {
    /// Version of the methodology that was tested.
    pub model_version: Cow<'static, str>,
    /// The tested value.
    pub signal: Signal,
    /// What counts as a loss.
    pub outcome: OutcomeKind,
    /// Length of the window in which losses are counted.
    pub horizon: Horizon,
    /// Stage of the model, always `preview`.
    pub stage: &'static str,
    /// Conclusion from the interval of `auc`; null without an interval.
    pub verdict: Option<Verdict>,
    /// Instant of the first sample; null without samples.
    pub from: Option<Timestamp>,
    /// Instant of the last sample; null without samples.
    pub to: Option<Timestamp>,
    /// Number of samples; a sample is one vault at one instant.
    pub samples: u64,
    /// Number of samples with a loss in their window.
    pub losses: u64,
    /// Number of windows whose prices were not read well enough to tell whether there was a loss; they are not samples.
    pub unobserved: u64,
    /// Number of unobserved windows in which the prices of the last quarter only repeat an earlier price.
    pub repeated: u64,
    /// Number of vaults that are excluded entirely because their share price moved implausibly.
    pub broken_series: u64,
    /// Number of vaults among the samples.
    pub vaults: u64,
    /// Number of protocols that the vaults among the samples belong to.
    pub protocols: u64,
    /// Number of vaults with at least one loss.
    pub loss_vaults: u64,
    /// Which samples count as one group because their losses are not independent.
    pub grouped_by: Grouping,
    /// Number of groups with at least one loss.
    pub loss_groups: u64,
    /// Share of the samples that have a loss, as a fraction; null without samples.
    pub base_rate: Option<Ppm>,
    /// Area under the ROC curve: the probability that a sample with a loss has a lower value than one without, ties counting half; 0.5 is
    /// chance; null unless there are samples of both kinds.
    pub auc: Option<Ppm>,
    /// Lower end of the approximate 95 percent confidence interval of `auc`; null without an interval.
    pub auc_low: Option<Ppm>,
    /// Upper end of the approximate 95 percent confidence interval of `auc`; null without an interval.
    pub auc_high: Option<Ppm>,
    /// Samples and losses by tier range, best tier first.
    pub bands: Vec<Band>,
    /// How the result was obtained.
    pub method: String,
    /// Known limitations of the result.
    pub weaknesses: Vec<String>,
    /// SHA-256 of the samples, in hex. Each sample is one line: instant in Unix seconds, vault id, value in thousandths of a point, and 1 for
    /// a loss or 0, separated by spaces. Lines are sorted by instant and then by vault id.
    pub samples_hash: String,
}

impl Backtest {
    /// A backtest with the figures of `found`; the caller adds the fields that describe its samples and method.
    pub fn of(signal: Signal, outcome: OutcomeKind, horizon: Horizon, found: &Discrimination) -> Self {
        Backtest {
            model_version: Cow::Borrowed(METHODOLOGY_VERSION),
            signal,
            outcome,
            horizon,
            stage: PREVIEW_STAGE,
            verdict: found.verdict(),
            from: None,
            to: None,
            samples: found.samples,
            losses: found.losses,
            unobserved: 0,
            repeated: 0,
            broken_series: 0,
            vaults: found.vaults,
            protocols: 0,
            loss_vaults: found.loss_vaults,
            grouped_by: Grouping::of(outcome),
            loss_groups: found.loss_groups,
            base_rate: found.base_rate(),
            auc: found.auc,
            auc_low: found.interval.map(|(low, _)| low),
            auc_high: found.interval.map(|(_, high)| high),
            bands: found.bands.clone(),
            method: String::new(),
            weaknesses: Vec::new(),
            samples_hash: String::new(),
        }
    }
}

/// A figure about the model's inputs and its stability. Served with `id`, `provided_by` and `published_at`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelHealth {
    /// Version of the methodology.
    pub model_version: Cow<'static, str>,
    /// Stage of the model, always `preview`.
    pub stage: &'static str,
    /// The figure.
    #[serde(flatten)]
    pub figure: Figure,
    /// How the figure is counted.
    pub method: Cow<'static, str>,
}

/// A score, recorded as a prediction before its window begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prediction {
    /// Id of the prediction: vault id, horizon and `made_at` in Unix seconds, separated by slashes.
    pub id: String,
    /// Id of the vault, `<protocol_id>-<chain_id>-<address>`.
    pub vault_id: String,
    /// Version of the methodology behind the score.
    pub model_version: String,
    /// Stage of the model, always `preview`.
    pub stage: &'static str,
    /// Length of the window.
    pub horizon: Horizon,
    /// Instant of the prediction, at which its window begins.
    pub made_at: Timestamp,
    /// Instant at which the window ends.
    pub due_at: Timestamp,
    /// Score at `made_at`, 0 to 10: the published score, or that of the external source. It ranks vaults and is not a probability.
    pub score: MilliPoints,
    /// Published tier at `made_at`; for an external prediction the tier of `score`.
    pub tier: Tier,
    /// What happened within the window.
    pub outcome: PredictionOutcome,
    /// Largest fall of the price per share from its running peak within the window, as a fraction; null while pending, and if no price was
    /// read.
    pub drawdown: Option<Ppm>,
    /// Instant at which the outcome was established; null while pending.
    pub resolved_at: Option<Timestamp>,
    /// External source of the prediction; null for the service's own. An external prediction reached the service within an hour of `made_at`.
    pub provided_by: Option<String>,
}

/// `meta` of a research list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResearchMeta {
    /// Maximum number of rows in the answer, after clamping.
    pub limit: u64,
    /// Number of rows that match the filters.
    pub total: u64,
    /// Whether the rows are a preview.
    pub preview: bool,
    /// What a reader must know about the list, for example why it is empty; null if there is nothing.
    pub notice: Option<&'static str>,
}

impl ResearchMeta {
    /// The meta of a list with `total` matching rows; `filtered` is whether the caller restricted it.
    ///
    /// An empty list carries a notice, because a caller cannot tell rows that are hidden or withheld from rows that do not exist.
    pub fn new(limit: u64, total: u64, preview: bool, filtered: bool) -> Self {
        const NONE: &str = "No row is published yet, or none met the requirements for publication. This is no evidence for or against the scores.";
        const NO_MATCH: &str = "No published row matches the filters.";
        let notice = match (total, filtered, preview) {
            (0, true, _) => Some(NO_MATCH),
            (0, false, _) => Some(NONE),
            (_, _, true) => Some(PREVIEW),
            (_, _, false) => None,
        };
        ResearchMeta { limit, total, preview, notice }
    }
}
