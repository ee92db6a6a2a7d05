//! Properties of the values and score limits that are computed from answers.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use rds_shared::scoring::asset::{AssetCategory, Dimension};
use rds_shared::scoring::rubric::{Answer, DimensionOutcome, Hundredths, Part, SourceKind, evaluate, supply_limit};
use rds_shared::scoring::tables::rubric::{UNKNOWN_POINTS, questionnaire};
use rds_shared::wire::time::Timestamp;

const DAY: i64 = 86_400;
const NOW: i64 = 20_000 * DAY;

fn config() -> ProptestConfig {
    ProptestConfig { cases: 1000, max_global_rejects: 50_000, failure_persistence: None, ..ProptestConfig::default() }
}

/// Dates around the first multiples of every cadence, several within one day, and one second after [`NOW`].
fn observed_at() -> impl Strategy<Value = Timestamp> {
    let cadence = select(vec![7_i64, 31, 92, 184, 366]);
    let age = prop_oneof![
        (0..4_i64).prop_map(|days| days * DAY),
        (0..2 * DAY),
        (cadence, 1..6_i64, -1..=1_i64).prop_map(|(days, cadences, off)| days * DAY * cadences + off),
        Just(-1_i64),
    ];
    age.prop_map(|age| Timestamp::from_seconds(NOW - age))
}

/// An answer to a question of the dimension, permitted or not.
fn answer(dimension: Dimension) -> impl Strategy<Value = Answer<'static>> {
    let withdrawn = prop::option::weighted(0.15, (0..3_i64).prop_map(|days| Timestamp::from_seconds(NOW - days * DAY)));
    let parts = (any::<Index>(), any::<Index>(), any::<Index>(), 0..20_u8, observed_at(), withdrawn);
    parts.prop_map(move |(question, option, kind, odd, observed_at, withdrawn_at)| {
        let question = question.get(questionnaire(dimension).questions);
        let source_kind = if odd == 0 { *kind.get(SourceKind::ALL) } else { *kind.get(question.evidence) };
        let (question, answer) = match odd {
            1 => ("nonsense", "none"),
            2 => (question.id, "nonsense"),
            _ => (question.id, option.get(question.answers).id),
        };
        Answer { question, answer, observed_at, source_kind, withdrawn_at }
    })
}

/// A dimension with fewer than twelve answers.
fn asked() -> impl Strategy<Value = (Dimension, Vec<Answer<'static>>)> {
    select(Dimension::ALL).prop_flat_map(|dimension| (Just(dimension), vec(answer(dimension), 0..12)))
}

fn at(dimension: Dimension, answers: &[Answer<'static>], seconds: i64) -> DimensionOutcome<'static> {
    evaluate(dimension, answers, Timestamp::from_seconds(seconds))
}

fn now(dimension: Dimension, answers: &[Answer<'static>]) -> DimensionOutcome<'static> {
    at(dimension, answers, NOW)
}

/// The points that the dimension adds to the asset's sum; 2.50 if it has no value.
fn counted(outcome: &DimensionOutcome<'_>) -> Hundredths {
    outcome.value.unwrap_or(UNKNOWN_POINTS)
}

/// `answers`, and in addition an answer dated [`NOW`] to every open question, chosen by `choose`.
fn completed(
    outcome: &DimensionOutcome<'_>,
    answers: &[Answer<'static>],
    mut choose: impl FnMut(&Part) -> &'static str,
) -> Vec<Answer<'static>> {
    let open = outcome.parts.iter().filter(|part| !part.state.is_known());
    let fresh = open.map(|part| Answer {
        question: part.question.id,
        answer: choose(part),
        observed_at: Timestamp::from_seconds(NOW),
        source_kind: part.question.evidence[0],
        withdrawn_at: None,
    });
    // An open question has no other valid answer of today, except withdrawn ones, which do not compete with the new answer.
    fresh.chain(answers.iter().copied()).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_value_lies_between_zero_ten_and_its_own_bounds((dimension, answers) in asked()) {
        let outcome = now(dimension, &answers);
        prop_assert!(outcome.lowest <= outcome.computed && outcome.computed <= outcome.highest);
        prop_assert!(outcome.highest <= Hundredths::MAX);
        prop_assert_eq!(outcome.weight_known + outcome.weight_unknown, 100);
        prop_assert!(outcome.value.is_ok() || outcome.weight_unknown > 40);
        prop_assert!(outcome.value.is_err() || outcome.value == Ok(outcome.computed));
        if outcome.parts.iter().all(|part| part.state.is_known()) {
            prop_assert_eq!(outcome.lowest, outcome.highest);
        }
    }

    #[test]
    fn whatever_is_learned_about_open_questions_stays_within_the_bounds(
        (dimension, answers) in asked(),
        picks in vec(any::<Index>(), 5),
    ) {
        let outcome = now(dimension, &answers);
        let mut picks = picks.into_iter();
        let random = completed(&outcome, &answers, |part| picks.next().unwrap().get(part.question.answers).id);
        let learned = now(dimension, &random);
        prop_assert_eq!(learned.weight_unknown, 0);
        prop_assert!(outcome.lowest <= learned.computed && learned.computed <= outcome.highest);
        // The best answers give exactly the value `highest`.
        let best = now(dimension, &completed(&outcome, &answers, |part| part.question.answers[0].id));
        prop_assert_eq!(best.computed, outcome.highest);
    }

    #[test]
    fn a_better_answer_never_lowers_what_a_dimension_counts(
        (dimension, answers) in asked(),
        which in any::<Index>(),
        steps in 1..4_usize,
    ) {
        prop_assume!(!answers.is_empty());
        let place = which.index(answers.len());
        let Some(question) = questionnaire(dimension).question(answers[place].question) else { return Ok(()) };
        let Some(rank) = question.answers.iter().position(|it| it.id == answers[place].answer) else { return Ok(()) };
        let mut better = answers.clone();
        better[place].answer = question.answers[rank.saturating_sub(steps)].id;
        let (before, after) = (now(dimension, &answers), now(dimension, &better));
        prop_assert!(counted(&after) >= counted(&before) && after.computed >= before.computed);
        for category in [AssetCategory::Lrt, AssetCategory::WrappedBtc] {
            let limit = |answers| supply_limit(category, answers, Timestamp::from_seconds(NOW)).map(|it| it.ceiling);
            prop_assert!(limit(&better) >= limit(&answers) || dimension != Dimension::BridgeMechanism);
        }
    }

    #[test]
    fn ageing_never_raises_what_a_dimension_counts_and_never_makes_its_evidence_younger(
        (dimension, answers) in asked(),
        later in prop_oneof![1..8 * DAY, 1..4000 * DAY],
    ) {
        let seen: Vec<_> = answers.into_iter().filter(|it| it.observed_at.as_seconds() <= NOW).collect();
        let (before, after) = (now(dimension, &seen), at(dimension, &seen, NOW + later));
        prop_assert!(counted(&after) <= counted(&before) && after.computed <= before.computed);
        prop_assert!(after.weight_known <= before.weight_known);
        if let (Some(young), Some(old)) = (before.refresh, after.refresh) {
            let cross = |age: i64, cadence: i64| i128::from(age) * i128::from(cadence);
            let young_age = young.age_seconds(Timestamp::from_seconds(NOW));
            let old_age = old.age_seconds(Timestamp::from_seconds(NOW + later));
            prop_assert!(cross(old_age, young.cadence_seconds) >= cross(young_age, old.cadence_seconds));
        }
        if before.unchanged_until().is_none_or(|until| until.as_seconds() >= NOW + later) {
            prop_assert_eq!(before.computed, after.computed);
        }
    }

    #[test]
    fn an_open_question_never_counts_more_than_its_best_answer(
        (dimension, answers) in asked(),
        which in any::<Index>(),
    ) {
        let asked = which.get(questionnaire(dimension).questions);
        let without: Vec<_> = answers.into_iter().filter(|it| it.question != asked.id).collect();
        let best = Answer {
            question: asked.id,
            answer: asked.answers[0].id,
            observed_at: Timestamp::from_seconds(NOW),
            source_kind: asked.evidence[0],
            withdrawn_at: None,
        };
        let with: Vec<_> = without.iter().copied().chain([best]).collect();
        prop_assert!(now(dimension, &without).computed <= now(dimension, &with).computed);
    }

    #[test]
    fn a_withdrawal_that_leaves_no_valid_answer_never_raises_what_a_dimension_counts(
        (dimension, answers) in asked(),
        which in any::<Index>(),
    ) {
        let asked = which.get(questionnaire(dimension).questions);
        let mut less = answers.clone();
        for answer in less.iter_mut().filter(|it| it.question == asked.id) {
            answer.withdrawn_at = Some(Timestamp::from_seconds(NOW - 1).min(answer.withdrawn_at.unwrap_or_default()));
        }
        prop_assert!(counted(&now(dimension, &less)) <= counted(&now(dimension, &answers)));
    }

    #[test]
    fn the_order_of_answers_does_not_matter((dimension, answers) in asked(), shift in 0..12_usize, flip in any::<bool>()) {
        let mut turned = answers.clone();
        let places = turned.len().max(1);
        turned.rotate_left(shift % places);
        if flip {
            turned.reverse();
        }
        prop_assert_eq!(now(dimension, &turned), now(dimension, &answers));
        // Repeated answers do not change the parts; only the list `ignored` contains its entries twice.
        let twice: Vec<_> = answers.iter().chain(&answers).copied().collect();
        prop_assert_eq!(now(dimension, &twice).parts, now(dimension, &answers).parts);
    }

    #[test]
    fn any_text_is_heard_without_a_fault(
        dimension in select(Dimension::ALL),
        texts in vec((".{0,8}", "[a-z_0-9]{0,8}", any::<i64>(), any::<Option<i64>>()), 0..6),
        seconds in any::<i64>(),
    ) {
        let answers: Vec<_> = texts
            .iter()
            .map(|(question, answer, at, withdrawn)| Answer {
                question,
                answer,
                observed_at: Timestamp::from_micros(*at),
                source_kind: SourceKind::Chain,
                withdrawn_at: withdrawn.map(Timestamp::from_micros),
            })
            .collect();
        let outcome = evaluate(dimension, &answers, Timestamp::from_seconds(seconds));
        prop_assert!(outcome.ignored.len() <= answers.len());
        prop_assert_eq!(outcome.parts.len(), questionnaire(dimension).questions.len());
    }
}
