//! The result of one dimension's answers, with the state of each question.

use super::refresh::Age;
use super::{AnswerOption, Hundredths, Ignored, Question, Refresh};
use crate::scoring::MilliPoints;
use crate::scoring::asset::Dimension;
use crate::scoring::named_enum;
use crate::wire::time::Timestamp;
use alloc::vec::Vec;

/// The result for one dimension at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DimensionOutcome<'a> {
    /// The dimension that the answers are about.
    pub dimension: Dimension,
    /// The value, or why there is none. Without a value the dimension has no evidence and counts 2.50 in the asset's sum.
    pub value: Result<Hundredths, NoValue>,
    /// The computed value, even if `value` withholds it; between `lowest` and `highest`.
    pub computed: Hundredths,
    /// Weight of the questions with an answer that counts as evidence, in percent.
    pub weight_known: u8,
    /// Weight of the questions without evidence, in percent: 100 minus `weight_known`.
    pub weight_unknown: u8,
    /// The ceiling that lowered `computed`; `None` if no ceiling did.
    pub ceiling: Option<AppliedCeiling>,
    /// The lowest value that `computed` can take over all possible answers to the questions without evidence.
    pub lowest: Hundredths,
    /// The highest value that `computed` can take over all possible answers to the questions without evidence.
    pub highest: Hundredths,
    /// One part per question, in the order of the questionnaire.
    pub parts: Vec<Part>,
    /// How old the evidence is; `None` without any answer.
    pub refresh: Option<Refresh>,
    /// The answers that did not count, sorted.
    pub ignored: Vec<Ignored<'a>>,
}

impl DimensionOutcome<'_> {
    /// The value for the asset's score; `None` where there is no evidence.
    pub fn milli_points(&self) -> Option<MilliPoints> {
        self.value.ok().map(MilliPoints::from)
    }

    /// The last instant at which every answer that counts now still counts as evidence; until then only a new answer or a withdrawal can
    /// change the value. `None` if no answer counts as evidence.
    pub fn unchanged_until(&self) -> Option<Timestamp> {
        self.parts.iter().filter_map(Part::counts_until).min()
    }
}

named_enum! {
    /// Why a dimension has no value.
    pub enum NoValue {
        /// No question has an answer that counts as evidence.
        NothingKnown = "nothing_known",
        /// The questions without evidence have more than 40 percent of the weight.
        TooLittleKnown = "too_little_known",
    }
}

/// A ceiling that lowered a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppliedCeiling {
    /// Id of the question whose answer sets the ceiling; the first of several with the same ceiling.
    pub question: &'static str,
    /// Id of the answer.
    pub answer: &'static str,
    /// Upper bound of the dimension's value.
    pub at: Hundredths,
}

named_enum! {
    /// Whether a question has an answer that counts as evidence, and if not, why.
    pub enum PartState {
        /// The newest day has one answer, and it is not too old.
        Answered = "answered",
        /// The newest day has answers that differ; the weakest counts.
        Contradicted = "contradicted",
        /// The newest answer is older than four cadences of the question.
        Aged = "aged",
        /// The newest answer was withdrawn, and no other answer counts as evidence.
        Withdrawn = "withdrawn",
        /// There is no answer.
        Unknown = "unknown",
    }
}

impl PartState {
    /// Whether the question has an answer that counts in full.
    pub const fn is_known(self) -> bool {
        matches!(self, PartState::Answered | PartState::Contradicted)
    }

    /// Whether the question has an answer that counts in full, or one that has aged.
    pub const fn has_evidence(self) -> bool {
        matches!(self, PartState::Answered | PartState::Contradicted | PartState::Aged)
    }
}

/// The contribution of one question to the dimension's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The question, with its weight.
    pub question: &'static Question,
    /// Whether an answer counts as evidence, and if not, why.
    pub state: PartState,
    /// The answer that counts; if none counts as evidence, the weakest of the aged and withdrawn answers. `None` if there is no answer.
    pub answer: Option<&'static AnswerOption>,
    /// The points that were counted.
    pub points: Hundredths,
    /// The ceiling that the answer sets, whether or not it lowers the value.
    pub ceiling: Option<Hundredths>,
    /// The date from which the evidence ages: the latest answer of the newest day; if no answer counts as evidence, the earliest aged or
    /// withdrawn answer. `None` without any answer.
    pub observed_at: Option<Timestamp>,
    /// The stronger answers that were compared with `answer` and do not count, strongest first.
    pub also_given: Vec<&'static AnswerOption>,
}

impl Part {
    /// The last instant at which the answer counts as evidence; `None` if it does not count now.
    pub fn counts_until(&self) -> Option<Timestamp> {
        let observed_at = self.observed_at.filter(|_| self.state.is_known())?;
        Some(observed_at.plus_seconds(self.question.counts_for_seconds()))
    }

    /// The part's ceiling, with the question and the answer that set it.
    pub(super) fn applied_ceiling(&self) -> Option<AppliedCeiling> {
        let answer = self.answer?;
        Some(AppliedCeiling { question: self.question.id, answer: answer.id, at: self.ceiling? })
    }

    /// The part's weight and date for computing a refresh date; `None` without any answer. `factor` is the dimension's weight in the asset.
    pub(super) fn age(&self, factor: u8) -> Option<Age> {
        let cadence_seconds = self.question.cadence_seconds();
        let weight = u32::from(self.question.weight) * u32::from(factor);
        self.observed_at.map(|observed_at| Age { weight, refresh: Refresh { observed_at, cadence_seconds } })
    }

    /// Points if an open question gets its worst answer or stays open.
    pub(super) fn lowest_points(&self) -> Hundredths {
        self.possible().map(|answer| answer.points).fold(self.points, Ord::min)
    }

    /// Points if an open question gets its best answer.
    pub(super) fn highest_points(&self) -> Hundredths {
        self.possible().map(|answer| answer.points).fold(self.points, Ord::max)
    }

    /// The lowest ceiling of the part's answer and, if the question is open, of its permitted answers.
    pub(super) fn lowest_ceiling(&self) -> Option<Hundredths> {
        self.possible().filter_map(|answer| answer.ceiling).chain(self.ceiling).min()
    }

    /// The ceiling of an answer that counts as evidence. An open question has none, because an answer could lift its ceiling.
    pub(super) fn highest_ceiling(&self) -> Option<Hundredths> {
        self.ceiling.filter(|_| self.state.is_known())
    }

    /// The answers that an open question can still get; empty if an answer counts as evidence.
    pub(super) fn possible(&self) -> impl Iterator<Item = &'static AnswerOption> + use<> {
        let open = if self.state.is_known() { &[] } else { self.question.answers };
        open.iter()
    }
}
