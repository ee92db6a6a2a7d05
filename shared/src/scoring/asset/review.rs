//! Validation of a review before it is accepted.

use super::{AssetCategory, Dimension, Dimensions};
use crate::scoring::{Ppm, tables};
use core::fmt;

/// The backing of an asset: shares that sum to about one. The API serves them in percent as `backing_profile`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backing {
    /// Claims and cash outside any chain.
    pub offchain: Ppm,
    /// Crypto assets independent of the issuer.
    pub crypto_exogenous: Ppm,
    /// Crypto assets that depend on the issuer.
    pub crypto_endogenous: Ppm,
    /// Positions whose price risk is hedged (delta-neutral).
    pub delta_hedge: Ppm,
}

/// Why a review was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewError {
    /// The sum of the backing shares differs from one by more than half a percent, or a share is negative.
    BackingSum,
    /// The dimension does not apply to the category.
    NotApplicable(Dimension),
    /// The category ([`has_backing`]) has no backing.
    BackingNotApplicable,
    /// The value of `dependency_depth` exceeds 6.00 for a synthetic stablecoin of which more than half is hedged.
    HedgedTooShallow,
    /// A value below 2.50 was withdrawn. Missing evidence counts as 2.50, so the withdrawal would raise the score.
    EvidenceWithdrawn(Dimension),
}

impl fmt::Display for ReviewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReviewError::BackingSum => f.write_str("backing shares must not be negative and must sum to 100 percent"),
            ReviewError::NotApplicable(dimension) => write!(f, "{dimension} does not apply to the asset's category"),
            ReviewError::BackingNotApplicable => f.write_str("the category has no backing profile"),
            ReviewError::HedgedTooShallow => {
                f.write_str("dependency_depth must not exceed 6.00 when over half of the backing is hedged")
            }
            ReviewError::EvidenceWithdrawn(dimension) => {
                write!(f, "{dimension} is below 2.50 and cannot be set to null")
            }
        }
    }
}

impl core::error::Error for ReviewError {}

/// Whether assets of a category can have a backing; native assets, staking derivatives and governance tokens cannot.
pub fn has_backing(category: AssetCategory) -> bool {
    use AssetCategory::{GovernanceToken, Lrt, Lst, Native};
    !matches!(category, Native | Lst | Lrt | GovernanceToken)
}

/// Checks a review by itself, and compares it with the dimensions of the review that it replaces (`previous`). The previous review may have
/// had another category.
pub fn check_review(
    category: AssetCategory,
    dimensions: &Dimensions,
    backing: Option<&Backing>,
    previous: Option<&Dimensions>,
) -> Result<(), ReviewError> {
    let applicable = dimensions.applicable_to(category);
    if let Some((dimension, _)) = dimensions.iter().find(|(dimension, value)| applicable.get(*dimension) != *value) {
        return Err(ReviewError::NotApplicable(dimension));
    }
    if let Some(backing) = backing {
        check_backing(category, dimensions, backing)?;
    }
    let previous = previous.map(|previous| previous.applicable_to(category)).unwrap_or_default();
    let withdrawn = previous.iter().find(|(dimension, value)| {
        value.is_some_and(|value| value < tables::MISSING_EVIDENCE) && dimensions.get(*dimension).is_none()
    });
    withdrawn.map_or(Ok(()), |(dimension, _)| Err(ReviewError::EvidenceWithdrawn(dimension)))
}

fn check_backing(category: AssetCategory, dimensions: &Dimensions, backing: &Backing) -> Result<(), ReviewError> {
    if !has_backing(category) {
        return Err(ReviewError::BackingNotApplicable);
    }
    let shares = [backing.offchain, backing.crypto_exogenous, backing.crypto_endogenous, backing.delta_hedge];
    let total: i128 = shares.iter().map(|share| i128::from(share.0)).sum();
    let off_by = (total - i128::from(Ppm::ONE.0)).unsigned_abs();
    if shares.iter().any(|share| share.0 < 0) || off_by > u128::from(tables::BACKING_TOLERANCE_PPM.unsigned_abs()) {
        return Err(ReviewError::BackingSum);
    }
    let hedged =
        category == AssetCategory::SyntheticStablecoin && backing.delta_hedge.0 > tables::DELTA_HEDGE_LIMIT_PPM;
    let depth = dimensions.get(Dimension::DependencyDepth);
    if hedged && depth.is_some_and(|depth| depth > tables::DELTA_HEDGE_MAX_DEPTH) {
        return Err(ReviewError::HedgedTooShallow);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoring::MilliPoints;
    use AssetCategory::{Lst, SyntheticStablecoin};

    fn with(dimension: Dimension, milli: i64) -> Dimensions {
        [(dimension, MilliPoints::saturating(milli))].into_iter().collect()
    }

    fn backing(offchain: i64, delta_hedge: i64) -> Backing {
        Backing {
            offchain: Ppm(offchain),
            crypto_exogenous: Ppm(0),
            crypto_endogenous: Ppm(0),
            delta_hedge: Ppm(delta_hedge),
        }
    }

    #[test]
    fn backing_must_sum_to_a_hundred_percent_within_half_a_percent() {
        let check = |backing| check_review(SyntheticStablecoin, &Dimensions::default(), Some(&backing), None);
        assert_eq!(check(backing(505_000, 500_000)), Ok(()));
        assert_eq!(check(backing(505_001, 500_000)), Err(ReviewError::BackingSum));
        assert_eq!(check(backing(1_200_000, -200_000)), Err(ReviewError::BackingSum));
        let staked = check_review(Lst, &Dimensions::default(), Some(&backing(1_000_000, 0)), None);
        assert_eq!(staked, Err(ReviewError::BackingNotApplicable));
    }

    #[test]
    fn a_mostly_hedged_synthetic_cannot_have_a_high_dependency_depth() {
        let check = |hedge, depth| {
            let backing = backing(1_000_000 - hedge, hedge);
            check_review(SyntheticStablecoin, &with(Dimension::DependencyDepth, depth), Some(&backing), None)
        };
        assert_eq!(check(500_001, 6010), Err(ReviewError::HedgedTooShallow));
        assert_eq!(check(500_001, 6000), Ok(()));
        assert_eq!(check(500_000, 9000), Ok(()));
    }

    #[test]
    fn only_dimensions_of_the_category_can_be_scored() {
        let check = |category, dimension| check_review(category, &with(dimension, 9_000), None, None);
        assert_eq!(check(Lst, Dimension::OperatorQuality), Ok(()));
        let refused = ReviewError::NotApplicable(Dimension::OperatorQuality);
        assert_eq!(check(SyntheticStablecoin, Dimension::OperatorQuality), Err(refused));
        assert_eq!(
            check(AssetCategory::Unreviewed, Dimension::Liquidity),
            Err(ReviewError::NotApplicable(Dimension::Liquidity))
        );
        // A dimension that the asset's new category does not use may be withdrawn, whatever its value.
        let before = with(Dimension::OperatorQuality, 1_000);
        assert_eq!(check_review(SyntheticStablecoin, &Dimensions::default(), None, Some(&before)), Ok(()));
    }

    #[test]
    fn a_bad_value_cannot_be_withdrawn_to_raise_the_score() {
        let check = |before| {
            check_review(SyntheticStablecoin, &Dimensions::default(), None, Some(&with(Dimension::Liquidity, before)))
        };
        assert_eq!(check(2490), Err(ReviewError::EvidenceWithdrawn(Dimension::Liquidity)));
        assert_eq!(check(2500), Ok(()));
    }
}
