//! The high-confidence rule: a minimum score, and a range of net rates.

use core::ops::RangeInclusive;

use crate::scoring::MilliPoints;

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
