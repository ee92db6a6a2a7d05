//! Arithmetic on scaled integers, without overflow.

use super::{Unknown, Value};

/// One, in parts per million.
pub(super) const PPM: u32 = 1_000_000;
/// One, scaled by 10^18.
pub(super) const WAD: u128 = 1_000_000_000_000_000_000;
/// 10^27 parts are one; so 10^21 are a millionth.
const RAY_PER_PPM: u128 = 1_000_000_000_000_000_000_000;
/// Seconds of a year of 365 days, as Aave and Compound count.
pub(super) const SECONDS_PER_YEAR: u128 = 31_536_000;
/// A rate above 10,000 % a year is implausible.
const MAX_RATE_PPM: u32 = 100 * PPM;

/// `a · b / divisor`, rounded down, and the remainder. The product has up to 256 bits. `None` if the divisor is 0 or the quotient exceeds
/// 128 bits.
pub(super) fn multiply_divide(a: u128, b: u128, divisor: u128) -> Option<(u128, u128)> {
    let (high, low) = multiply(a, b);
    if high >= divisor {
        return None;
    }
    // Binary long division. The remainder stays below the divisor; `carry` is its 129th bit while it is shifted.
    let (mut remainder, mut quotient) = (high, 0_u128);
    for bit in (0..128_u32).rev() {
        let carry = remainder >> 127;
        remainder = remainder << 1 | (low >> bit & 1);
        if carry == 1 || remainder >= divisor {
            remainder = remainder.wrapping_sub(divisor);
            quotient |= 1 << bit;
        }
    }
    Some((quotient, remainder))
}

/// The product's upper and lower 128 bits.
fn multiply(a: u128, b: u128) -> (u128, u128) {
    let halves = |number: u128| (number >> 64, number & u128::from(u64::MAX));
    let ((a1, a0), (b1, b0)) = (halves(a), halves(b));
    // No product of two 64-bit numbers overflows, nor does its sum with two more 64-bit numbers.
    let low = a0.wrapping_mul(b0);
    let middle = a1.wrapping_mul(b0).wrapping_add(low >> 64);
    let (carry, middle) = halves(middle);
    let middle = a0.wrapping_mul(b1).wrapping_add(middle);
    let high = a1.wrapping_mul(b1).wrapping_add(carry).wrapping_add(middle >> 64);
    (high, middle << 64 | (low & u128::from(u64::MAX)))
}

/// `part / whole` in parts per million, rounded down; 0 if the whole is 0. May exceed one. Error: more than 32 bits.
pub(super) fn ppm_of(part: u128, whole: u128) -> Value<u32> {
    if whole == 0 {
        return Ok(0);
    }
    let (ppm, _) = multiply_divide(part, PPM.into(), whole).ok_or(Unknown::Implausible)?;
    u32::try_from(ppm).map_err(|_| Unknown::Implausible)
}

/// What depositors get of a borrow rate: the rate on the lent part, less the fee, rounded down. All in parts per million.
pub(super) fn supply_rate(borrow_rate_ppm: u32, utilization_ppm: u32, fee_ppm: u32) -> Value<u32> {
    let interest = u64::from(borrow_rate_ppm).checked_mul(utilization_ppm.into()).ok_or(Unknown::Implausible)?;
    let kept = PPM.checked_sub(fee_ppm).ok_or(Unknown::Implausible)?;
    let (rate, _) = multiply_divide(interest.into(), kept.into(), 1_000_000_000_000).ok_or(Unknown::Implausible)?;
    u32::try_from(rate).map_err(|_| Unknown::Implausible)
}

/// A fraction scaled by 10^18 in parts per million, rounded down. Error: more than `max_ppm`.
pub(super) fn wad_to_ppm(wad: u128, max_ppm: u32) -> Value<u32> {
    ppm_of(wad, WAD).and_then(|ppm| if ppm <= max_ppm { Ok(ppm) } else { Err(Unknown::Implausible) })
}

/// A rate per year scaled by 10^27 in parts per million, rounded down. Error: more than 10,000 %.
pub(super) fn ray_to_ppm(ray: u128) -> Value<u32> {
    rate(ray.checked_div(RAY_PER_PPM).ok_or(Unknown::Implausible)?)
}

/// A rate per second, of which `scale` is one, as parts per million of a year, without compounding. Error: more than 10,000 %.
pub(super) fn per_second_to_ppm(rate_per_second: u128, scale: u128) -> Value<u32> {
    let a_year = rate_per_second.checked_mul(SECONDS_PER_YEAR).ok_or(Unknown::Implausible)?;
    let (ppm, _) = multiply_divide(a_year, PPM.into(), scale).ok_or(Unknown::Implausible)?;
    rate(ppm)
}

fn rate(ppm: u128) -> Value<u32> {
    u32::try_from(ppm).ok().filter(|ppm| *ppm <= MAX_RATE_PPM).ok_or(Unknown::Implausible)
}

/// Basis points (10,000 are one) in parts per million. Error: more than `max_bp`.
pub(super) fn bp_to_ppm(bp: u64, max_bp: u64) -> Value<u32> {
    let bp = u32::try_from(bp).ok().filter(|bp| u64::from(*bp) <= max_bp).ok_or(Unknown::Implausible)?;
    bp.checked_mul(100).ok_or(Unknown::Implausible)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_sol_types::private::U256;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn products_are_divided_as_by_256_bit_arithmetic(a: u128, b: u128, small: u64, divisor: u128) {
            for (a, b) in [(a, b), (a, small.into()), (small.into(), small.into()), (u128::MAX, u128::MAX)] {
                let product = U256::from(a) * U256::from(b);
                let ours = multiply_divide(a, b, divisor);
                match divisor {
                    0 => prop_assert_eq!(ours, None),
                    _ => {
                        let (quotient, remainder) = product.div_rem(U256::from(divisor));
                        let fits = quotient.bit_len() <= 128;
                        prop_assert_eq!(ours, fits.then(|| (quotient.to::<u128>(), remainder.to::<u128>())));
                    }
                }
            }
        }
    }

    #[test]
    fn rates_are_in_parts_per_million_of_a_year() {
        assert_eq!(ray_to_ppm(25 * 10_u128.pow(24)), Ok(25_000));
        assert_eq!(ray_to_ppm(u128::MAX), Err(Unknown::Implausible));
        // 5 % a year, in parts of 10^18 a second.
        assert_eq!(per_second_to_ppm(1_585_489_600, WAD), Ok(50_000));
        assert_eq!(per_second_to_ppm(u128::MAX, WAD), Err(Unknown::Implausible));
    }

    #[test]
    fn fractions_above_their_maximum_are_implausible() {
        assert_eq!(wad_to_ppm(WAD, PPM), Ok(PPM));
        assert_eq!(wad_to_ppm(WAD + WAD / 100, PPM), Err(Unknown::Implausible));
        assert_eq!(bp_to_ppm(10_000, 10_000), Ok(PPM));
        assert_eq!(bp_to_ppm(10_001, 10_000), Err(Unknown::Implausible));
        assert_eq!(ppm_of(7, 0), Ok(0));
        assert_eq!(ppm_of(2, 3), Ok(666_666));
        assert_eq!(ppm_of(u128::MAX, 1), Err(Unknown::Implausible));
    }
}
