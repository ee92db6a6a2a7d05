//! Money: exact sums in whole cents, written as JSON numbers, and the rounding of published amounts and rates.
//!
//! Sums and products of floats carry binary noise (`171980821.50997278`), so every published amount and rate is rounded here, once, when it
//! is written. Scores are computed from the unrounded observations.

use core::iter::Sum;
use serde::{Serialize, Serializer};

/// An amount in US dollars, in whole cents, so that sums are exact; it becomes a float only when it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Cents(pub i64);

impl Cents {
    /// The amount of this many whole dollars.
    pub const fn dollars(dollars: i64) -> Self {
        Cents(dollars.saturating_mul(100))
    }

    /// The nearest float; up to 70 trillion dollars its shortest decimal text is the exact amount.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 100.0
    }
}

/// An amount in US dollars as it is published: rounded to the cent, or below one dollar to the millionth, so that small amounts do not
/// become 0.
pub fn rounded_usd(amount: f64) -> f64 {
    let scale = if amount.abs() < 1.0 { 1e6 } else { 1e2 };
    rounded(amount, scale)
}

/// A rate, share or ratio as it is published: rounded to twelve decimals, so that its products with amounts stay correct to the cent.
pub fn rounded_rate(rate: f64) -> f64 {
    rounded(rate, 1e12)
}

/// The nearest multiple of `1 / scale`, halves away from zero. A number too large to have such decimals is returned unchanged.
fn rounded(number: f64, scale: f64) -> f64 {
    // 2^53: whole numbers up to this magnitude are exact floats.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let scaled = number * scale;
    if scaled.abs() < EXACT { (scaled + 0.5_f64.copysign(scaled)) as i64 as f64 / scale } else { number }
}

/// A number, or an optional number, that is rounded when it is written.
pub trait Published {
    /// Serialises the number, rounded with `round`; `None` becomes null.
    fn publish<S: Serializer>(&self, round: fn(f64) -> f64, serializer: S) -> Result<S::Ok, S::Error>;
}

impl Published for f64 {
    fn publish<S: Serializer>(&self, round: fn(f64) -> f64, serializer: S) -> Result<S::Ok, S::Error> {
        round(*self).serialize(serializer)
    }
}

impl Published for Option<f64> {
    fn publish<S: Serializer>(&self, round: fn(f64) -> f64, serializer: S) -> Result<S::Ok, S::Error> {
        self.map(round).serialize(serializer)
    }
}

/// Serialises an amount in US dollars; the `serialize_with` of every such field.
pub fn usd<T: Published, S: Serializer>(amount: &T, serializer: S) -> Result<S::Ok, S::Error> {
    amount.publish(rounded_usd, serializer)
}

/// Serialises a rate, share or ratio; the `serialize_with` of every such field.
pub fn rate<T: Published, S: Serializer>(rate: &T, serializer: S) -> Result<S::Ok, S::Error> {
    rate.publish(rounded_rate, serializer)
}

impl Sum for Cents {
    fn sum<I: Iterator<Item = Cents>>(amounts: I) -> Self {
        Cents(amounts.fold(0, |sum, amount| sum.saturating_add(amount.0)))
    }
}

impl Serialize for Cents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_f64())
    }
}

/// An amount in US dollars as decimal text with two decimals, such as `1234.50`, for fields that the API specification defines
/// as strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DecimalUsd(pub Cents);

impl core::fmt::Display for DecimalUsd {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let cents = self.0.0;
        let sign = if cents < 0 { "-" } else { "" };
        write!(f, "{sign}{}.{:02}", cents.unsigned_abs() / 100, cents.unsigned_abs() % 100)
    }
}

impl Serialize for DecimalUsd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn cents_add_up_where_floats_do_not() {
        let amounts = [10, 20, 30, 21_219_507].map(Cents);
        let sum: Cents = amounts.into_iter().sum();
        assert_eq!(serde_json::to_string(&sum).unwrap(), "212195.67");
        assert_eq!(serde_json::to_string(&Cents::dollars(30_000_000)).unwrap(), "30000000.0");
        assert_eq!([Cents(i64::MAX), Cents(1)].into_iter().sum::<Cents>(), Cents(i64::MAX));
    }

    #[test]
    fn binary_noise_is_not_published() {
        for (amount, published) in [
            (171_980_821.509_972_78, "171980821.51"),
            (0.1 + 0.2, "0.3"),
            (0.000_000_4, "0.0"),
            (0.003, "0.003"),
            (-2.675, "-2.68"),
            (1e300, "1e+300"),
            (5_000_000.0, "5000000.0"),
        ] {
            assert_eq!(serde_json::to_string(&rounded_usd(amount)).unwrap(), published);
        }
        assert_eq!(serde_json::to_string(&rounded_rate(0.782_718_999_999_999_9)).unwrap(), "0.782719");
        assert!(rounded_usd(f64::NAN).is_nan());
    }

    #[test]
    fn a_decimal_text_always_has_two_decimals() {
        for (cents, text) in
            [(0, "0.00"), (5, "0.05"), (-150, "-1.50"), (123_450, "1234.50"), (i64::MIN, "-92233720368547758.08")]
        {
            assert_eq!(DecimalUsd(Cents(cents)).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn rounding_is_accurate_and_idempotent(amount in -1e13_f64..1e13, rate in -1e3_f64..1e3) {
            prop_assert!((rounded_usd(amount) - amount).abs() <= 0.005_000_1 + amount.abs() * 1e-15);
            prop_assert_eq!(rounded_usd(rounded_usd(amount)), rounded_usd(amount));
            prop_assert!((rounded_rate(rate) - rate).abs() <= 1e-12);
            prop_assert_eq!(rounded_rate(rounded_rate(rate)), rounded_rate(rate));
            // Amounts of a dollar or more have at most two decimals.
            let text = serde_json::to_string(&rounded_usd(amount)).unwrap();
            if amount.abs() >= 1.0 && !text.contains('e') {
                prop_assert!(text.split('.').nth(1).is_none_or(|decimals| decimals.len() <= 2), "{}", text);
            }
        }

        #[test]
        fn rounding_keeps_the_order_of_amounts(a in -1e9_f64..1e9, b in -1e9_f64..1e9) {
            prop_assert!(a > b || rounded_usd(a) <= rounded_usd(b));
        }

        #[test]
        fn a_printed_amount_parses_back_to_the_same_cents(cents in -7_000_000_000_000_000i64..7_000_000_000_000_000) {
            let printed = serde_json::to_string(&Cents(cents)).unwrap();
            prop_assert_eq!(crate::scoring::decimal::parse_decimal(&printed, 2), Ok(cents));
        }
    }
}
