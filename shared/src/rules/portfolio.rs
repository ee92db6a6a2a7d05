//! What a set of positions says of its holder's risk.

use crate::scoring::MilliPoints;
use crate::scoring::number::cents;

/// The mean score of scored positions, weighted by their value and rounded half to even to two decimals; null when no
/// position has both a score and a value above zero.
///
/// Values count in whole cents, so that the mean is the same everywhere.
pub fn weighted_score(positions: impl IntoIterator<Item = (f64, MilliPoints)>) -> Option<MilliPoints> {
    let (mut sum, mut weight) = (0_u128, 0_u128);
    for (value_usd, score) in positions {
        // A float casts to the nearest integer in range, what is no number to 0.
        let value = (value_usd * 100.0) as u64;
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
    fn value_weighs_and_what_is_worth_nothing_does_not() {
        assert_eq!(weighted_score([(300.0, score(9_000)), (100.0, score(5_000))]), Some(score(8_000)));
        assert_eq!(weighted_score([(0.0, score(9_000)), (f64::NAN, score(1_000))]), None);
        assert_eq!(weighted_score([]), None);
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
