//! Examples of how answers determine a dimension's value, its bounds and its age.

use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::asset::{AssetCategory, Dimension, Dimensions, FreshnessStatus};
use rds_shared::scoring::rubric::{
    Answer, DimensionOutcome, IgnoredReason, NoValue, PartState, SourceKind, asset_refresh, evaluate, supply_limit,
};
use rds_shared::wire::time::Timestamp;

const DAY: i64 = 86_400;
/// The start of day 20 000 after 1970-01-01.
const NOW: Timestamp = Timestamp::from_seconds(20_000 * DAY);

/// An answer whose source was observed `days` days before [`NOW`].
fn given(question: &'static str, answer: &'static str, days: i64) -> Answer<'static> {
    let source_kind = SourceKind::Document;
    Answer { question, answer, observed_at: NOW.plus_seconds(-days * DAY), source_kind, withdrawn_at: None }
}

fn withdrawn(answer: Answer<'static>) -> Answer<'static> {
    Answer { withdrawn_at: Some(NOW), ..answer }
}

fn redeemability(answers: &[Answer<'static>]) -> DimensionOutcome<'static> {
    evaluate(Dimension::Redeemability, answers, NOW)
}

fn value(outcome: &DimensionOutcome<'_>) -> Result<u16, NoValue> {
    outcome.value.map(|value| value.get())
}

fn part<'a>(outcome: &'a DimensionOutcome<'_>, id: &str) -> &'a rds_shared::scoring::rubric::Part {
    outcome.parts.iter().find(|part| part.question.id == id).unwrap()
}

const COMPLETE: [(&str, &str); 4] =
    [("who", "any_onchain"), ("settlement", "le_7d"), ("price", "par"), ("limits", "buffer")];

fn complete() -> Vec<Answer<'static>> {
    COMPLETE.map(|(question, answer)| given(question, answer, 1)).into()
}

#[test]
fn a_complete_dimension_is_the_weighted_sum_and_has_no_range() {
    let outcome = redeemability(&complete());
    // 35 · 10 + 25 · 6.5 + 20 · 10 + 20 · 6.5 = 842.5, rounded half to even.
    assert_eq!(value(&outcome), Ok(842));
    assert_eq!((outcome.lowest, outcome.highest), (outcome.computed, outcome.computed));
    assert_eq!((outcome.weight_known, outcome.weight_unknown, outcome.ceiling), (100, 0, None));
    assert_eq!(outcome.milli_points(), MilliPoints::new(8420));
}

#[test]
fn without_answers_there_is_no_value_and_the_range_is_that_of_all_answers() {
    let outcome = redeemability(&[]);
    assert_eq!(value(&outcome), Err(NoValue::NothingKnown));
    // `lowest` is 0, because the answer `suspended` has the ceiling 0.00.
    assert_eq!((outcome.computed.get(), outcome.lowest.get(), outcome.highest.get()), (250, 0, 1000));
    assert!(outcome.refresh.is_none() && outcome.unchanged_until().is_none());
}

#[test]
fn forty_percent_may_be_unknown_and_no_more() {
    let outcome = redeemability(&complete()[..2]);
    assert_eq!((outcome.weight_unknown, value(&outcome)), (40, Ok(612)));
    let outcome = redeemability(&[complete()[0], complete()[2]]);
    assert_eq!((outcome.weight_unknown, value(&outcome)), (45, Err(NoValue::TooLittleKnown)));
    assert_eq!((outcome.computed.get(), outcome.lowest.get(), outcome.highest.get()), (662, 662, 1000));
}

#[test]
fn silence_does_not_buy_off_a_stopped_redemption() {
    let outcome = redeemability(&[given("who", "suspended", 1)]);
    assert_eq!((outcome.weight_unknown, value(&outcome)), (65, Ok(0)));
    assert_eq!((outcome.lowest.get(), outcome.highest.get()), (0, 0));
    let ceiling = outcome.ceiling.unwrap();
    assert_eq!((ceiling.question, ceiling.answer, ceiling.at.get()), ("who", "suspended", 0));
}

#[test]
fn the_newest_day_decides_and_of_one_day_the_weakest_answer() {
    let mut answers = complete();
    answers.push(given("who", "institutions", 0));
    let outcome = redeemability(&answers);
    assert_eq!((part(&outcome, "who").state, part(&outcome, "who").points.get()), (PartState::Answered, 700));
    answers.push(given("who", "any_after_kyc", 0));
    let outcome = redeemability(&answers);
    let who = part(&outcome, "who");
    assert_eq!((who.state, who.points.get(), who.also_given.len()), (PartState::Contradicted, 700, 1));
    assert_eq!(who.also_given[0].id, "any_after_kyc");
    assert_eq!(outcome.weight_known, 100);
}

#[test]
fn an_answer_counts_for_four_cadences_of_its_own_question() {
    let at = |question, answer, days| {
        let mut answers = complete();
        answers.retain(|it| it.question != question);
        answers.push(given(question, answer, days));
        redeemability(&answers)
    };
    // `settlement` has a monthly cadence, 31 days, so its answers count for 124 days.
    let last = at("settlement", "le_7d", 124);
    assert_eq!((part(&last, "settlement").state, value(&last)), (PartState::Answered, Ok(842)));
    assert_eq!(last.unchanged_until(), Some(NOW));
    let aged = at("settlement", "le_7d", 125);
    // It counts 4.90 instead of 6.50.
    assert_eq!((part(&aged, "settlement").state, value(&aged)), (PartState::Aged, Ok(802)));
    assert_eq!(part(&aged, "settlement").answer.unwrap().id, "le_7d");
    assert_eq!((aged.lowest.get(), aged.highest.get(), aged.weight_unknown), (755, 930, 0));
    // `price` has an annual cadence, 366 days, so its answers count in full for 1464 days.
    assert_eq!(value(&at("price", "par", 1464)), Ok(842));
}

#[test]
fn a_fatal_answer_is_not_forgotten_by_age_or_withdrawal() {
    for (fatal, weight_unknown) in [(given("who", "suspended", 9000), 0), (withdrawn(given("who", "suspended", 3)), 35)]
    {
        let mut answers = complete();
        answers[0] = fatal;
        let outcome = redeemability(&answers);
        assert_eq!((value(&outcome), outcome.lowest.get(), outcome.weight_unknown), (Ok(0), 0, weight_unknown));
        // A new answer to `who` would remove the ceiling.
        assert_eq!(outcome.highest.get(), 842);
        answers.push(given("who", "any_onchain", 1));
        assert_eq!(value(&redeemability(&answers)), Ok(842));
    }
}

#[test]
fn a_withdrawal_lets_the_other_answers_decide() {
    let mut answers = complete();
    answers.push(withdrawn(given("who", "market_only", 0)));
    assert_eq!(value(&redeemability(&answers)), Ok(842));
    answers[0] = withdrawn(answers[0]);
    let outcome = redeemability(&answers);
    assert_eq!((part(&outcome, "who").state, part(&outcome, "who").points.get()), (PartState::Withdrawn, 250));
    // One second before the withdrawal, the answer `any_onchain` still counts; `market_only` is dated one second later.
    let before = evaluate(Dimension::Redeemability, &answers, NOW.plus_seconds(-1));
    assert_eq!(part(&before, "who").state, PartState::Answered);
}

#[test]
fn what_cannot_count_is_named_with_its_reason() {
    let chain = Answer { source_kind: SourceKind::Dataset, ..given("who", "any_onchain", 1) };
    let answers = [
        given("why", "par", 1),
        given("who", "par", 1),
        chain,
        Answer { observed_at: NOW.plus_seconds(1), ..complete()[0] },
    ];
    let outcome = redeemability(&answers);
    let mut reasons: Vec<_> = outcome.ignored.iter().map(|it| it.reason).collect();
    reasons.sort();
    assert_eq!(reasons, IgnoredReason::ALL);
    assert_eq!(value(&outcome), Err(NoValue::NothingKnown));
}

#[test]
fn one_fresh_answer_does_not_rejuvenate_the_rest() {
    let mut answers = complete();
    for answer in &mut answers {
        answer.observed_at = NOW.plus_seconds(-100 * DAY);
    }
    answers.push(given("settlement", "le_7d", 0));
    let refresh = redeemability(&answers).refresh.unwrap();
    // Ages in cadences, ascending: settlement 0, price 100/366, who 100/184, limits 100/92. `who` reaches half of the weight.
    assert_eq!((refresh.age_seconds(NOW), refresh.cadence_seconds), (100 * DAY, 184 * DAY));
    assert_eq!(FreshnessStatus::of(refresh.age_seconds(NOW), refresh.cadence_seconds).as_str(), "fresh");
}

#[test]
fn an_asset_is_as_old_as_half_of_what_its_category_weighs() {
    let old = Answer { observed_at: NOW.plus_seconds(-200 * DAY), ..given("mint_control", "one_key", 0) };
    let outcomes = [redeemability(&complete()), evaluate(Dimension::BridgeMechanism, &[old], NOW), redeemability(&[])];
    // `wrapped_crypto` weighs the old answer bridge_mechanism 35 · mint_control 30 = 1050, the others redeemability 10 · 100 = 1000.
    let refresh = asset_refresh(AssetCategory::WrappedCrypto, &outcomes, NOW).unwrap();
    assert_eq!(refresh.age_seconds(NOW), 200 * DAY);
    // `wrapped_btc` weighs the old answer 25 · 30 = 750, and the others 15 · 100 = 1500.
    let refresh = asset_refresh(AssetCategory::WrappedBtc, &outcomes, NOW).unwrap();
    assert_eq!(refresh.age_seconds(NOW), DAY);
    assert_eq!(asset_refresh(AssetCategory::Unreviewed, &outcomes, NOW), None);
}

#[test]
fn one_key_or_one_verifier_keeps_an_asset_in_edge_whatever_its_category_weighs() {
    let limit = |category, answers: &[Answer<'static>]| supply_limit(category, answers, NOW).map(|it| it.ceiling.get());
    let safe = [given("mint_control", "contract_delayed", 1), given("verifier", "no_message", 1)];
    let usr = [given("mint_control", "one_key", 1), safe[1]];
    let rseth = [safe[0], given("verifier", "one", 1)];
    for category in [AssetCategory::SyntheticStablecoin, AssetCategory::Lrt, AssetCategory::WrappedCrypto] {
        assert_eq!(limit(category, &usr), Some(400));
        assert_eq!(limit(category, &rseth), Some(400));
        assert_eq!(limit(category, &safe), Some(1000));
        // Without answers the limit is 7.90: below Prime, but above the 4.00 of one key or one verifier.
        assert_eq!(limit(category, &[]), Some(790));
    }
    assert_eq!(limit(AssetCategory::Native, &usr), None);
    let unknown = supply_limit(AssetCategory::Lrt, &safe[..1], NOW).unwrap();
    assert_eq!((unknown.ceiling.get(), unknown.lowest.get(), unknown.highest.get()), (790, 400, 1000));
    let aged = supply_limit(AssetCategory::Lrt, &[given("mint_control", "one_key", 9000), safe[1]], NOW).unwrap();
    assert_eq!((aged.ceiling.get(), aged.parts[0].state, aged.highest.get()), (400, PartState::Aged, 1000));
}

#[test]
fn values_fill_the_dimensions_of_the_asset_score() {
    let outcome = redeemability(&complete());
    let mut dimensions = Dimensions::default();
    dimensions.set(outcome.dimension, outcome.milli_points());
    assert_eq!(dimensions.get(Dimension::Redeemability), MilliPoints::new(8420));
}
