//! Properties of the discrimination statistics, checked against a comparison of every pair of samples.

use proptest::prelude::*;
use rds_shared::research::discrimination::share;
use rds_shared::research::{Discrimination, Sample, Verdict};
use rds_shared::scoring::MilliPoints;

type Row = (u8, i64, bool);

fn rows() -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec((0u8..12, 0i64..=10, any::<bool>()), 0..60)
}

fn found(rows: &[Row]) -> Discrimination {
    let names: Vec<String> = rows.iter().map(|(vault, ..)| format!("vault-{vault}")).collect();
    let samples: Vec<Sample<'_>> = rows
        .iter()
        .zip(&names)
        .map(|((_, value, lost), name)| Sample {
            vault_id: name,
            group: name,
            value: MilliPoints::saturating(value * 1000),
            lost: *lost,
        })
        .collect();
    Discrimination::of(&samples)
}

/// The area under the curve by its definition: a comparison of every pair.
fn pairwise(rows: &[Row]) -> Option<f64> {
    let (mut score, mut pairs) = (0.0, 0.0);
    for (_, low, _) in rows.iter().filter(|(.., lost)| *lost) {
        for (_, other, _) in rows.iter().filter(|(.., lost)| !lost) {
            pairs += 1.0;
            score += match low.cmp(other) {
                std::cmp::Ordering::Less => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Greater => 0.0,
            };
        }
    }
    (pairs > 0.0).then_some(score / pairs)
}

proptest! {
    #[test]
    fn the_area_equals_the_comparison_of_all_pairs(rows in rows()) {
        let (found, expected) = (found(&rows), pairwise(&rows));
        prop_assert_eq!(found.auc.is_some(), expected.is_some());
        if let (Some(auc), Some(expected)) = (found.auc, expected) {
            prop_assert!((auc.0 as f64 / 1e6 - expected).abs() <= 1e-6, "{} for {expected}", auc.0);
        }
    }

    #[test]
    fn the_order_of_the_samples_does_not_matter(rows in rows()) {
        let backwards: Vec<Row> = rows.iter().rev().copied().collect();
        prop_assert_eq!(found(&rows), found(&backwards));
    }

    #[test]
    fn inverting_every_value_inverts_the_finding(rows in rows()) {
        let turned: Vec<Row> = rows.iter().map(|(vault, value, lost)| (*vault, 10 - value, *lost)).collect();
        let (there, back) = (found(&rows), found(&turned));
        if let (Some(there), Some(back)) = (there.auc, back.auc) {
            prop_assert!((there.0 + back.0 - 1_000_000).abs() <= 1);
        }
        let opposite = |verdict| match verdict {
            Verdict::LowerLostMore => Verdict::HigherLostMore,
            Verdict::HigherLostMore => Verdict::LowerLostMore,
            Verdict::NoneShown => Verdict::NoneShown,
        };
        // Intervals with a bound within two millionths of one half are skipped, because rounding can change their verdict.
        if there.interval.is_some_and(|(low, high)| [low, high].iter().all(|end| (end.0 - 500_000).abs() > 2)) {
            prop_assert_eq!(there.verdict().map(opposite), back.verdict());
        }
    }

    #[test]
    fn counts_add_up_and_the_interval_contains_the_area(rows in rows()) {
        let found = found(&rows);
        prop_assert_eq!(found.bands.iter().map(|band| band.samples).sum::<u64>(), rows.len() as u64);
        prop_assert_eq!(found.bands.iter().map(|band| band.losses).sum::<u64>(), found.losses);
        prop_assert!(found.loss_vaults <= found.vaults && found.loss_vaults <= found.losses && found.losses <= found.samples);
        prop_assert_eq!(found.base_rate(), share(found.losses, found.samples));
        if let (Some(auc), Some((low, high))) = (found.auc, found.interval) {
            prop_assert!(0 <= low.0 && low <= auc && auc <= high && high.0 <= 1_000_000);
        }
    }
}

#[test]
fn repeated_samples_of_the_same_vaults_do_not_narrow_the_interval() {
    // A hundred equal samples of a vault must count as one, because they are not independent.
    let once: Vec<Row> = (0u8..12).map(|vault| (vault, i64::from(vault), vault < 3)).collect();
    let often: Vec<Row> = once.iter().flat_map(|row| std::iter::repeat_n(*row, 100)).collect();
    assert_eq!(found(&once).interval, found(&often).interval);
}

#[test]
fn a_clear_separation_is_shown_and_equal_values_show_none() {
    let clean: Vec<Row> = (0u8..100).map(|vault| (vault, i64::from(vault >= 20) * 8, vault < 20)).collect();
    assert_eq!(found(&clean).verdict(), Some(Verdict::LowerLostMore));
    let flat: Vec<Row> = clean.iter().map(|(vault, _, lost)| (*vault, 4, *lost)).collect();
    assert_eq!((found(&flat).auc.map(|auc| auc.0), found(&flat).verdict()), (Some(500_000), Some(Verdict::NoneShown)));
    assert_eq!(found(&[]).verdict(), None);
}
