//! How the weights of a basket version are spread. The figures depend on the version's constituents only.

use super::weights::Constituent;
use crate::scoring::number::{Decimal, rhe};
use crate::scoring::{MilliPoints, Ppm};
use alloc::collections::BTreeMap;
use serde::Serialize;

/// How the weights of a basket version are spread. Figures are exact, or rounded half to even where a precision is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Analytics {
    /// Number of constituents.
    pub constituents: usize,
    /// Number of distinct issuers of the constituents.
    pub issuers: usize,
    /// Σ weight · score, to thousandths of a point.
    pub weighted_score: MilliPoints,
    /// The largest weight of a single constituent, as a fraction.
    pub largest_weight: Ppm,
    /// The largest combined weight of one issuer's constituents, as a fraction.
    pub largest_issuer_weight: Ppm,
    /// Effective number of constituents: 1 / Σ weight², to two decimals. It equals `constituents` when all weights are equal.
    pub effective_constituents: Decimal,
}

impl Analytics {
    pub fn of(constituents: &[Constituent]) -> Self {
        let weight = |constituent: &Constituent| u128::from(constituent.weight.0.unsigned_abs());
        let mut issuers: BTreeMap<&str, u128> = BTreeMap::new();
        for constituent in constituents {
            *issuers.entry(&constituent.issuer).or_default() += weight(constituent);
        }
        let scored: u128 = constituents.iter().map(|it| weight(it) * it.score.wide()).sum();
        let squares: u128 = constituents.iter().map(|it| weight(it) * weight(it)).sum();
        let ppm = |weight: u128| Ppm(i64::try_from(weight).unwrap_or(i64::MAX));
        let hundredths = rhe(100 * WHOLE * WHOLE, squares.max(1));
        Analytics {
            constituents: constituents.len(),
            issuers: issuers.len(),
            weighted_score: MilliPoints::saturating(i64::try_from(rhe(scored, WHOLE)).unwrap_or(i64::MAX)),
            largest_weight: ppm(constituents.iter().map(weight).max().unwrap_or(0)),
            largest_issuer_weight: ppm(issuers.values().copied().max().unwrap_or(0)),
            effective_constituents: Decimal { units: i64::try_from(hundredths).unwrap_or(i64::MAX), scale: 2 },
        }
    }
}

/// The whole basket, in parts per million.
const WHOLE: u128 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn constituent(id: &str, issuer: &str, milli: i64, weight: i64) -> Constituent {
        Constituent { id: id.into(), issuer: issuer.into(), score: MilliPoints::saturating(milli), weight: Ppm(weight) }
    }

    #[test]
    fn the_effective_number_is_full_for_equal_weights_and_near_one_for_a_dominant_name() {
        let equal =
            [("a", 8000), ("b", 8500), ("c", 9000), ("d", 9500)].map(|(id, it)| constituent(id, id, it, 250_000));
        let spread = serde_json::to_value(Analytics::of(&equal)).unwrap();
        assert_eq!(
            spread,
            serde_json::json!({
                "constituents": 4, "issuers": 4, "weighted_score": 8.75, "largest_weight": 0.25,
                "largest_issuer_weight": 0.25, "effective_constituents": 4,
            })
        );
        let heavy = [constituent("a", "x", 9000, 900_000), constituent("b", "x", 8000, 100_000)];
        let spread = Analytics::of(&heavy);
        assert_eq!(spread.weighted_score.get(), 8900);
        assert_eq!((spread.issuers, spread.largest_issuer_weight), (1, Ppm(1_000_000)));
        // 1 / (0.81 + 0.01) = 1.2195…
        assert_eq!(spread.effective_constituents, Decimal { units: 122, scale: 2 });
    }
}
