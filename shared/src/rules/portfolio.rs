//! Risk of a set of positions: the value-weighted mean score.

use crate::scoring::MilliPoints;
use crate::scoring::decimal::wide_from_float;
use crate::scoring::number::cents;

/// The mean score of scored positions, weighted by their value and rounded half to even to two decimals; null when no
/// position has both a score and a value above zero.
///
/// Values are rounded half to even to whole cents, so that the mean is the same on every platform.
pub fn weighted_score(positions: impl IntoIterator<Item = (f64, MilliPoints)>) -> Option<MilliPoints> {
    let (mut sum, mut weight) = (0_u128, 0_u128);
    for (value_usd, score) in positions {
        // An invalid value counts as 0: negative, not finite, or out of range.
        let value = wide_from_float(value_usd, 2).ok().and_then(|value| u64::try_from(value).ok()).unwrap_or(0);
        sum = sum.saturating_add(u128::from(value) * u128::from(score.get().unsigned_abs()));
        weight = weight.saturating_add(u128::from(value));
    }
    (weight > 0).then(|| cents(sum, weight))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn score(milli: i64) -> MilliPoints {
        MilliPoints::saturating(milli)
    }

    #[test]
    fn the_mean_is_weighted_by_value_and_ignores_worthless_positions() {
        assert_eq!(weighted_score([(300.0, score(9_000)), (100.0, score(5_000))]), Some(score(8_000)));
        assert_eq!(weighted_score([(0.0, score(9_000)), (f64::NAN, score(1_000))]), None);
        assert_eq!(weighted_score([]), None);
    }

    #[test]
    fn values_are_converted_to_cents_without_binary_rounding_errors() {
        // In binary floating point, 100 · 0.29 is slightly below 29 and 100 · 1.15 slightly below 115.
        assert_eq!(weighted_score([(0.29, score(10_000)), (0.30, score(0))]), Some(score(4_920)));
        assert_eq!(weighted_score([(1.15, score(10_000)), (1.00, score(0))]), Some(score(5_350)));
        assert_eq!(weighted_score([(0.006, score(7_000))]), Some(score(7_000)));
        assert_eq!(weighted_score([(-5.0, score(1_000)), (f64::INFINITY, score(1_000)), (1e300, score(1_000))]), None);
    }

    proptest! {
        #[test]
        fn the_mean_lies_between_the_scores(
            positions in proptest::collection::vec((0.01f64..1e12, 0i64..=1_000), 1..20),
        ) {
            let scored = || positions.iter().map(|&(value, cents)| (value, score(cents * 10)));
            let mean = weighted_score(scored()).unwrap();
            prop_assert!(mean >= scored().map(|(_, score)| score).min().unwrap());
            prop_assert!(mean <= scored().map(|(_, score)| score).max().unwrap());
        }
    }
}
