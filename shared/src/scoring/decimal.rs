//! Exact conversion of decimal text to integers. Every observed number passes this conversion before the methodology uses it.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use core::fmt;

/// Why a number was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecimalError {
    /// The text is not an optional sign, digits, and an optional point followed by digits.
    NotDecimal,
    /// There are more significant decimal places than the scale allows.
    TooPrecise,
    /// The value does not fit the integer type.
    OutOfRange,
    /// NaN or infinite.
    NonFinite,
}

impl fmt::Display for DecimalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DecimalError::NotDecimal => "not a decimal number",
            DecimalError::TooPrecise => "more decimal places than allowed",
            DecimalError::OutOfRange => "out of range",
            DecimalError::NonFinite => "not a finite number",
        })
    }
}

impl core::error::Error for DecimalError {}

/// What `read` does with digits beyond the scale.
#[derive(Clone, Copy, PartialEq)]
enum Excess {
    Refuse,
    HalfEven,
    Truncate,
}

/// Reads decimal text as an integer of `10^-scale` units, exactly: `parse_decimal("7.95", 3)` is 7950.
///
/// Zeros beyond the scale are accepted; any other digit beyond the scale is an error ([`DecimalError::TooPrecise`]).
pub fn parse_decimal(text: &str, scale: u32) -> Result<i64, DecimalError> {
    narrow(read(text, scale, Excess::Refuse))
}

/// Converts a JSON number that was parsed as a float to an integer of `10^-scale` units.
///
/// The float is converted to its shortest decimal text, which is the original text for up to 15 digits. That text is rounded half to even
/// at the scale. 2.675 is therefore read as 2.675, not as the binary fraction below it.
pub fn from_float(value: f64, scale: u32) -> Result<i64, DecimalError> {
    narrow(wide_from_float(value, scale))
}

/// [`from_float`] for values that do not fit 64 bits, such as amounts of money in millionths.
pub fn wide_from_float(value: f64, scale: u32) -> Result<i128, DecimalError> {
    read(&finite(value)?.to_string(), scale, Excess::HalfEven)
}

/// The text of a JSON number as an integer of `10^-scale` units, rounded half to even at the scale. The conversion uses no float, so it
/// is exact for any number of digits.
pub fn wide_from_json(text: &str, scale: u32) -> Result<i128, DecimalError> {
    read(&plain(text)?, scale, Excess::HalfEven)
}

/// A number whose digits beyond the scale were dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated {
    /// The integer of `10^-scale` units, rounded towards zero.
    pub units: i64,
    /// Whether a digit other than 0 was dropped.
    pub is_short: bool,
}

/// Like [`wide_from_json`], but drops the digits beyond the scale and reports whether any was not 0: 0.29999999999999999999 at scale 6
/// is 299 999 with `is_short`.
pub fn truncate_json(text: &str, scale: u32) -> Result<Truncated, DecimalError> {
    let plain = plain(text)?;
    let units = narrow(read(&plain, scale, Excess::Truncate))?;
    Ok(Truncated { units, is_short: read(&plain, scale, Excess::Refuse) == Err(DecimalError::TooPrecise) })
}

/// The number without an exponent. At most [`MAX_PLACES`] zeros are written after the point. This enlarges a number with more zeros, which
/// changes no result, because the number stays far below one unit at every scale in use.
fn plain(text: &str) -> Result<Cow<'_, str>, DecimalError> {
    let Some((front, exponent)) = text.split_once(['e', 'E']) else { return Ok(text.into()) };
    let exponent = exponent.strip_prefix('+').unwrap_or(exponent);
    let (sign, digits) = front.strip_prefix('-').map_or(("", front), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = [whole, fraction].concat();
    let significant = all.trim_start_matches('0');
    if significant.is_empty() {
        return Ok(front.into());
    }
    let zeros = exponent.strip_prefix('-').unwrap_or(exponent);
    if zeros.is_empty() || !zeros.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(DecimalError::NotDecimal);
    }
    // An exponent that does not fit i64 saturates; the bounds below treat it like any other extreme exponent.
    let shift: i64 = exponent.parse().unwrap_or(if exponent.starts_with('-') { i64::MIN } else { i64::MAX });
    let dropped = i64::try_from(all.len() - significant.len()).unwrap_or(i64::MAX);
    let before_point = i64::try_from(whole.len()).unwrap_or(i64::MAX).saturating_add(shift).saturating_sub(dropped);
    if before_point > MAX_PLACES {
        return Err(DecimalError::OutOfRange);
    }
    Ok(match usize::try_from(before_point) {
        Ok(places) => {
            let whole: String = significant.chars().chain(core::iter::repeat('0')).take(places).collect();
            let fraction = significant.get(places..).filter(|rest| !rest.is_empty()).unwrap_or("0");
            alloc::format!("{sign}0{whole}.{fraction}").into()
        }
        Err(_) => {
            let zeros = (-before_point.max(-MAX_PLACES)).unsigned_abs();
            let zeros: String = (0..zeros).map(|_| '0').collect();
            alloc::format!("{sign}0.{zeros}{significant}").into()
        }
    })
}

/// Maximum number of digits before the point, and of zeros after it, that [`plain`] writes; more than the 39 decimal digits of `i128`.
const MAX_PLACES: i64 = 40;

fn finite(value: f64) -> Result<f64, DecimalError> {
    if value.is_finite() { Ok(value) } else { Err(DecimalError::NonFinite) }
}

fn narrow(wide: Result<i128, DecimalError>) -> Result<i64, DecimalError> {
    i64::try_from(wide?).map_err(|_| DecimalError::OutOfRange)
}

fn read(text: &str, scale: u32, excess: Excess) -> Result<i128, DecimalError> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return Err(DecimalError::NotDecimal),
        None => (digits, ""),
    };
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
        return Err(DecimalError::NotDecimal);
    }
    let kept = fraction.bytes().chain(core::iter::repeat(b'0')).take(scale as usize);
    let mut units: i128 = 0;
    for digit in whole.bytes().chain(kept) {
        let grown = units.checked_mul(10).and_then(|tens| tens.checked_add(i128::from(digit - b'0')));
        units = grown.ok_or(DecimalError::OutOfRange)?;
    }
    let lost = fraction.get(scale as usize..).unwrap_or("").trim_end_matches('0');
    if !lost.is_empty() && excess == Excess::Refuse {
        return Err(DecimalError::TooPrecise);
    }
    // `lost` has no trailing zeros, so it is exactly one half only if it is the single digit 5.
    let up = lost > "5" || (lost == "5" && units % 2 == 1);
    let up = up && excess == Excess::HalfEven;
    let rounded = units.checked_add(i128::from(up)).ok_or(DecimalError::OutOfRange)?;
    Ok(if negative { -rounded } else { rounded })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_text_is_read_exactly() {
        assert_eq!(parse_decimal("7.95", 3), Ok(7950));
        assert_eq!(parse_decimal("-0.000001", 6), Ok(-1));
        assert_eq!(parse_decimal("9.000000", 3), Ok(9000));
        assert_eq!(parse_decimal("+12", 0), Ok(12));
    }

    #[test]
    fn each_kind_of_invalid_number_has_its_own_error() {
        for text in ["", "-", ".5", "5.", "1e3", "0x1", "1,5", " 1", "NaN", "1.2.3", "--1"] {
            assert_eq!(parse_decimal(text, 3), Err(DecimalError::NotDecimal), "{text:?}");
        }
        assert_eq!(parse_decimal("0.0001", 3), Err(DecimalError::TooPrecise));
        assert_eq!(parse_decimal("9223372036854775808", 0), Err(DecimalError::OutOfRange));
        assert_eq!(from_float(f64::NAN, 3), Err(DecimalError::NonFinite));
        assert_eq!(from_float(1e300, 3), Err(DecimalError::OutOfRange));
    }

    #[test]
    fn excess_digits_round_half_to_even() {
        let rounded = ["0.5", "1.5", "2.5", "2.50001", "2.49999", "-0.5", "-1.5"].map(|text| wide_from_json(text, 0));
        assert_eq!(rounded, [Ok(0), Ok(2), Ok(2), Ok(3), Ok(2), Ok(0), Ok(-2)]);
    }

    #[test]
    fn a_json_number_is_read_exactly_with_or_without_an_exponent() {
        for (text, micros) in [
            ("0.1", 100_000),
            ("123456789012345.123456", 123_456_789_012_345_123_456),
            ("900719925474099.312345", 900_719_925_474_099_312_345),
            ("0.30000000000000004", 300_000),
            ("0.0000005", 0),
            ("0.0000015", 2),
            ("1.5e3", 1_500_000_000),
            ("1.5E+3", 1_500_000_000),
            ("1234567e-6", 1_234_567),
            ("12e-7", 1),
            ("0.00012e5", 12_000_000),
            ("5e-7", 0),
            ("1e-99999999999999999999", 0),
            ("0e99999999999999999999", 0),
            ("-2.5e0", -2_500_000),
        ] {
            assert_eq!(wide_from_json(text, 6), Ok(micros), "{text}");
        }
        for text in ["1e33", "1e999", "1e99999999999999999999"] {
            assert_eq!(wide_from_json(text, 6), Err(DecimalError::OutOfRange), "{text}");
        }
        for text in ["1e", "1e+", "1e1.5", "e5", "1e--2", "true"] {
            assert!(matches!(wide_from_json(text, 6), Err(DecimalError::NotDecimal)), "{text}");
        }
    }

    #[test]
    fn truncation_reports_any_dropped_digit_that_is_not_zero() {
        for (text, units, is_short) in [
            ("0.3", 300_000, false),
            ("0.300000000000000000000", 300_000, false),
            ("0.29999999999999999999", 299_999, true),
            ("3e-1", 300_000, false),
            ("1.00000000000000001", 1_000_000, true),
            ("100000000000000001e-17", 1_000_000, true),
            ("1e-400", 0, true),
            ("1e-99999999999999999999", 0, true),
            ("0e-400", 0, false),
            ("-0.0000001", 0, true),
        ] {
            assert_eq!(truncate_json(text, 6), Ok(Truncated { units, is_short }), "{text}");
        }
        assert_eq!(truncate_json("1e999", 6), Err(DecimalError::OutOfRange));
        assert_eq!(truncate_json("NaN", 6), Err(DecimalError::NotDecimal));
    }

    #[test]
    fn a_float_is_read_as_the_decimal_it_was_written_as() {
        // The doubles 2.675 and 1.005 lie below the half; their decimal texts are exactly on it.
        assert_eq!(from_float(2.675, 2), Ok(268));
        assert_eq!(from_float(1.005, 2), Ok(100));
        assert_eq!(from_float(0.9, 6), Ok(900_000));
        assert_eq!(from_float(1e-7, 6), Ok(0));
        assert_eq!(from_float(-0.0, 6), Ok(0));
        assert_eq!(wide_from_float(999_999_999_999_999.0, 6), Ok(999_999_999_999_999_000_000));
    }
}
