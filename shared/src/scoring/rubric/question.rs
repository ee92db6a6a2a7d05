//! Types of the questionnaire: the questions of a dimension, and the closed set of answers to each question.

use crate::scoring::asset::{AttestationCadence, Dimension};
use crate::scoring::number::Decimal;
use crate::scoring::{MilliPoints, named_enum, tables};
use core::fmt;

/// Points with two decimals, in hundredths: 0 to 1000. 7.50 points = 750.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hundredths(u16);

impl Hundredths {
    /// 0.00 points.
    pub const ZERO: Self = Hundredths(0);
    /// 10.00 points.
    pub const MAX: Self = Hundredths(1000);

    /// The nearest valid value.
    pub const fn saturating(hundredths: u128) -> Self {
        if hundredths > Self::MAX.0 as u128 { Self::MAX } else { Hundredths(hundredths as u16) }
    }

    /// Hundredths of a point, 0..=1000.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl From<Hundredths> for MilliPoints {
    fn from(value: Hundredths) -> Self {
        MilliPoints::saturating(10 * i64::from(value.0))
    }
}

impl fmt::Display for Hundredths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Decimal { units: self.0.into(), scale: 2 }.fmt(f)
    }
}

named_enum! {
    /// The kind of source from which an answer was taken.
    #[cfg_attr(feature = "schema", schemars(rename = "AnswerSourceKind"))]
    pub enum SourceKind {
        /// A published text: terms, a report, documentation, a public register.
        Document = "document",
        /// A file or text in a public repository, at a revision.
        Repository = "repository",
        /// A dated list of many subjects, such as an incident list or a price series.
        Dataset = "dataset",
        /// Data read from a chain at a block.
        Chain = "chain",
    }
}

/// The questions of one dimension. Their weights sum to 100.
#[derive(Debug, PartialEq, Eq)]
pub struct Questionnaire {
    /// The dimension whose value the answers determine.
    pub dimension: Dimension,
    /// What the dimension is about.
    pub asks: &'static str,
    /// The questions, in the order in which they are asked and published.
    pub questions: &'static [Question],
}

impl Questionnaire {
    /// The question with this id.
    pub fn question(&self, id: &str) -> Option<&'static Question> {
        self.questions.iter().find(|question| question.id == id)
    }
}

/// One question about an asset.
#[derive(Debug, PartialEq, Eq)]
pub struct Question {
    /// Id of the question, unique in its dimension: lower-case letters, digits and underscores.
    pub id: &'static str,
    /// Weight of the question in the dimension's value, in percent.
    pub weight: u8,
    /// The question as text.
    pub text: &'static str,
    /// The kinds of source that may be cited, in the order of [`SourceKind::ALL`].
    pub evidence: &'static [SourceKind],
    /// How often the answer should be renewed.
    pub cadence: AttestationCadence,
    /// Where and how a reviewer reads the answer.
    pub how_to_read: &'static str,
    /// Whether the answer also limits the score of every asset whose supply a key or a message can raise
    /// ([`tables::rubric::supply_can_be_raised`]), even if the asset's category has no weight for the dimension.
    pub limits_supply: bool,
    /// Every permitted answer, in descending order of points. Of two answers with equal points, the later one is the weaker.
    pub answers: &'static [AnswerOption],
}

impl Question {
    /// The permitted answer with this id.
    pub fn answer(&self, id: &str) -> Option<&'static AnswerOption> {
        self.answers.iter().find(|answer| answer.id == id)
    }

    /// Interval at which the answer should be renewed, in seconds.
    pub const fn cadence_seconds(&self) -> i64 {
        tables::attestation_cadence_seconds(self.cadence)
    }

    /// Greatest age, in seconds, inclusive, at which an answer still counts as evidence.
    pub const fn counts_for_seconds(&self) -> i64 {
        self.cadence_seconds().saturating_mul(tables::rubric::EXPIRES_AFTER_CADENCES)
    }
}

/// A permitted answer to a question.
#[derive(Debug, PartialEq, Eq)]
pub struct AnswerOption {
    /// Id of the answer, unique in its question: lower-case letters, digits and underscores.
    pub id: &'static str,
    /// The answer's points, 0.00 to 10.00.
    pub points: Hundredths,
    /// What the answer states.
    pub text: &'static str,
    /// Upper bound of the dimension's value, whatever the other answers are.
    pub ceiling: Option<Hundredths>,
    /// Upper bound of the asset's score. Set only for questions with [`Question::limits_supply`].
    pub score_ceiling: Option<Hundredths>,
    /// The answer states that a search found nothing; its note must name the place that was searched.
    pub needs_search: bool,
}

impl AnswerOption {
    /// An answer worth `points` hundredths, without a ceiling.
    pub(crate) const fn new(id: &'static str, points: u16, text: &'static str) -> Self {
        let points = Hundredths::saturating(points as u128);
        AnswerOption { id, points, text, ceiling: None, score_ceiling: None, needs_search: false }
    }

    /// The same answer, with an upper bound of the dimension's value, in hundredths.
    pub(crate) const fn at_most(self, hundredths: u16) -> Self {
        AnswerOption { ceiling: Some(Hundredths::saturating(hundredths as u128)), ..self }
    }

    /// The same answer, with an upper bound of the asset's score, in hundredths.
    pub(crate) const fn score_at_most(self, hundredths: u16) -> Self {
        AnswerOption { score_ceiling: Some(Hundredths::saturating(hundredths as u128)), ..self }
    }

    /// The same answer; its note must name the place that was searched.
    pub(crate) const fn searched(self) -> Self {
        AnswerOption { needs_search: true, ..self }
    }
}
