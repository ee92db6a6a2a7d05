//! The share of interest in a vault's net rate, and the high-confidence rule.

use core::ops::RangeInclusive;

use crate::scoring::MilliPoints;

/// The part of a vault's net rate that is interest and not rewards, 0 to 1.
///
/// Null when either rate is unknown or the net rate is not positive.
pub fn real_yield_share(base_apr: Option<f64>, apr_net: Option<f64>) -> Option<f64> {
    let (base, net) = base_apr.zip(apr_net)?;
    let share = base / net;
    (net > 0.0 && share.is_finite()).then(|| share.clamp(0.0, 1.0))
}

/// Minimum score of a high-confidence vault: 7.50.
pub const HIGH_CONFIDENCE_SCORE: MilliPoints = MilliPoints::saturating(7_500);
/// Range of net rates of a high-confidence vault, as fractions.
pub const HIGH_CONFIDENCE_APR: RangeInclusive<f64> = 0.03..=0.10;

/// The rule behind the field `is_high_confidence`: a score of at least 7.5 and a net rate from 3 to 10 percent.
pub fn is_high_confidence(total_score: Option<MilliPoints>, apr_net: Option<f64>) -> bool {
    total_score.is_some_and(|score| score >= HIGH_CONFIDENCE_SCORE)
        && apr_net.is_some_and(|apr| HIGH_CONFIDENCE_APR.contains(&apr))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_interest_stays_within_the_whole() {
        assert_eq!(real_yield_share(Some(0.25), Some(0.5)), Some(0.5));
        assert_eq!(real_yield_share(Some(0.5), Some(0.25)), Some(1.0));
        assert_eq!(real_yield_share(Some(-0.5), Some(0.25)), Some(0.0));
        for (base, net) in [
            (Some(0.1), Some(0.0)),
            (Some(0.1), Some(-0.1)),
            (None, Some(0.1)),
            (Some(0.1), None),
            (Some(f64::NAN), Some(0.1)),
        ] {
            assert_eq!(real_yield_share(base, net), None);
        }
    }

    #[test]
    fn high_confidence_needs_both_a_high_score_and_a_moderate_rate() {
        let score = |points| Some(MilliPoints::saturating(points));
        assert!(is_high_confidence(score(7_500), Some(0.03)));
        assert!(is_high_confidence(score(10_000), Some(0.10)));
        assert!(!is_high_confidence(score(7_490), Some(0.05)));
        assert!(!is_high_confidence(score(9_000), Some(0.101)));
        assert!(!is_high_confidence(score(9_000), None));
        assert!(!is_high_confidence(None, Some(0.05)));
    }
}
