//! Reference rates: what the vaults of an asset pay, weighted by what they hold.
//!
//! ```text
//! rate = Σ value · net rate / Σ value
//! ```
//!
//! over the vaults that count: active, open to deposits or not known to be closed, not under review, with a value and a rate that
//! were read within two days. Values are whole cents and rates hundred-millionths, both by their shortest decimal text; the sums are
//! exact and the quotient is rounded half to even once. Who does not count is told by number and reason.

use crate::model::money::Cents;
use crate::scoring::decimal::from_float;
use crate::scoring::named_enum;
use crate::scoring::number::{Decimal, Ppm, rhe};
use crate::wire::time::Timestamp;
use alloc::vec::Vec;
use serde::{Serialize, Serializer};

/// The name of these rules.
pub const METHODOLOGY: &str = "rate-1.0.0";
/// Decimal places of a rate.
pub const RATE_DECIMALS: u32 = 8;
/// A reading counts so long: twice the cadence of the slowest source.
pub const FRESH_SECONDS: i64 = 2 * 86_400;

/// Nothing that was read correctly is worth more: a quadrillion dollars.
const MOST_CENTS: i64 = 100_000_000_000_000_000;
/// Nor does anything pay more, or cost more: ten thousand times itself in a year.
const MOST_RATE: i64 = 1_000_000_000_000;

/// A rate in hundred-millionths, as a fraction; may be negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub i64);

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Decimal { units: self.0, scale: RATE_DECIMALS }.serialize(serializer)
    }
}

/// What is known of a vault, as far as a rate asks. Rates are fractions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VaultReading {
    /// Supplied value in USD; none when it was not read.
    pub tvl_usd: Option<f64>,
    /// Interest and rewards, net of fees.
    pub apr_net: Option<f64>,
    /// When both were read.
    pub read_at: Option<Timestamp>,
    /// Whether deposits are known to be closed.
    pub is_closed: bool,
    /// Whether the reading is under review.
    pub is_under_review: bool,
}

named_enum! {
    /// Why a vault does not count.
    pub enum LeftOut {
        /// It takes no deposits.
        Closed = "closed",
        /// Its reading is under review.
        UnderReview = "under_review",
        /// It was not read within two days.
        Stale = "stale",
        /// Its value or its rate is unknown or beyond belief, or it holds nothing.
        Unread = "unread",
    }
}

/// A vault that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Its value; above zero.
    pub tvl: Cents,
    /// Its net rate.
    pub rate: Rate,
}

/// Whether a vault counts at `now`, and with what.
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
        (Some(tvl @ 1..=MOST_CENTS), Some(rate)) if rate.unsigned_abs() <= MOST_RATE.unsigned_abs() => {
            Ok(Counted { tvl: Cents(tvl), rate: Rate(rate) })
        }
        _ => Err(LeftOut::Unread),
    }
}

/// What the vaults of an asset add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// The rate; none where no vault counts.
    pub rate: Option<Rate>,
    /// What the vaults hold together.
    pub tvl: Cents,
    /// How many count.
    pub vaults: usize,
    /// The share of the largest of them; none where no vault counts.
    pub largest_share: Option<Ppm>,
}

/// Adds up the vaults that count.
pub fn reference(counted: &[Counted]) -> Reference {
    let mut total: u128 = 0;
    let mut weighted: i128 = 0;
    for Counted { tvl, rate } in counted {
        total += u128::from(tvl.0.unsigned_abs());
        // At most 10²⁹ each: a thousand million vaults fit.
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

/// The shares of vaults in what they hold together, in their order: each rounded on its own.
pub fn shares(counted: &[Counted]) -> Vec<Ppm> {
    let total = counted.iter().map(|it| u128::from(it.tvl.0.unsigned_abs())).sum();
    counted.iter().map(|it| share(it.tvl, total)).collect()
}

fn share(part: Cents, total: u128) -> Ppm {
    let millionths = rhe(u128::from(part.0.unsigned_abs()) * u128::from(Ppm::ONE.0.unsigned_abs()), total);
    Ppm(i64::try_from(millionths).unwrap_or(i64::MAX))
}

/// Half to even is the same on both sides of zero.
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
    fn nobody_who_counts_is_no_rate_and_not_zero() {
        assert_eq!(reference(&[]), Reference { rate: None, tvl: Cents(0), vaults: 0, largest_share: None });
        assert_eq!(shares(&[]), []);
    }

    #[test]
    fn who_does_not_count_has_a_reason() {
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
        let one = (1..=MOST_CENTS, -MOST_RATE..=MOST_RATE)
            .prop_map(|(tvl, rate)| Counted { tvl: Cents(tvl), rate: Rate(rate) });
        prop::collection::vec(one, 1..12)
    }

    proptest! {
        #[test]
        fn a_rate_lies_between_those_it_is_made_of(counted in counted()) {
            let rate = reference(&counted).rate.unwrap();
            prop_assert!(counted.iter().any(|it| it.rate <= rate) && counted.iter().any(|it| it.rate >= rate));
        }

        #[test]
        fn neither_the_order_nor_a_split_matters(counted in counted()) {
            let whole = reference(&counted);
            let mut other: Vec<Counted> = counted.iter().rev().copied().collect();
            prop_assert_eq!(reference(&other), whole);
            let Counted { tvl: Cents(tvl), rate } = other.remove(0);
            other.extend([tvl / 2, tvl - tvl / 2].map(|tvl| Counted { tvl: Cents(tvl), rate }));
            prop_assert_eq!(reference(&other).rate, whole.rate);
        }

        #[test]
        fn rates_on_the_other_side_of_zero_are_the_same_with_another_sign(counted in counted()) {
            let turned: Vec<Counted> =
                counted.iter().map(|it| Counted { rate: Rate(-it.rate.0), ..*it }).collect();
            prop_assert_eq!(reference(&turned).rate, reference(&counted).rate.map(|Rate(rate)| Rate(-rate)));
        }

        #[test]
        fn no_reading_breaks_the_count(tvl in any::<f64>(), apr in any::<f64>(), at in any::<i64>()) {
            let reading = VaultReading { read_at: Some(Timestamp::from_micros(at)), ..reading(tvl, apr) };
            if let Ok(counted) = count(&reading, NOW) {
                prop_assert!(counted.tvl.0 > 0);
            }
        }
    }
}
