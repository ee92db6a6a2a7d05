//! Properties of vault scores.

mod scoring_support;

use proptest::prelude::*;
use rds_shared::rules::tiers::{Tier, tier_of};
use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::vault::{VaultInput, evaluate};
use scoring_support::{incident, score, vault};

/// The score after a change to the vault. `None` (unscored) orders below every score.
fn score_after(input: &VaultInput, change: impl FnOnce(&mut VaultInput)) -> Option<MilliPoints> {
    let mut changed = input.clone();
    change(&mut changed);
    evaluate(&changed).score
}

proptest! {
    #![proptest_config(scoring_support::config())]

    #[test]
    fn the_score_is_the_minimum_of_the_sum_and_all_caps(input in vault()) {
        let outcome = evaluate(&input);
        let Some(sum) = outcome.weighted_sum else { return Ok(()) };
        let least = outcome.caps.iter().map(|cap| cap.value).fold(sum.to_score(), Ord::min);
        prop_assert_eq!(outcome.score, Some(least));
        prop_assert_eq!(outcome.tier, Some(tier_of(least)));
        for cap in &outcome.caps {
            prop_assert_eq!(cap.binding, cap.value.to_sum() < sum);
        }
        let decisive = outcome.caps.iter().filter(|cap| cap.binding).map(|cap| cap.value).min();
        prop_assert_eq!(decisive, outcome.caps.iter().any(|cap| cap.binding).then_some(least));
        prop_assert!(outcome.caps.is_sorted_by_key(|cap| cap.id), "caps are in table order");
    }

    #[test]
    fn a_vault_with_a_vector_below_six_and_a_half_is_never_prime(input in vault()) {
        let outcome = evaluate(&input);
        let vectors = outcome.vectors;
        let weak = [vectors.asset, vectors.platform, Some(vectors.control), Some(vectors.history)];
        if weak.into_iter().flatten().any(|vector| vector.get() < 6500) {
            prop_assert_ne!(outcome.tier, Some(Tier::Prime));
        }
    }

    #[test]
    fn a_vault_is_unscored_exactly_when_its_asset_or_platform_vector_is(input in vault()) {
        let outcome = evaluate(&input);
        let computable = outcome.vectors.asset.is_some() && outcome.vectors.platform.is_some();
        prop_assert_eq!(outcome.score.is_some(), computable);
        prop_assert_eq!(outcome.missing().is_empty(), computable, "{:?}", outcome.missing());
        prop_assert!(computable || outcome.caps.is_empty());
    }

    #[test]
    fn the_order_of_exposures_does_not_matter(input in vault(), shift in 0..7_usize) {
        let mut turned = input.clone();
        let places = turned.exposures.len().max(1);
        turned.exposures.rotate_left(shift % places);
        prop_assert_eq!(evaluate(&turned), evaluate(&input));
    }

    #[test]
    fn a_worse_exposure_never_raises_the_score(input in vault(), place in 0..7_usize, worse in score()) {
        let before = input.exposures.get(place).and_then(|exposure| exposure.score);
        prop_assume!(before.is_some_and(|before| worse < before));
        prop_assert!(score_after(&input, |vault| vault.exposures[place].score = Some(worse)) <= evaluate(&input).score);
    }

    #[test]
    fn one_more_incident_never_raises_the_score(input in vault(), another in incident()) {
        prop_assert!(score_after(&input, |vault| vault.history.incidents.push(another)) <= evaluate(&input).score);
    }

    #[test]
    fn one_more_audit_never_lowers_the_score(input in vault()) {
        prop_assume!(input.platform.audits.is_some());
        let audited = score_after(&input, |vault| vault.platform.audits = vault.platform.audits.map(|audits| audits + 1));
        prop_assert!(audited >= evaluate(&input).score);
    }

    #[test]
    fn splitting_an_exposure_over_markets_changes_neither_vectors_nor_score(
        input in vault(),
        place in 0..7_usize,
        part in 0..1000_u32,
    ) {
        prop_assume!(place < input.exposures.len());
        // The cap for a hard-failed holding applies per exposure from 5 % on, so a split below 5 % would remove the cap.
        prop_assume!(input.exposures[place].hard_fail_cap.is_none());
        let mut split = input.clone();
        let mut other = split.exposures[place].clone();
        other.share_ppm = (u64::from(other.share_ppm) * u64::from(part) / 1000) as u32;
        split.exposures[place].share_ppm -= other.share_ppm;
        split.exposures.push(other);
        let (whole, parted) = (evaluate(&input), evaluate(&split));
        prop_assert_eq!((parted.vectors, parted.score, parted.caps), (whole.vectors, whole.score, whole.caps));
    }

    #[test]
    fn extreme_values_never_overflow(input in vault(), share in any::<u32>(), huge in any::<i64>()) {
        let outcome = evaluate(&VaultInput {
            exposures: input.exposures.iter().cycle().take(40).map(|one| {
                let mut one = one.clone();
                one.share_ppm = share;
                one
            }).collect(),
            utilization_ppm: Some(huge),
            bad_debt_ppm: Some(huge.wrapping_neg()),
            base_apr_ppm: Some(i64::MIN),
            apr_net_ppm: Some(huge),
            tvl_usd: Some(u64::MAX),
            ..input
        });
        prop_assert!(outcome.score <= Some(MilliPoints::MAX));
    }
}
