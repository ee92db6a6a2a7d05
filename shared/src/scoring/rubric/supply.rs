//! The upper bound of an asset's score that follows from who can raise the asset's supply.

use super::answer::{settle, sort_out};
use super::{Answer, AnswerOption, Hundredths, Part, PartState};
use crate::scoring::asset::{AssetCategory, Dimension};
use crate::scoring::tables::rubric as tables;
use crate::wire::time::Timestamp;
use alloc::vec::Vec;

/// Upper bound of an asset's score that depends on who can raise the asset's supply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupplyLimit {
    /// Upper bound of the asset's score; 10.00 for no limit.
    pub ceiling: Hundredths,
    /// The lowest limit that can result from answers to the open questions.
    pub lowest: Hundredths,
    /// The highest limit that can result from answers to the open questions.
    pub highest: Hundredths,
    /// One part per question, in the order of the questionnaire.
    pub parts: Vec<LimitPart>,
}

/// What one question contributes to the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitPart {
    /// Id of the question.
    pub question: &'static str,
    /// Whether the question has an answer that counts, or why not.
    pub state: PartState,
    /// Id of the answer that counts, as in [`Part::answer`].
    pub answer: Option<&'static str>,
    /// Upper bound of the asset's score; 10.00 for no limit.
    pub ceiling: Hundredths,
}

/// The limit that the answers about `bridge_mechanism` set on an asset of the category at `now`.
///
/// `None` for a category whose supply nobody can raise ([`tables::supply_can_be_raised`]). An open question counts 7.90, or the limit of
/// its aged or withdrawn answer if that is lower.
pub fn supply_limit(category: AssetCategory, answers: &[Answer<'_>], now: Timestamp) -> Option<SupplyLimit> {
    if !tables::supply_can_be_raised(category) {
        return None;
    }
    let questionnaire = tables::questionnaire(Dimension::BridgeMechanism);
    let (heard, _) = sort_out(questionnaire, answers, now);
    let asked = questionnaire.questions.iter().filter(|question| question.limits_supply);
    let parts: Vec<Part> = asked.map(|question| settle(question, &heard, now)).collect();
    let least = |limits: &mut dyn Iterator<Item = Hundredths>| limits.min().unwrap_or(Hundredths::MAX);
    Some(SupplyLimit {
        ceiling: least(&mut parts.iter().map(limit_of)),
        lowest: least(&mut parts.iter().map(|part| part.possible().map(allowed).fold(limit_of(part), Ord::min))),
        highest: least(&mut parts.iter().map(|part| part.possible().map(allowed).fold(limit_of(part), Ord::max))),
        parts: parts.iter().map(published).collect(),
    })
}

fn published(part: &Part) -> LimitPart {
    let answer = part.answer.map(|answer| answer.id);
    LimitPart { question: part.question.id, state: part.state, answer, ceiling: limit_of(part) }
}

fn limit_of(part: &Part) -> Hundredths {
    let limit = part.answer.map_or(Hundredths::MAX, allowed);
    if part.state.is_known() { limit } else { limit.min(tables::UNKNOWN_SUPPLY_CEILING) }
}

fn allowed(answer: &AnswerOption) -> Hundredths {
    answer.score_ceiling.unwrap_or(Hundredths::MAX)
}
