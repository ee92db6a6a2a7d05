//! Units and rounding: the integers that scores are computed in.
//!
//! Rounding happens in four places only, always half to even ([`rhe`]): to two decimals on values published with two ([`cents`]), to
//! milli-points on four intermediate results (maturity, seasoning, incident sum, merged exposure), to parts per million on the chain
//! multiplier, and to sum units on the two multiplying overlays. Weighted sums are exact.

use crate::wire::page::write_u64;
use alloc::vec::Vec;
use core::fmt;
use serde::{Serialize, Serializer};

/// An exact decimal: `units / 10^scale`. Prints and serialises as a JSON number without trailing zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// The value times `10^scale`.
    pub units: i64,
    /// Number of decimal places.
    pub scale: u32,
}

impl Decimal {
    /// The same value with the fewest decimal places.
    const fn reduced(self) -> Self {
        let Decimal { mut units, mut scale } = self;
        while scale > 0 && units % 10 == 0 {
            units /= 10;
            scale -= 1;
        }
        Decimal { units, scale }
    }

    /// Appends the text of [`Display`](fmt::Display) without `core::fmt`, for speed: rows are encoded by the million.
    pub fn write(self, out: &mut Vec<u8>) {
        let Decimal { units, scale } = self.reduced();
        let one = 10_u64.saturating_pow(scale);
        if units < 0 {
            out.push(b'-');
        }
        write_u64(units.unsigned_abs() / one, out);
        if scale > 0 {
            out.push(b'.');
        }
        let mut place = one / 10;
        while place > 0 {
            out.push(b'0' + (units.unsigned_abs() / place % 10) as u8);
            place /= 10;
        }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decimal { units, scale } = self.reduced();
        let one = 10_u64.saturating_pow(scale);
        let sign = if units < 0 { "-" } else { "" };
        let (whole, rest) = (units.unsigned_abs() / one, units.unsigned_abs() % one);
        match scale {
            0 => write!(f, "{sign}{whole}"),
            _ => write!(f, "{sign}{whole}.{rest:0width$}", width = scale as usize),
        }
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Decimal { units, scale } = self.reduced();
        match scale {
            0 => serializer.serialize_i64(units),
            // Up to 15 significant digits, the shortest text of the nearest double is the decimal itself; no unit in use has more.
            _ => serializer.serialize_f64(units as f64 / power_of_ten(scale)),
        }
    }
}

/// 10^scale as a float; exact for every scale in use.
fn power_of_ten(scale: u32) -> f64 {
    10_u64.saturating_pow(scale) as f64
}

/// A score, dimension, vector or cap in thousandths of a point, 0 to 10 000; 10.00 points = 10 000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MilliPoints(i32);

impl MilliPoints {
    /// 0 points.
    pub const ZERO: Self = MilliPoints(0);
    /// 10 points.
    pub const MAX: Self = MilliPoints(10_000);

    /// `None` outside 0..=10 000.
    pub const fn new(milli: i32) -> Option<Self> {
        if milli >= 0 && milli <= Self::MAX.0 { Some(MilliPoints(milli)) } else { None }
    }

    /// The nearest valid value.
    pub const fn saturating(milli: i64) -> Self {
        if milli < 0 {
            Self::ZERO
        } else if milli > Self::MAX.0 as i64 {
            Self::MAX
        } else {
            MilliPoints(milli as i32)
        }
    }

    /// Thousandths of a point, 0..=10 000.
    pub const fn get(self) -> i32 {
        self.0
    }

    /// This value plus `milli`, clamped to 0..=10 000.
    pub const fn offset(self, milli: i32) -> Self {
        Self::saturating(self.0 as i64 + milli as i64)
    }

    /// The same value in sum units.
    pub const fn to_sum(self) -> SumUnits {
        SumUnits(self.0 as i64 * SumUnits::PER_MILLI)
    }

    const fn decimal(self) -> Decimal {
        Decimal { units: self.0 as i64, scale: 3 }
    }

    /// The number as an operand of [`rhe`]; never negative.
    pub(crate) const fn wide(self) -> u128 {
        self.0.unsigned_abs() as u128
    }
}

/// A weighted sum, or a running score under overlays, in percent × milli-points; 10.00 points = 1 000 000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SumUnits(i64);

impl SumUnits {
    /// Sum units in one milli-point.
    pub const PER_MILLI: i64 = 100;

    /// Creates a value from sum units; a negative number becomes 0.
    pub const fn new(units: i64) -> Self {
        SumUnits(if units < 0 { 0 } else { units })
    }

    /// The number of sum units; never negative.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The published score: this value, rounded half to even to two decimals of a point.
    pub fn to_score(self) -> MilliPoints {
        cents(self.wide(), SumUnits::PER_MILLI.unsigned_abs().into())
    }

    const fn decimal(self) -> Decimal {
        Decimal { units: self.0, scale: 5 }
    }

    /// The number as an operand of [`rhe`]; never negative.
    pub(crate) const fn wide(self) -> u128 {
        self.0.unsigned_abs() as u128
    }
}

/// Parts per million: shares, utilization, rates. May be negative or above one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ppm(pub i64);

impl Ppm {
    /// The fraction 1.
    pub const ONE: Self = Ppm(1_000_000);

    const fn decimal(self) -> Decimal {
        Decimal { units: self.0, scale: 6 }
    }
}

macro_rules! printed_as_decimal {
    ($($unit:ty),+) => {$(
        impl fmt::Display for $unit {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.decimal().fmt(f)
            }
        }
        impl Serialize for $unit {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.decimal().serialize(serializer)
            }
        }
    )+};
}
printed_as_decimal!(MilliPoints, SumUnits, Ppm);

/// n/d rounded half to even; 0 for d = 0.
pub fn rhe(n: u128, d: u128) -> u128 {
    let (Some(quotient), Some(rest)) = (n.checked_div(d), n.checked_rem(d)) else { return 0 };
    // Compares with the distance to the next integer instead of doubling `rest`, which could overflow.
    match rest.cmp(&(d - rest)) {
        core::cmp::Ordering::Less => quotient,
        core::cmp::Ordering::Equal => quotient + (quotient & 1),
        core::cmp::Ordering::Greater => quotient + 1,
    }
}

/// n/d milli-points, rounded half to even to milli-points.
pub fn milli(n: u128, d: u128) -> MilliPoints {
    MilliPoints::saturating(i64::try_from(rhe(n, d)).unwrap_or(i64::MAX))
}

/// n/d milli-points, rounded half to even to two decimals of a point.
pub fn cents(n: u128, d: u128) -> MilliPoints {
    MilliPoints::saturating(i64::try_from(rhe(n, d.saturating_mul(10))).map_or(i64::MAX, |c| c.saturating_mul(10)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::string::ToString;

    #[test]
    fn halves_go_to_the_even_neighbour() {
        let rounded = [5, 15, 25, 24, 26].map(|n| rhe(n, 10));
        assert_eq!(rounded, [0, 2, 2, 2, 3]);
        assert_eq!(rhe(u128::MAX, u128::MAX), 1);
        assert_eq!(rhe(7, 0), 0);
    }

    #[test]
    fn a_score_prints_the_same_in_text_and_json_without_trailing_zeros() {
        for milli in 0..=10_000 {
            let score = MilliPoints::saturating(milli);
            assert_eq!(score.to_string(), serde_json::to_string(&score).unwrap());
        }
        assert_eq!(MilliPoints::saturating(7950).to_string(), "7.95");
        assert_eq!(MilliPoints::saturating(9000).to_string(), "9");
        assert_eq!(SumUnits::new(705_675).to_string(), "7.05675");
        assert_eq!(serde_json::to_string(&Ppm(-50)).unwrap(), "-0.00005");
    }

    proptest! {
        #[test]
        fn a_decimal_is_written_as_it_prints(units in any::<i64>(), scale in 0u32..=9) {
            let (decimal, mut written) = (Decimal { units, scale }, Vec::new());
            decimal.write(&mut written);
            prop_assert_eq!(std::string::String::from_utf8(written).unwrap(), decimal.to_string());
        }
    }

    #[test]
    fn a_score_outside_its_range_cannot_be_constructed() {
        assert_eq!(MilliPoints::new(10_001), None);
        assert_eq!(MilliPoints::new(-1), None);
        assert_eq!(MilliPoints::saturating(i64::MAX), MilliPoints::MAX);
        assert_eq!(MilliPoints::ZERO.offset(-1), MilliPoints::ZERO);
    }
}
