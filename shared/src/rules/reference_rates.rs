//! Reference rates: the mean net rate of an asset's vaults, weighted by their value.
//!
//! ```text
//! rate = Σ value · net rate / Σ value
//! ```
//!
//! over the vaults that count: active, not known to be closed to deposits, not under review, with a value and a rate read within two
//! days. Values are converted to whole cents and rates to hundred-millionths, both from their shortest decimal text. The sums are exact
//! and the quotient is rounded half to even once. Excluded vaults are counted by reason.

use crate::model::money::Cents;
use crate::scoring::decimal::from_float;
use crate::scoring::named_enum;
use crate::scoring::number::{Decimal, Ppm, rhe};
use crate::wire::time::Timestamp;
use alloc::vec::Vec;
use serde::{Serialize, Serializer};

/// Version of these rules, published with every rate.
pub const METHODOLOGY: &str = "rate-1.0.0";
/// Decimal places of a rate.
pub const RATE_DECIMALS: u32 = 8;
/// Maximum age of a reading, in seconds: two days, which is twice the cadence of the slowest source.
pub const FRESH_SECONDS: i64 = 2 * 86_400;

/// Plausibility bound of a vault's value: a quadrillion dollars.
const MAX_CENTS: i64 = 100_000_000_000_000_000;
/// Plausibility bound of a rate's magnitude: 10,000 (1,000,000 %) a year.
const MAX_RATE: i64 = 1_000_000_000_000;

/// A rate in hundred-millionths, as a fraction; may be negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub i64);

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Decimal { units: self.0, scale: RATE_DECIMALS }.serialize(serializer)
    }
}

/// The readings of one vault. Rates are fractions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VaultReading {
    /// Supplied value in USD; none when it was not read.
    pub tvl_usd: Option<f64>,
    /// Net annual rate: interest and rewards after fees.
    pub apr_net: Option<f64>,
    /// When the value and the rate were read.
    pub read_at: Option<Timestamp>,
    /// Whether deposits are known to be closed.
    pub is_closed: bool,
    /// Whether the reading is under review.
    pub is_under_review: bool,
}

named_enum! {
    /// Why a vault does not count toward the rate.
    pub enum LeftOut {
        /// The vault takes no deposits.
        Closed = "closed",
        /// The vault's reading is under review.
        UnderReview = "under_review",
        /// The vault was not read within two days.
        Stale = "stale",
        /// The vault's value or rate is unknown or implausible, or the vault is empty.
        Unread = "unread",
    }
}

/// The value and rate of a vault that counts toward the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Value of the vault; above zero.
    pub tvl: Cents,
    pub rate: Rate,
}

/// The value and rate that a vault contributes at `now`, or why it does not count.
pub fn count(reading: &VaultReading, now: Timestamp) -> Result<Counted, LeftOut> {
    if reading.is_closed {
        return Err(LeftOut::Closed);
    }
    if reading.is_under_review {
        return Err(LeftOut::UnderReview);
    }
    if reading.read_at.is_none_or(|at| now.seconds_since(at) > FRESH_SECONDS) {
        return Err(LeftOut::Stale);
    }
    let exactly = |value: Option<f64>, scale| value.and_then(|value| from_float(value, scale).ok());
    let (tvl, rate) = (exactly(reading.tvl_usd, 2), exactly(reading.apr_net, RATE_DECIMALS));
    match (tvl, rate) {
        (Some(tvl @ 1..=MAX_CENTS), Some(rate)) if rate.unsigned_abs() <= MAX_RATE.unsigned_abs() => {
            Ok(Counted { tvl: Cents(tvl), rate: Rate(rate) })
        }
        _ => Err(LeftOut::Unread),
    }
}

/// The reference rate of an asset, with the number and total value of the vaults that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// None where no vault counts.
    pub rate: Option<Rate>,
    /// Total value of the vaults that count.
    pub tvl: Cents,
    /// Number of vaults that count.
    pub vaults: usize,
    /// The largest vault's share of `tvl`; none where no vault counts.
    pub largest_share: Option<Ppm>,
}

/// The reference rate over the vaults that count.
pub fn reference(counted: &[Counted]) -> Reference {
    let mut total: u128 = 0;
    let mut weighted: i128 = 0;
    for Counted { tvl, rate } in counted {
        total += u128::from(tvl.0.unsigned_abs());
        // Each product is at most 10²⁹, so i128 holds the sum of 10⁹ vaults.
        weighted = weighted.saturating_add(i128::from(tvl.0).saturating_mul(i128::from(rate.0)));
    }
    let largest = counted.iter().map(|it| it.tvl).max();
    Reference {
        rate: (total > 0).then(|| Rate(signed_rhe(weighted, total))),
        tvl: Cents(i64::try_from(total).unwrap_or(i64::MAX)),
        vaults: counted.len(),
        largest_share: largest.map(|largest| share(largest, total)),
    }
}

/// Each vault's share of the total value, in the order given. Every share is rounded separately, so the sum may differ slightly from 1.
pub fn shares(counted: &[Counted]) -> Vec<Ppm> {
    let total = counted.iter().map(|it| u128::from(it.tvl.0.unsigned_abs())).sum();
    counted.iter().map(|it| share(it.tvl, total)).collect()
}

fn share(part: Cents, total: u128) -> Ppm {
    let millionths = rhe(u128::from(part.0.unsigned_abs()) * u128::from(Ppm::ONE.0.unsigned_abs()), total);
    Ppm(i64::try_from(millionths).unwrap_or(i64::MAX))
}

/// Rounds the magnitude half to even, then restores the sign.
fn signed_rhe(n: i128, d: u128) -> i64 {
    let size = i64::try_from(rhe(n.unsigned_abs(), d)).unwrap_or(i64::MAX);
    if n < 0 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_795_219_200);

    fn reading(tvl: f64, apr: f64) -> VaultReading {
        VaultReading {
            tvl_usd: Some(tvl),
            apr_net: Some(apr),
            read_at: Some(NOW),
            is_closed: false,
            is_under_review: false,
        }
    }

    #[test]
    fn a_rate_is_weighted_by_value_to_the_last_digit() {
        let counted: Vec<Counted> =
            [reading(300.0, 0.02), reading(100.01, 0.06)].iter().map(|it| count(it, NOW).unwrap()).collect();
        let found = reference(&counted);
        // (30000 · 2000000 + 10001 · 6000000) / 40001 = 3000074.998…
        assert_eq!((found.rate, found.tvl, found.vaults), (Some(Rate(3_000_075)), Cents(40_001), 2));
        assert_eq!(found.largest_share, Some(Ppm(749_981)));
        assert_eq!(shares(&counted), [Ppm(749_981), Ppm(250_019)]);
        assert_eq!(serde_json::to_string(&found.rate).unwrap(), "0.03000075");
    }

    #[test]
    fn without_a_vault_that_counts_the_rate_is_null_and_not_zero() {
        assert_eq!(reference(&[]), Reference { rate: None, tvl: Cents(0), vaults: 0, largest_share: None });
        assert_eq!(shares(&[]), []);
    }

    #[test]
    fn every_excluded_vault_has_a_reason() {
        let good = reading(1.0, 0.0);
        assert!(count(&good, NOW).is_ok());
        for (reading, why) in [
            (VaultReading { is_closed: true, is_under_review: true, ..good }, LeftOut::Closed),
            (VaultReading { is_under_review: true, read_at: None, ..good }, LeftOut::UnderReview),
            (VaultReading { read_at: None, ..good }, LeftOut::Stale),
            (VaultReading { read_at: Some(NOW.plus_seconds(-FRESH_SECONDS - 1)), ..good }, LeftOut::Stale),
            (VaultReading { tvl_usd: None, ..good }, LeftOut::Unread),
            (VaultReading { apr_net: None, ..good }, LeftOut::Unread),
            (reading(0.0, 0.1), LeftOut::Unread),
            (reading(0.004, 0.1), LeftOut::Unread),
            (reading(f64::NAN, 0.1), LeftOut::Unread),
            (reading(1.0, f64::INFINITY), LeftOut::Unread),
            (reading(1e300, 0.1), LeftOut::Unread),
            (reading(2e15, 0.1), LeftOut::Unread),
            (reading(1.0, -20_000.0), LeftOut::Unread),
        ] {
            assert_eq!(count(&reading, NOW), Err(why), "{reading:?}");
        }
        assert!(count(&VaultReading { read_at: Some(NOW.plus_seconds(-FRESH_SECONDS)), ..good }, NOW).is_ok());
    }

    fn counted() -> impl Strategy<Value = Vec<Counted>> {
        let one =
            (1..=MAX_CENTS, -MAX_RATE..=MAX_RATE).prop_map(|(tvl, rate)| Counted { tvl: Cents(tvl), rate: Rate(rate) });
        prop::collection::vec(one, 1..12)
    }

    proptest! {
        #[test]
        fn a_rate_lies_between_the_lowest_and_the_highest_vault_rate(counted in counted()) {
            let rate = reference(&counted).rate.unwrap();
            prop_assert!(counted.iter().any(|it| it.rate <= rate) && counted.iter().any(|it| it.rate >= rate));
        }

        #[test]
        fn the_rate_does_not_depend_on_vault_order_or_on_splitting_a_vault(counted in counted()) {
            let whole = reference(&counted);
            let mut other: Vec<Counted> = counted.iter().rev().copied().collect();
            prop_assert_eq!(reference(&other), whole);
            let Counted { tvl: Cents(tvl), rate } = other.remove(0);
            other.extend([tvl / 2, tvl - tvl / 2].map(|tvl| Counted { tvl: Cents(tvl), rate }));
            prop_assert_eq!(reference(&other).rate, whole.rate);
        }

        #[test]
        fn negating_every_rate_negates_the_reference_rate(counted in counted()) {
            let turned: Vec<Counted> =
                counted.iter().map(|it| Counted { rate: Rate(-it.rate.0), ..*it }).collect();
            prop_assert_eq!(reference(&turned).rate, reference(&counted).rate.map(|Rate(rate)| Rate(-rate)));
        }

        #[test]
        fn every_counted_vault_has_a_positive_value(tvl in any::<f64>(), apr in any::<f64>(), at in any::<i64>()) {
            let reading = VaultReading { read_at: Some(Timestamp::from_micros(at)), ..reading(tvl, apr) };
            if let Ok(counted) = count(&reading, NOW) {
                prop_assert!(counted.tvl.0 > 0);
            }
        }
    }
}
