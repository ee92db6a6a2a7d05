//! Money that has to add up: whole cents inside, a JSON number outside.

use core::iter::Sum;
use serde::{Serialize, Serializer};

/// US dollars to the cent. Sums are exact; the number is printed once, at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Cents(pub i64);

impl Cents {
    /// So many whole dollars.
    pub const fn dollars(dollars: i64) -> Self {
        Cents(dollars.saturating_mul(100))
    }

    /// The nearest float: its shortest decimal text is the amount, up to 70 trillion dollars.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 100.0
    }
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

/// An amount as decimal text: `1234.50`. For fields that the interface writes as strings.
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
    fn a_decimal_text_keeps_both_digits() {
        for (cents, text) in
            [(0, "0.00"), (5, "0.05"), (-150, "-1.50"), (123_450, "1234.50"), (i64::MIN, "-92233720368547758.08")]
        {
            assert_eq!(DecimalUsd(Cents(cents)).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back_to_the_cent(cents in -7_000_000_000_000_000i64..7_000_000_000_000_000) {
            let printed = serde_json::to_string(&Cents(cents)).unwrap();
            prop_assert_eq!(crate::scoring::decimal::parse_decimal(&printed, 2), Ok(cents));
        }
    }
}
