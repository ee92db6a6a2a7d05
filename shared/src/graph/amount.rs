//! Amounts and shares of the exposure graph: integers, fine enough to be exact and wide enough never to overflow.

use crate::scoring::Ppm;
use crate::scoring::canonical::Canonical;
use crate::scoring::decimal::{DecimalError, wide_from_float, wide_from_json};
use crate::scoring::number::{Decimal, rhe};
use alloc::string::ToString;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;
use serde::{Serialize, Serializer};

/// US dollars in millionths; never negative. Prints, and serialises, as an exact decimal string without trailing zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usd(u128);

/// Why a number is not a valid amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmountError {
    /// NaN or infinite.
    NonFinite,
    /// Below zero.
    Negative,
    /// More than 15 digits before the point.
    TooLarge,
}

impl fmt::Display for AmountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AmountError::NonFinite => "must be a finite number",
            AmountError::Negative => "must not be negative",
            AmountError::TooLarge => "must have at most 15 digits before the point",
        })
    }
}

impl core::error::Error for AmountError {}

impl Usd {
    pub const ZERO: Self = Usd(0);
    const MICROS: u128 = 1_000_000;
    /// Exclusive upper bound of an amount, in dollars.
    pub const BOUND_DOLLARS: u64 = 1_000_000_000_000_000;
    /// [`Self::BOUND_DOLLARS`] in millionths.
    const LIMIT: u128 = Self::BOUND_DOLLARS as u128 * Self::MICROS;

    pub const fn from_micros(micros: u128) -> Self {
        Usd(micros)
    }

    /// Takes the shortest decimal that denotes this float, rounded half to even to millionths.
    pub fn from_number(dollars: f64) -> Result<Self, AmountError> {
        if dollars.is_finite() && dollars < 0.0 {
            return Err(AmountError::Negative);
        }
        Self::from_units(wide_from_float(dollars, 6))
    }

    /// Reads the digits of a JSON number, without a float, rounded half to even to millionths.
    ///
    /// Source: methodology, "Check verdict".
    pub fn from_json(number: &str) -> Result<Self, AmountError> {
        let digits = number.split(['e', 'E']).next().unwrap_or_default();
        if digits.starts_with('-') && digits.bytes().any(|byte| matches!(byte, b'1'..=b'9')) {
            return Err(AmountError::Negative);
        }
        Self::from_units(wide_from_json(number, 6))
    }

    fn from_units(micros: Result<i128, DecimalError>) -> Result<Self, AmountError> {
        let micros = micros.map_err(|error| match error {
            DecimalError::NonFinite => AmountError::NonFinite,
            _ => AmountError::TooLarge,
        })?;
        let micros = micros.unsigned_abs();
        if micros < Self::LIMIT { Ok(Usd(micros)) } else { Err(AmountError::TooLarge) }
    }

    /// Parses the printed form: digits, optionally a point and one to six more digits. `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || fraction.len() > 6 {
            return None;
        }
        let micros: u128 = alloc::format!("{fraction:0<6}").parse().ok()?;
        whole.parse::<u128>().ok()?.checked_mul(Self::MICROS)?.checked_add(micros).map(Usd)
    }

    /// Millionths of a dollar.
    pub const fn micros(self) -> u128 {
        self.0
    }

    #[must_use]
    pub const fn plus(self, other: Usd) -> Self {
        Usd(self.0.saturating_add(other.0))
    }

    /// Saturates at zero.
    #[must_use]
    pub const fn minus(self, other: Usd) -> Self {
        Usd(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, micros) = (self.0 / Self::MICROS, self.0 % Self::MICROS);
        if micros == 0 {
            return write!(f, "{whole}");
        }
        let digits = alloc::format!("{micros:06}");
        write!(f, "{whole}.{}", digits.trim_end_matches('0'))
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl From<Usd> for Canonical {
    fn from(amount: Usd) -> Self {
        Canonical::Text(amount.to_string())
    }
}

/// A share of a vault or portfolio, in units of 10⁻¹². The product of two [`Ppm`] is exact; the rounding of products over deeper nesting
/// is negligible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(u64);

impl Share {
    pub const ZERO: Self = Share(0);
    /// 100 %.
    pub const ONE: Self = Share(1_000_000_000_000);

    /// `None` outside 0 to 1.
    pub const fn from_ppm(share: Ppm) -> Option<Self> {
        if share.0 < 0 || share.0 > Ppm::ONE.0 { None } else { Some(Share(share.0.unsigned_abs() * 1_000_000)) }
    }

    /// In units of 10⁻¹².
    pub const fn get(self) -> u64 {
        self.0
    }

    #[must_use]
    pub const fn plus(self, other: Share) -> Self {
        Share(self.0.saturating_add(other.0))
    }

    /// Saturates at zero.
    #[must_use]
    pub const fn minus(self, other: Share) -> Self {
        Share(self.0.saturating_sub(other.0))
    }

    /// This share of `whole`, rounded down.
    #[must_use]
    pub const fn of(self, whole: Share) -> Self {
        // Both factors are a few times `ONE` at most, so the product fits 128 bits and the quotient 64.
        Share((self.0 as u128 * whole.0 as u128 / Share::ONE.0 as u128) as u64)
    }
}

impl Serialize for Share {
    /// Writes a decimal fraction with at most twelve decimals.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Decimal { units: i64::try_from(self.0).unwrap_or(i64::MAX), scale: 12 }.serialize(serializer)
    }
}

/// Converts a sequence of parts so that the results add up exactly: each result is `worth` of the running total minus the
/// results returned so far.
///
/// Each result is within one unit of its exact value, and the sum of all is `worth` of the sum. `worth` must be monotonic.
pub(super) struct RunningTotal<F> {
    worth: F,
    total: u128,
    answered: u128,
}

impl<F: Fn(u128) -> u128> RunningTotal<F> {
    pub(super) const fn new(worth: F) -> Self {
        RunningTotal { worth, total: 0, answered: 0 }
    }

    pub(super) fn next(&mut self, units: u128) -> u128 {
        self.total = self.total.saturating_add(units);
        let reached = (self.worth)(self.total);
        let answer = reached.saturating_sub(self.answered);
        self.answered = reached;
        answer
    }
}

/// Rounds each part to whole units so that the results add up to the sum of the parts rounded half to even.
///
/// Each result is less than one unit from its exact value; exact values are unchanged. The largest remainders are rounded up,
/// the earlier part first among equals (largest remainder method).
pub(super) fn apportioned(parts: impl Iterator<Item = u128>, unit: u128) -> Vec<u128> {
    let split = |part: u128| (part.checked_div(unit).unwrap_or_default(), part.checked_rem(unit).unwrap_or_default());
    let (mut units, rests): (Vec<u128>, Vec<u128>) = parts.map(split).unzip();
    // Rounding half to even depends on the parity of the sum.
    let odd = units.iter().fold(0, |odd, units| odd ^ (units & 1));
    let rest = rests.iter().fold(odd.saturating_mul(unit), |sum, rest| sum.saturating_add(*rest));
    let missing = rhe(rest, unit).saturating_sub(odd);
    let mut by_rest: Vec<_> = rests.iter().zip(&mut units).collect();
    by_rest.sort_by_key(|(rest, _)| Reverse(**rest));
    for (_, units) in by_rest.into_iter().take(usize::try_from(missing).unwrap_or(usize::MAX)) {
        *units = units.saturating_add(1);
    }
    units
}

/// Scales a vault's shares to shares of `portion`. If the shares add up to one, the results add up to exactly `portion`.
pub(super) fn scaled(portion: Share) -> impl FnMut(Share) -> Share {
    let one = u128::from(Share::ONE.0);
    let mut running = RunningTotal::new(move |total: u128| total.saturating_mul(u128::from(portion.0)) / one);
    move |share| Share(u64::try_from(running.next(u128::from(share.0))).unwrap_or(u64::MAX))
}

/// Converts a vault's shares to parts of `amount`. If the shares add up to one, the parts add up to exactly `amount`.
pub(super) fn priced(amount: Usd) -> impl FnMut(Share) -> Usd {
    let one = u128::from(Share::ONE.0);
    let mut running = RunningTotal::new(move |total: u128| total.saturating_mul(amount.0) / one);
    move |share| Usd(running.next(u128::from(share.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_amount_prints_as_the_decimal_it_was_written_as() {
        for (number, text) in [
            (600.0, "600"),
            (0.1 + 0.2, "0.3"),
            (0.000_001, "0.000001"),
            (1_234.5, "1234.5"),
            (999_999_999_999_999.0, "999999999999999"),
            (-0.0, "0"),
        ] {
            assert_eq!(Usd::from_number(number).unwrap().to_string(), text);
        }
        assert_eq!(serde_json::to_string(&Usd::from_micros(1_500_000)).unwrap(), r#""1.5""#);
    }

    #[test]
    fn an_amount_parses_back_and_other_texts_are_refused() {
        for micros in [0, 1, 1_500_000, 999_999, 10_u128.pow(21) - 1, u64::MAX.into()] {
            let amount = Usd::from_micros(micros);
            assert_eq!(Usd::parse(&amount.to_string()), Some(amount));
        }
        for bad in
            ["", ".", "1.", ".5", "-1", "+1", "1e3", "0.1234567", "1 ", "99999999999999999999999999999999999999999"]
        {
            assert_eq!(Usd::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_invalid_number_is_refused_with_the_reason() {
        assert_eq!(Usd::from_number(f64::NAN), Err(AmountError::NonFinite));
        assert_eq!(Usd::from_number(f64::INFINITY), Err(AmountError::NonFinite));
        assert_eq!(Usd::from_number(-1e-9), Err(AmountError::Negative));
        assert_eq!(Usd::from_number(1e15), Err(AmountError::TooLarge));
        assert_eq!(Usd::from_number(1e300), Err(AmountError::TooLarge));
    }

    #[test]
    fn an_amount_is_exact_where_a_float_would_round() {
        for (text, shown) in [
            ("123456789012345.123456", "123456789012345.123456"),
            ("999999999999999.999999", "999999999999999.999999"),
            ("-0.0e5", "0"),
            ("1e14", "100000000000000"),
        ] {
            assert_eq!(Usd::from_json(text).unwrap().to_string(), shown);
        }
        assert_eq!(Usd::from_json("-0.00000000001"), Err(AmountError::Negative), "even if it rounds to zero");
        for text in ["999999999999999.9999999", "1e15", "1234567890123456", "1e999"] {
            assert_eq!(Usd::from_json(text), Err(AmountError::TooLarge), "{text}");
        }
    }

    #[test]
    fn the_largest_remainders_are_rounded_up() {
        for (parts, unit, units) in [
            (&[1, 1, 1, 1, 1, 1][..], 6, &[1, 0, 0, 0, 0, 0][..]),
            (&[10, 11, 9], 10, &[1, 1, 1]),
            (&[3, 14, 3], 10, &[0, 2, 0]),
            (&[5, 20], 10, &[0, 2]),
            (&[15, 20], 10, &[2, 2]),
            (&[25], 10, &[2]),
            (&[], 10, &[]),
        ] {
            assert_eq!(apportioned(parts.iter().copied(), unit), units, "{parts:?}");
        }
    }

    proptest! {
        #[test]
        fn apportioned_parts_add_up_and_differ_by_less_than_a_unit(
            parts in proptest::collection::vec(0..10_u128.pow(15), 0..20), unit in 1..10_u128.pow(12),
        ) {
            let units = apportioned(parts.iter().copied(), unit);
            prop_assert_eq!(units.iter().sum::<u128>(), rhe(parts.iter().sum(), unit));
            for (part, units) in parts.iter().zip(units) {
                prop_assert!((units * unit).abs_diff(*part) < unit);
            }
        }

        #[test]
        fn a_float_reads_the_same_as_number_and_as_json(dollars in 0.0..1e15_f64) {
            let text = dollars.to_string();
            prop_assert_eq!(Usd::from_json(&text), Usd::from_number(dollars));
        }

        #[test]
        fn shares_of_a_whole_add_up_to_exactly_the_whole(
            cuts in proptest::collection::vec(0..=Share::ONE.0, 0..12),
            portion in 0..=Share::ONE.0,
            micros in 0..Usd::LIMIT,
        ) {
            let mut cuts: Vec<u64> = cuts;
            cuts.extend([0, Share::ONE.0]);
            cuts.sort_unstable();
            let parts: Vec<Share> = cuts.windows(2).map(|cut| Share(cut[1] - cut[0])).collect();
            let mut scale = scaled(Share(portion));
            let mut price = priced(Usd(micros));
            let (mut shares, mut amounts) = (Share::ZERO, Usd::ZERO);
            for part in parts {
                let share = scale(part);
                let exact = part.of(Share(portion));
                prop_assert!(share.0.abs_diff(exact.0) <= 1);
                (shares, amounts) = (shares.plus(share), amounts.plus(price(part)));
            }
            prop_assert_eq!((shares, amounts), (Share(portion), Usd(micros)));
        }
    }
}
