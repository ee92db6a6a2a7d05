//! Properties of asset scores.

mod scoring_support;

use proptest::prelude::*;
use proptest::sample::select;
use rds_shared::rules::tiers::tier_of;
use rds_shared::scoring::asset::{AssetInput, Dimension, HardFailFlag, evaluate};
use rds_shared::scoring::{MilliPoints, tables};
use scoring_support::{asset, published, score};

/// The score after a change to the asset. `None` (unscored) orders below every score.
fn score_after(input: &AssetInput, change: impl FnOnce(&mut AssetInput)) -> Option<MilliPoints> {
    let mut changed = input.clone();
    change(&mut changed);
    evaluate(&changed).score
}

proptest! {
    #![proptest_config(scoring_support::config())]

    #[test]
    fn the_score_is_between_zero_and_the_weighted_sum(input in asset()) {
        let outcome = evaluate(&input);
        prop_assert_eq!(outcome.score.is_some(), outcome.weighted_sum.is_some());
        prop_assert_eq!(outcome.tier, outcome.score.map(tier_of));
        if let (Some(score), Some(sum)) = (outcome.score, outcome.weighted_sum) {
            prop_assert!(score <= sum.to_score());
            prop_assert_eq!(score.get() % 10, 0);
        }
    }

    #[test]
    fn overlays_form_one_non_increasing_chain_from_the_sum_to_the_score(input in asset()) {
        let outcome = evaluate(&input);
        let mut running = outcome.weighted_sum;
        for overlay in &outcome.overlays {
            prop_assert_eq!(Some(overlay.before), running);
            prop_assert!(overlay.after < overlay.before);
            running = Some(overlay.after);
        }
        prop_assert_eq!(running.map(|last| last.to_score()), outcome.score);
    }

    #[test]
    fn a_better_answer_never_lowers_the_score(input in asset(), dimension in select(Dimension::ALL), better in score()) {
        let value = input.dimensions.get(dimension);
        prop_assume!(value.is_some_and(|value| value < better));
        let raised = score_after(&input, |asset| asset.dimensions.set(dimension, Some(better)));
        prop_assert!(raised >= evaluate(&input).score);
    }

    #[test]
    fn withdrawing_an_answer_never_raises_the_score(input in asset(), dimension in select(Dimension::ALL)) {
        let value = input.dimensions.get(dimension);
        prop_assume!(value.is_some_and(|value| value >= tables::MISSING_EVIDENCE));
        let withdrawn = score_after(&input, |asset| asset.dimensions.set(dimension, None));
        prop_assert!(withdrawn <= evaluate(&input).score);
    }

    #[test]
    fn one_more_defect_never_raises_the_score(
        input in asset(),
        flag in select(HardFailFlag::ALL),
        dependency in published(),
        older_by in 0..1_000_000_i64,
    ) {
        let before = evaluate(&input).score;
        prop_assert!(score_after(&input, |asset| asset.hard_fail_flags.insert(flag)) <= before);
        prop_assert!(score_after(&input, |asset| asset.dependencies.push(("new".into(), dependency))) <= before);
        prop_assert!(score_after(&input, |asset| asset.age_seconds += older_by) <= before);
    }

    #[test]
    fn the_order_of_dependencies_does_not_matter(input in asset(), shift in 0..4_usize) {
        let turned = score_after(&input, |asset| {
            let places = asset.dependencies.len().max(1);
            asset.dependencies.rotate_left(shift % places);
        });
        prop_assert_eq!(turned, evaluate(&input).score);
    }

    #[test]
    fn an_answer_outside_the_category_does_not_matter(
        input in asset(),
        dimension in select(Dimension::ALL),
        value in published(),
    ) {
        prop_assume!(tables::weights(input.category).iter().all(|(weighed, _)| *weighed != dimension));
        let mut changed = input.clone();
        changed.dimensions.set(dimension, value);
        prop_assert_eq!(evaluate(&changed), evaluate(&input));
    }
}
