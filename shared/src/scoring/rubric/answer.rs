//! One answer to a question, and the rule that decides which of several answers counts.

use super::outcome::{Part, PartState};
use super::{AnswerOption, Question, Questionnaire, SourceKind};
use crate::scoring::named_enum;
use crate::scoring::tables::rubric as tables;
use crate::wire::time::{Day, Timestamp};
use alloc::vec::Vec;

/// The properties of an answer that determine the value of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Answer<'a> {
    /// Id of the question.
    pub question: &'a str,
    /// Id of the answer.
    pub answer: &'a str,
    /// When the source showed the answer; midnight UTC if the source states only a day.
    pub observed_at: Timestamp,
    /// The kind of the answer's source.
    pub source_kind: SourceKind,
    /// When the answer was withdrawn; `None` if it was not.
    pub withdrawn_at: Option<Timestamp>,
}

named_enum! {
    /// Why an answer did not count.
    pub enum IgnoredReason {
        /// The dimension does not have the question.
        UnknownQuestion = "unknown_question",
        /// The question does not permit the answer.
        UnknownAnswer = "unknown_answer",
        /// The question does not permit this kind of source.
        SourceKind = "source_kind",
        /// The answer is dated after the instant of the evaluation.
        Ahead = "ahead",
    }
}

/// An answer that did not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ignored<'a> {
    /// The answer as given.
    pub answer: Answer<'a>,
    /// The first reason that applies, in the order of [`IgnoredReason::ALL`].
    pub reason: IgnoredReason,
}

/// A valid answer: none of the reasons of [`IgnoredReason`] applies to it.
pub(super) struct Heard {
    question: &'static Question,
    option: &'static AnswerOption,
    observed_at: Timestamp,
    is_withdrawn: bool,
}

impl Heard {
    fn day(&self) -> Day {
        Day::of(self.observed_at)
    }
}

/// Separates valid answers from ignored ones; the ignored answers are sorted.
pub(super) fn sort_out<'a>(
    questionnaire: &Questionnaire,
    answers: &[Answer<'a>],
    now: Timestamp,
) -> (Vec<Heard>, Vec<Ignored<'a>>) {
    let (mut valid, mut ignored) = (Vec::new(), Vec::new());
    for answer in answers {
        match hear(questionnaire, answer, now) {
            Ok(heard) => valid.push(heard),
            Err(reason) => ignored.push(Ignored { answer: *answer, reason }),
        }
    }
    ignored.sort_unstable();
    (valid, ignored)
}

fn hear(questionnaire: &Questionnaire, answer: &Answer<'_>, now: Timestamp) -> Result<Heard, IgnoredReason> {
    let question = questionnaire.question(answer.question).ok_or(IgnoredReason::UnknownQuestion)?;
    let option = question.answer(answer.answer).ok_or(IgnoredReason::UnknownAnswer)?;
    if !question.evidence.contains(&answer.source_kind) {
        return Err(IgnoredReason::SourceKind);
    }
    if answer.observed_at > now {
        return Err(IgnoredReason::Ahead);
    }
    let is_withdrawn = answer.withdrawn_at.is_some_and(|at| at <= now);
    Ok(Heard { question, option, observed_at: answer.observed_at, is_withdrawn })
}

/// Determines which answer to `question` counts at `now`, and with how many points.
pub(super) fn settle(question: &'static Question, heard: &[Heard], now: Timestamp) -> Part {
    let given = || heard.iter().filter(|it| it.question.id == question.id);
    let standing_day = given().filter(|it| !it.is_withdrawn).map(Heard::day).max();
    let standing: Vec<&Heard> = given().filter(|it| !it.is_withdrawn && Some(it.day()) == standing_day).collect();
    if let Some(observed_at) = standing.iter().map(|it| it.observed_at).max()
        && now.seconds_since(observed_at) <= question.counts_for_seconds()
    {
        let (weakest, also_given) = weakest_first(question, &standing);
        let state = if also_given.is_empty() { PartState::Answered } else { PartState::Contradicted };
        return Part::of(question, state, weakest, Some(observed_at), also_given);
    }
    // No answer counts as evidence. Candidates are the aged answers of the newest day, and the withdrawn answers of that day or later.
    // The weakest candidate counts, with at most the points of an unknown answer, so that neither ageing nor a withdrawal raises the value.
    let withdrawn = || given().filter(|it| it.is_withdrawn && Some(it.day()) >= standing_day);
    let left: Vec<&Heard> = standing.iter().copied().chain(withdrawn()).collect();
    let state = match withdrawn().map(Heard::day).max() {
        newest if newest > standing_day => PartState::Withdrawn,
        _ if standing_day.is_some() => PartState::Aged,
        _ => PartState::Unknown,
    };
    let (weakest, also_given) = weakest_first(question, &left);
    Part::of(question, state, weakest, left.iter().map(|it| it.observed_at).min(), also_given)
}

/// The weakest of the given answers, and the other given answers, strongest first. `question.answers` is in descending order of points.
fn weakest_first(
    question: &'static Question,
    given: &[&Heard],
) -> (Option<&'static AnswerOption>, Vec<&'static AnswerOption>) {
    let mut named: Vec<_> =
        question.answers.iter().filter(|option| given.iter().any(|it| it.option.id == option.id)).collect();
    let weakest = named.pop();
    (weakest, named)
}

impl Part {
    fn of(
        question: &'static Question,
        state: PartState,
        answer: Option<&'static AnswerOption>,
        observed_at: Option<Timestamp>,
        also_given: Vec<&'static AnswerOption>,
    ) -> Self {
        let worth = answer.map_or(tables::UNKNOWN_POINTS, |answer| answer.points);
        Part {
            question,
            state,
            answer,
            points: match state {
                PartState::Answered | PartState::Contradicted => worth,
                PartState::Aged => worth.min(tables::AGED_POINTS),
                PartState::Withdrawn | PartState::Unknown => worth.min(tables::UNKNOWN_POINTS),
            },
            ceiling: answer.and_then(|answer| answer.ceiling),
            observed_at,
            also_given,
        }
    }
}
