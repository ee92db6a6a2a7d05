//! The published questionnaire satisfies the rules for questions and answers.

use super::*;
use crate::scoring::tables::{FRESHNESS, MAX_MISSING_WEIGHT, MISSING_EVIDENCE, review_cap, weights};
use crate::scoring::{MilliPoints, asset::ReviewStatus};
use std::collections::BTreeSet;
use std::string::ToString;
use std::vec::Vec;

fn questions() -> impl Iterator<Item = (&'static Questionnaire, &'static Question)> {
    QUESTIONNAIRES.into_iter().flat_map(|asked| asked.questions.iter().map(move |question| (asked, question)))
}

fn is_id(text: &str) -> bool {
    let parts = |text: &str| text.split('_').all(|part| !part.is_empty());
    parts(text) && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

#[test]
fn every_dimension_is_asked_once_and_in_the_order_of_the_methodology() {
    let asked: Vec<_> = QUESTIONNAIRES.iter().map(|it| it.dimension).collect();
    assert_eq!(asked, Dimension::ALL);
    for dimension in Dimension::ALL {
        assert_eq!(questionnaire(*dimension).dimension, *dimension);
        // Every dimension has a weight in some category, so its questions can affect a score.
        assert!(AssetCategory::ALL.iter().any(|it| weights(*it).iter().any(|(weighed, _)| weighed == dimension)));
    }
}

#[test]
fn the_weights_of_every_dimension_sum_to_100_percent() {
    for asked in QUESTIONNAIRES {
        let total: u32 = asked.questions.iter().map(|question| u32::from(question.weight)).sum();
        assert_eq!(total, 100, "{}", asked.dimension);
        assert!(asked.questions.iter().all(|question| question.weight > 0), "{}", asked.dimension);
        assert!((3..=5).contains(&asked.questions.len()), "{}", asked.dimension);
    }
}

#[test]
fn ids_are_unique_and_snake_case_and_every_text_is_a_sentence() {
    for asked in QUESTIONNAIRES {
        let ids: BTreeSet<_> = asked.questions.iter().map(|question| question.id).collect();
        assert_eq!(ids.len(), asked.questions.len(), "{}", asked.dimension);
    }
    for (asked, question) in questions() {
        let name = std::format!("{}.{}", asked.dimension, question.id);
        let ids: BTreeSet<_> = question.answers.iter().map(|answer| answer.id).collect();
        assert_eq!(ids.len(), question.answers.len(), "{name}");
        assert!(is_id(question.id) && ids.into_iter().all(is_id), "{name}");
        let texts = question.answers.iter().map(|answer| answer.text).chain([question.how_to_read, asked.asks]);
        for text in texts.chain([question.text]) {
            assert!(text.ends_with(['.', '?']) && text.trim() == text && !text.contains("  "), "{name}: {text}");
        }
        let kinds = question.evidence;
        assert!(!kinds.is_empty() && kinds.is_sorted() && kinds.windows(2).all(|pair| pair[0] != pair[1]), "{name}");
    }
}

/// Questions whose best answer is worth less than 10 points, with the points of that answer in hundredths. A liquidation factor of 0.88
/// still keeps 12 % of the collateral's value as a margin for falling prices, so the answer `ge_88` is worth only 8 points.
const BEST_BELOW_TEN: [(&str, u16); 1] = [("volatility.lender_threshold", 800)];

#[test]
fn the_best_answer_is_worth_ten_points_and_answers_descend() {
    for (asked, question) in questions() {
        let name = std::format!("{}.{}", asked.dimension, question.id);
        let exception = BEST_BELOW_TEN.iter().find(|(id, _)| *id == name).map(|(_, best)| *best);
        let points: Vec<_> = question.answers.iter().map(|answer| answer.points.get()).collect();
        assert_eq!(points.first().copied(), Some(exception.unwrap_or(1000)), "{name}");
        assert!(points.is_sorted_by(|a, b| a >= b), "{name}: {points:?}");
        assert!(points.len() >= 3 && points[points.len() - 1] < 500, "{name}");
    }
}

#[test]
fn a_ceiling_can_bind_and_a_weaker_answer_never_has_a_higher_one() {
    for (asked, question) in questions() {
        let name = std::format!("{}.{}", asked.dimension, question.id);
        let (weight, rest) = (u32::from(question.weight), 100 - u32::from(question.weight));
        for answer in question.answers {
            // If all other questions had their best answers, the value would exceed the ceiling, so the ceiling can take effect.
            let best = weight * u32::from(answer.points.get()) + rest * 1000;
            assert!(answer.ceiling.is_none_or(|ceiling| u32::from(ceiling.get()) * 100 < best), "{name}.{}", answer.id);
            assert!(answer.score_ceiling.is_none() || question.limits_supply, "{name}.{}", answer.id);
        }
        let limits =
            |it: &AnswerOption| (it.ceiling.unwrap_or(Hundredths::MAX), it.score_ceiling.unwrap_or(Hundredths::MAX));
        for pair in question.answers.windows(2) {
            let (before, after) = (limits(&pair[0]), limits(&pair[1]));
            assert!(after.0 <= before.0 && after.1 <= before.1, "{name}.{}", pair[1].id);
        }
    }
}

#[test]
fn supply_is_limited_by_questions_of_the_bridge_mechanism_alone() {
    let limits: Vec<_> = questions().filter(|(_, question)| question.limits_supply).collect();
    assert!(limits.iter().all(|(asked, _)| asked.dimension == Dimension::BridgeMechanism));
    assert_eq!(limits.iter().map(|(_, question)| question.id).collect::<Vec<_>>(), ["mint_control", "verifier"]);
    for (_, question) in limits {
        // The safest answer sets no limit, and the weakest one limits the asset to the tier Edge.
        assert_eq!(question.answers.first().and_then(|answer| answer.score_ceiling), None);
        let weakest = question.answers.last().and_then(|answer| answer.score_ceiling);
        assert!(weakest.is_some_and(|ceiling| ceiling.get() < 500), "{}", question.id);
    }
    let raised = AssetCategory::ALL.iter().filter(|category| supply_can_be_raised(**category)).count();
    assert_eq!(raised, AssetCategory::ALL.len() - 2);
}

#[test]
fn the_numbers_are_those_of_the_methodology() {
    assert_eq!(MilliPoints::from(UNKNOWN_POINTS), MISSING_EVIDENCE);
    assert_eq!(u32::from(MAX_UNKNOWN_WEIGHT), MAX_MISSING_WEIGHT);
    assert_eq!(FRESHNESS.last().map(|(cadences, _)| *cadences), Some(EXPIRES_AFTER_CADENCES));
    assert_eq!(MilliPoints::from(UNKNOWN_SUPPLY_CEILING), review_cap(ReviewStatus::Provisional));
    assert_eq!(RUBRIC_VERSION.split('.').count(), 3);
    assert_eq!(UNKNOWN_POINTS.to_string(), "2.5");
}
