//! The questionnaire as data: how the value of an asset's dimension is computed from answers.

use super::{ByName, percent, steps};
use crate::scoring::asset::{AssetCategory, AttestationCadence};
use crate::scoring::number::{Decimal, MilliPoints};
use crate::scoring::rubric::{AnswerOption, Hundredths, ProtocolQuestion, Question, Questionnaire, SourceKind};
use crate::scoring::tables::{self, rubric};
use alloc::vec::Vec;
use serde::Serialize;

/// The questionnaire and the rules that combine its answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RubricRules {
    /// Version of questions, answers and points.
    pub rubric_version: &'static str,
    /// The computation, one step per entry, in order.
    pub steps: &'static [&'static str],
    /// How reviewers answer, one rule per entry.
    pub answering: &'static [&'static str],
    /// Points of a question without evidence.
    pub unknown: MilliPoints,
    /// Maximum points of an aged answer.
    pub aged: MilliPoints,
    /// Maximum weight, as a fraction, of the questions without evidence. Above it the dimension has no value, unless the computed value is
    /// below `unknown`.
    pub max_unknown_weight: Decimal,
    /// An answer older than this many cadences of its question has aged.
    pub expires_after_cadences: i64,
    /// Maximum score of an asset in `supply_categories` while a question with `limits_supply` has no evidence.
    pub unknown_supply_ceiling: MilliPoints,
    /// The categories whose supply a key or a message can raise.
    pub supply_categories: Vec<AssetCategory>,
    /// The questions, by dimension.
    pub dimensions: ByName<DimensionQuestions>,
    /// How the answers about a protocol give a vault's inputs their values, one step per entry.
    pub protocol_steps: &'static [&'static str],
    /// The questions about a protocol or a vault, by input.
    pub protocol_inputs: ByName<InputQuestion>,
}

/// One question about a protocol or a vault. Its answer is a value instead of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InputQuestion {
    /// The question.
    pub text: &'static str,
    /// The form of the value in an answer.
    pub value: &'static str,
    /// The kinds of source that may be cited.
    pub evidence: &'static [SourceKind],
    /// How often the answer should be renewed; null for a fact that does not age.
    pub cadence: Option<AttestationCadence>,
    /// The cadence in seconds; null for a fact that does not age.
    pub cadence_seconds: Option<i64>,
    /// Where and how the answer is read.
    pub how_to_read: &'static str,
}

/// The questions of one dimension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DimensionQuestions {
    /// What the dimension is about.
    pub asks: &'static str,
    /// The questions in order.
    pub questions: Vec<QuestionRule>,
}

/// One question with its permitted answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuestionRule {
    /// Id of the question, unique in its dimension.
    pub id: &'static str,
    /// Weight of the question in the dimension's value, as a fraction; the weights of a dimension sum to 1.
    pub weight: Decimal,
    /// The question as text.
    pub text: &'static str,
    /// The kinds of source that may be cited.
    pub evidence: &'static [SourceKind],
    /// How often the answer should be renewed.
    pub cadence: AttestationCadence,
    /// The cadence in seconds.
    pub cadence_seconds: i64,
    /// Where and how a reviewer finds the answer.
    pub how_to_read: &'static str,
    /// Whether the answer also limits the score of every asset in `supply_categories`.
    pub limits_supply: bool,
    /// The permitted answers, best first. Of two with equal points the later is the weaker.
    pub answers: Vec<AnswerRule>,
}

/// A permitted answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnswerRule {
    /// Id of the answer, unique in its question.
    pub id: &'static str,
    /// Points of the answer.
    pub points: MilliPoints,
    /// What the answer states.
    pub text: &'static str,
    /// Maximum value of the dimension with this answer; null for no ceiling.
    pub ceiling: Option<MilliPoints>,
    /// Maximum score of an asset in `supply_categories` with this answer; null for no limit.
    pub score_ceiling: Option<MilliPoints>,
    /// Whether the note must name the place that was searched.
    pub needs_search: bool,
}

impl RubricRules {
    /// The questionnaire in force.
    pub fn current() -> Self {
        let supplied = AssetCategory::ALL.iter().copied();
        RubricRules {
            rubric_version: rubric::RUBRIC_VERSION,
            steps: steps::RUBRIC,
            answering: steps::ANSWERING,
            unknown: rubric::UNKNOWN_POINTS.into(),
            aged: rubric::AGED_POINTS.into(),
            max_unknown_weight: percent(rubric::MAX_UNKNOWN_WEIGHT),
            expires_after_cadences: rubric::EXPIRES_AFTER_CADENCES,
            unknown_supply_ceiling: rubric::UNKNOWN_SUPPLY_CEILING.into(),
            supply_categories: supplied.filter(|category| rubric::supply_can_be_raised(*category)).collect(),
            dimensions: ByName(
                rubric::QUESTIONNAIRES.iter().map(|it| (it.dimension.as_str(), dimension(it))).collect(),
            ),
            protocol_steps: steps::PROTOCOL_ANSWERS,
            protocol_inputs: ByName(
                rubric::PROTOCOL_QUESTIONS.iter().map(|it| (it.input.as_str(), input_question(it))).collect(),
            ),
        }
    }
}

fn dimension(asked: &Questionnaire) -> DimensionQuestions {
    DimensionQuestions { asks: asked.asks, questions: asked.questions.iter().map(question).collect() }
}

fn input_question(asked: &ProtocolQuestion) -> InputQuestion {
    InputQuestion {
        text: asked.text,
        value: asked.value,
        evidence: asked.evidence,
        cadence: asked.cadence,
        cadence_seconds: asked.cadence.map(tables::attestation_cadence_seconds),
        how_to_read: asked.how_to_read,
    }
}

fn question(asked: &Question) -> QuestionRule {
    QuestionRule {
        id: asked.id,
        weight: percent(asked.weight),
        text: asked.text,
        evidence: asked.evidence,
        cadence: asked.cadence,
        cadence_seconds: asked.cadence_seconds(),
        how_to_read: asked.how_to_read,
        limits_supply: asked.limits_supply,
        answers: asked.answers.iter().map(answer).collect(),
    }
}

fn answer(permitted: &AnswerOption) -> AnswerRule {
    let points = |hundredths: Hundredths| MilliPoints::from(hundredths);
    AnswerRule {
        id: permitted.id,
        points: points(permitted.points),
        text: permitted.text,
        ceiling: permitted.ceiling.map(points),
        score_ceiling: permitted.score_ceiling.map(points),
        needs_search: permitted.needs_search,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_questionnaire_is_published_whole_and_in_documented_units() {
        let document = serde_json::to_value(RubricRules::current()).unwrap();
        for (path, value) in [
            ("/unknown", 2.5),
            ("/max_unknown_weight", 0.4),
            ("/unknown_supply_ceiling", 7.9),
            ("/dimensions/peg_stability/questions/0/weight", 0.35),
            ("/dimensions/peg_stability/questions/2/answers/4/points", 3.5),
            ("/dimensions/bridge_mechanism/questions/1/answers/8/score_ceiling", 4.0),
            ("/dimensions/redeemability/questions/0/answers/5/ceiling", 0.0),
        ] {
            assert_eq!(document.pointer(path).and_then(serde_json::Value::as_f64), Some(value), "{path}");
        }
        let dimensions = document["dimensions"].as_object().unwrap();
        assert_eq!(dimensions.len(), 16);
        let questions = dimensions.values().map(|it| it["questions"].as_array().unwrap().len());
        assert_eq!(questions.sum::<usize>(), 61);
        assert!(document["dimensions"]["issuer_custody"]["questions"][0]["answers"][0]["ceiling"].is_null());
        assert_eq!(document["supply_categories"].as_array().unwrap().len(), 14);
        assert!(document["steps"].as_array().unwrap().len() >= 5);
    }
}
