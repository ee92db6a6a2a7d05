//! Research records. The interface names the lists; their rows are ours, but for three fields of validation reports.
//!
//! A record carries its method and its weaknesses with it, and figures come with what they were counted from.

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

/// The stage of everything that is a preview.
pub const PREVIEW_STAGE: &str = "preview";

/// What is said of everything that is a preview.
pub const PREVIEW: &str = "A preview: promotion-gated, subject to change, not investment guidance.";

named_enum! {
    /// The lists whose rows are kept as documents.
    pub enum RecordKind {
        ValidationReport = "validation_report",
        Claim = "claim",
        Source = "source",
        Backtest = "backtest",
        ModelHealth = "model_health",
    }
}

impl RecordKind {
    /// Whether its rows are a preview.
    pub const fn is_preview(self) -> bool {
        matches!(self, RecordKind::Backtest | RecordKind::ModelHealth)
    }
}

named_enum! {
    /// What a report is about.
    pub enum ReportType {
        /// How much of what there is has a score, and of which inputs.
        Coverage = "coverage",
        /// Whether low values preceded losses: every backtest that was tried.
        Discrimination = "discrimination",
    }
}

/// A number with what it was counted from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figure {
    /// What is counted.
    pub name: String,
    /// Of these …
    pub count: u64,
    /// … so many; null where it is a plain number.
    pub of: Option<u64>,
    /// The share; null without a whole.
    pub share: Option<Ppm>,
}

impl Figure {
    /// A part of a whole.
    pub fn part(name: impl Into<String>, count: u64, of: u64) -> Self {
        Figure { name: name.into(), count, of: Some(of), share: crate::research::discrimination::share(count, of) }
    }

    /// A plain number.
    pub fn number(name: impl Into<String>, count: u64) -> Self {
        Figure { name: name.into(), count, of: None, share: None }
    }
}

/// A record as it is served: under its id, with when it was published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub struct Recorded<T> {
    /// Id of the record.
    pub id: String,
    /// What it says.
    #[serde(flatten)]
    pub record: T,
    /// Who found it, where that was somebody else; null for the service's own findings.
    pub provided_by: Option<String>,
    /// When it was published.
    pub published_at: Timestamp,
}

/// What a test of the model found. Served with `id` and `published_at`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ValidationReport {
    /// The rules that were tested.
    pub model_version: Cow<'static, str>,
    /// What it is about.
    pub report_type: ReportType,
    /// In one sentence.
    pub summary: String,
    /// How it was found.
    pub method: Cow<'static, str>,
    /// What stands in its way.
    pub weaknesses: Vec<String>,
    /// What was counted.
    pub figures: Vec<Figure>,
    /// The backtests that were tried, with what each lacks; empty in reports about something else.
    pub backtests: Vec<TriedBacktest>,
}

/// A backtest as the report lists it, whatever it found and whether it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TriedBacktest {
    /// What was tested.
    pub signal: Signal,
    /// What counted as a loss.
    pub outcome: OutcomeKind,
    /// How far ahead.
    pub horizon: Horizon,
    /// Number of samples of the backtest.
    pub samples: u64,
    /// Samples that lost.
    pub losses: u64,
    /// What it lacks to be shown.
    pub unmet: Vec<Unmet>,
}

named_enum! {
    /// What a backtest tests.
    #[cfg_attr(feature = "schema", schemars(rename = "ResearchSignal"))]
    pub enum Signal {
        /// The score that was published at the instant.
        PublishedScore = "published_score",
        /// The history vector, made again from facts that bear a date and were past at the instant.
        HistoryVector = "history_vector",
    }
}

named_enum! {
    /// Which samples are not independent of each other.
    pub enum Grouping {
        /// Those of one vault.
        Vault = "vault",
        /// Those of one protocol: an incident of it befalls its vaults together.
        Protocol = "protocol",
    }
}

impl Grouping {
    /// The grouping for what counts as a loss.
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
        Public = "public",
        Beta = "beta",
    }
}

/// Something that the service says of itself. Served with `id` and `published_at`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Claim {
    /// How firmly.
    pub level: Level,
    /// The family of routes that makes it.
    pub surface: Cow<'static, str>,
    /// What is said.
    pub statement: Cow<'static, str>,
    /// The rules it is about.
    pub model_version: Cow<'static, str>,
    /// Rows that it was checked against.
    pub checked: u64,
    /// Rows that contradict it.
    pub violations: u64,
    /// How it was checked.
    pub method: Cow<'static, str>,
    /// What the check does not cover.
    pub weaknesses: Vec<String>,
}

/// Where facts come from. Served with `id` and `published_at`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ResearchSource"))]
pub struct Source {
    /// As inputs name it.
    pub source: String,
    /// What it tells, by kind.
    pub kinds: Vec<SourceKind>,
}

/// The facts of one kind that a source tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceKind {
    /// The kind of observation.
    pub kind: String,
    /// How many rows stand as it told them.
    pub rows: u64,
    /// The eldest of them.
    pub first_observed_at: Timestamp,
    /// Instant of the newest observation.
    pub last_observed_at: Timestamp,
}

/// Whether low values preceded losses. Served with `id` and `published_at`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Backtest {
    /// The rules that were tested.
    pub model_version: Cow<'static, str>,
    /// What was tested.
    pub signal: Signal,
    /// What counted as a loss.
    pub outcome: OutcomeKind,
    /// How far ahead.
    pub horizon: Horizon,
    /// Stage of the model, always `preview`.
    pub stage: &'static str,
    /// What it shows; null without losses or without anything else.
    pub verdict: Option<Verdict>,
    /// The first instant that a sample was taken at; null without samples.
    pub from: Option<Timestamp>,
    /// The last one.
    pub to: Option<Timestamp>,
    /// Samples: one vault at one instant.
    pub samples: u64,
    /// Samples that lost.
    pub losses: u64,
    /// Looks into windows that nobody watched well enough; they are no samples.
    pub unobserved: u64,
    /// Of them, those whose prices reach the last quarter and only repeat there what was read before.
    pub repeated: u64,
    /// Vaults whose prices take steps that no share price takes; they are left out whole.
    pub broken_series: u64,
    /// Vaults.
    pub vaults: u64,
    /// Protocols of them.
    pub protocols: u64,
    /// Vaults that lost at least once.
    pub loss_vaults: u64,
    /// What is taken for independent of each other.
    pub grouped_by: Grouping,
    /// Groups that lost at least once.
    pub loss_groups: u64,
    /// The share of samples that lost.
    pub base_rate: Option<Ppm>,
    /// How often a sample that lost had the lower value, ties counting half; 0.5 is chance.
    pub auc: Option<Ppm>,
    /// The interval's lower end; 95 percent by approximation.
    pub auc_low: Option<Ppm>,
    /// Its upper end.
    pub auc_high: Option<Ppm>,
    /// By the tiers' ranges.
    pub bands: Vec<Band>,
    /// How it was found.
    pub method: String,
    /// What stands in its way.
    pub weaknesses: Vec<String>,
    /// SHA-256 of the samples, a line each: instant in seconds, vault, thousandths of a point, 1 or 0; in that order.
    pub samples_hash: String,
}

impl Backtest {
    /// The backtest of what was `found`; the caller adds where it comes from.
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

/// One reading of how the model does. Served with `id` and `published_at`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelHealth {
    /// The rules.
    pub model_version: Cow<'static, str>,
    /// Stage of the model, always `preview`.
    pub stage: &'static str,
    /// What is measured.
    #[serde(flatten)]
    pub figure: Figure,
    /// How.
    pub method: Cow<'static, str>,
}

/// A score, written down before its window began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prediction {
    /// The vault's id, the horizon and the instant.
    pub id: String,
    /// Id of the vault, `<protocol_id>-<chain_id>-<address>`.
    pub vault_id: String,
    /// The rules behind the score.
    pub model_version: String,
    /// Stage of the model, always `preview`.
    pub stage: &'static str,
    /// How far ahead.
    pub horizon: Horizon,
    /// When it was written down.
    pub made_at: Timestamp,
    /// When its window ends.
    pub due_at: Timestamp,
    /// The published score then. It orders vaults; it is no probability.
    pub score: MilliPoints,
    /// Tier that was published when the prediction was made.
    pub tier: Tier,
    /// What became of it.
    pub outcome: PredictionOutcome,
    /// Greatest fall of the price within the window, as a fraction; null before it ended, and where no price was read.
    pub drawdown: Option<Ppm>,
    /// When that was established.
    pub resolved_at: Option<Timestamp>,
    /// Who foretold it, where that was somebody else: it reached the service within an hour of `made_at`. Null for the service's own.
    pub provided_by: Option<String>,
}

/// `meta` of a research list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResearchMeta {
    /// Most rows of the answer, after clamping.
    pub limit: u64,
    /// Rows that match.
    pub total: u64,
    /// Whether the rows are a preview.
    pub preview: bool,
    /// What is to be known of them; null where there is nothing.
    pub notice: Option<&'static str>,
}

impl ResearchMeta {
    /// The meta of a list of which `total` rows match what was asked, and that is `filtered` or not.
    ///
    /// An empty list says why it may be one: what is hidden, withheld, not filled yet or asked for in vain looks the same from outside.
    pub fn new(limit: u64, total: u64, preview: bool, filtered: bool) -> Self {
        const NONE: &str = "Nothing is shown: no row has passed its gate, for too little is known, or none was made yet. That says nothing for or against the scores.";
        const NO_MATCH: &str = "No row that is shown matches what was asked for.";
        let notice = match (total, filtered, preview) {
            (0, true, _) => Some(NO_MATCH),
            (0, false, _) => Some(NONE),
            (_, _, true) => Some(PREVIEW),
            (_, _, false) => None,
        };
        ResearchMeta { limit, total, preview, notice }
    }
}
