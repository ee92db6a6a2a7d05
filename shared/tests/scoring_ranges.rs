//! Properties of the ranges within which scores lie.

mod scoring_support;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use rds_shared::scoring::asset::{AssetCategory, AssetInput, Dimension, evaluate as evaluate_asset};
use rds_shared::scoring::rubric::{Answer, AssetEvidence, EnteredNumbers, SourceKind};
use rds_shared::scoring::tables::rubric::questionnaire;
use rds_shared::scoring::vault::{AssetRanges, ExposuresStatus, VaultInput, evaluate, range};
use rds_shared::scoring::{MilliPoints, Ppm, ScoreBasis, ScoreRange, tables};
use rds_shared::wire::Timestamp;
use scoring_support::vault;

const NOW: Timestamp = Timestamp::from_seconds(1_795_500_000);

/// Ranges around the scores of the input, `less` and `more` milli-points away.
fn around(input: &VaultInput, less: i32, more: i32) -> AssetRanges {
    let of = |score: Option<MilliPoints>| match score {
        Some(score) => ScoreRange { lowest: score.offset(-less), highest: score.offset(more), coverage: Ppm(600_000) },
        None => ScoreRange::UNKNOWN,
    };
    AssetRanges {
        deposit: of(input.deposit_score),
        exposures: input.exposures.iter().map(|exposure| of(exposure.score)).collect(),
    }
}

/// Any answers of the questionnaire about the dimensions of a category.
fn answers() -> impl Strategy<Value = Vec<(Dimension, usize, usize, i64)>> {
    vec((select(Dimension::ALL), 0usize..8, 0usize..12, 0i64..900), 0..40)
}

fn given(picked: &[(Dimension, usize, usize, i64)]) -> Vec<(Dimension, Answer<'static>)> {
    let answer = |(dimension, question, option, days): &(Dimension, usize, usize, i64)| {
        let questions = questionnaire(*dimension).questions;
        let question = questions.get(question % questions.len())?;
        let option = question.answers.get(option % question.answers.len())?;
        let source_kind: SourceKind = *question.evidence.first()?;
        let observed_at = NOW.plus_seconds(-days * 86_400);
        let answer = Answer { question: question.id, answer: option.id, observed_at, source_kind, withdrawn_at: None };
        Some((*dimension, answer))
    };
    picked.iter().filter_map(answer).collect()
}

proptest! {
    #![proptest_config(scoring_support::config())]

    #[test]
    fn a_vaults_score_lies_within_its_range(input in vault(), less in 0..3000, more in 0..3000) {
        let outcome = evaluate(&input);
        let found = range(&input, &outcome, &around(&input, less, more));
        prop_assert!(found.range.lowest <= found.range.highest);
        prop_assert!((0..=1_000_000).contains(&found.range.coverage.0));
        if let Some(score) = outcome.score {
            prop_assert!(found.range.lowest <= score && score <= found.range.highest, "{score} in {:?}", found.range);
            let assumed = input.exposures_status == ExposuresStatus::Unavailable;
            prop_assert!(!assumed || found.basis == ScoreBasis::Assumed);
        } else {
            prop_assert_eq!(found.basis, ScoreBasis::Missing);
        }
    }

    #[test]
    fn wider_ranges_of_assets_give_a_wider_range_of_the_vault(input in vault(), less in 0..2000, more in 0..2000) {
        let outcome = evaluate(&input);
        let narrow = range(&input, &outcome, &around(&input, less, more)).range;
        let wide = range(&input, &outcome, &around(&input, less + 500, more + 500)).range;
        prop_assert!(wide.lowest <= narrow.lowest && narrow.highest <= wide.highest);
    }

    #[test]
    fn an_assets_score_lies_within_its_range(
        category in select(AssetCategory::ALL), picked in answers(), number in proptest::option::of(0i64..=10_000),
        is_signed in any::<bool>(),
    ) {
        let answers = given(&picked);
        let number = number.map(|milli| MilliPoints::saturating(milli / 10 * 10));
        let dimensions = number.map(|value| (Dimension::Liquidity, value)).into_iter().collect();
        let entered = EnteredNumbers { dimensions, is_signed };
        let evidence = AssetEvidence::new(category, &entered, &answers, NOW);
        let input = AssetInput {
            supply_ceiling: evidence.supply_ceiling(),
            ..AssetInput::new(category, evidence.values())
        };
        let range = evidence.range(&input);
        prop_assert!(range.lowest <= range.highest);
        if let Some(score) = evaluate_asset(&input).score {
            prop_assert!(range.lowest <= score && score <= range.highest, "{score} in {range:?}");
        }
        if category != AssetCategory::Unreviewed {
            let known: i64 = evidence.dimensions.iter()
                .map(|it| i64::from(it.weight) * i64::from(it.outcome.weight_known)).sum();
            prop_assert!(range.coverage.0 >= known * 100);
        }
    }

    #[test]
    fn knowing_only_the_members_never_counts_less_than_knowing_nothing(input in vault()) {
        let known = VaultInput { exposures_status: ExposuresStatus::SharesUnknown, ..input.clone() };
        let unknown = VaultInput { exposures_status: ExposuresStatus::Unavailable, ..input };
        prop_assert!(evaluate(&known).vectors.asset >= evaluate(&unknown).vectors.asset);
    }
}

#[test]
fn a_vault_of_which_everything_is_known_has_a_range_of_one_score() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut input = vault().new_tree(&mut runner).unwrap().current();
    input.exposures_status = ExposuresStatus::Observed;
    input.exposures.clear();
    input.asset_mode = rds_shared::scoring::vault::AssetMode::Lending;
    input.deposit_score = Some(MilliPoints::saturating(8_000));
    let platform = &mut input.platform;
    platform.version_age_days = Some(900);
    platform.audits = Some(3);
    platform.newest_audit_days = Some(100);
    platform.bounty_usd = Some(0);
    platform.strategy = Some(rds_shared::scoring::vault::Strategy::LendingPool);
    platform.protocol_tvl_usd = Some(5_000_000);
    platform.worst_dependency = rds_shared::scoring::vault::WorstDependency::None;
    input.control = rds_shared::scoring::vault::ControlInput {
        timelock: rds_shared::scoring::vault::Timelock::Seconds(86_400),
        signers: rds_shared::scoring::vault::Signers::Dao,
        exit: rds_shared::scoring::vault::Exit::Instant,
        source: rds_shared::scoring::vault::Source::Verified,
    };
    input.history.vault_age_days = Some(400);
    input.history.drawdown_bp = Some(0);
    let outcome = evaluate(&input);
    let score = outcome.score.unwrap();
    let assets = AssetRanges { deposit: ScoreRange::exact(MilliPoints::saturating(8_000)), exposures: Vec::new() };
    let found = range(&input, &outcome, &assets);
    assert_eq!((found.range.lowest, found.range.highest, found.range.coverage), (score, score, Ppm::ONE));
    assert_eq!(found.basis, ScoreBasis::Complete);
    assert!(tables::UNSCORED_COUNTS < score);
}
