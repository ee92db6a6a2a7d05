//! Concentration of a vault's holders, from balances of any size.
//!
//! Each fraction is an exact quotient of integers, rounded once, half up, to a millionth.

use alloc::vec::Vec;

use num_bigint::BigUint;

use crate::model::status::CoverageStatus;
use crate::scoring::Ppm;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balance {
    /// The balance in the token's smallest unit.
    pub raw: BigUint,
    /// Whether the vault's own protocol manages the holder.
    pub managed: bool,
}

/// Concentration among a set of holders, as fractions of their combined balance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Concentration {
    /// Fraction held by the largest holder.
    pub top1: Ppm,
    /// Fraction held by the five largest holders.
    pub top5: Ppm,
    /// Fraction held by the ten largest holders.
    pub top10: Ppm,
    /// Herfindahl–Hirschman index: the sum of the squared fractions. Above 0; 1 for a single holder.
    pub hhi: Ppm,
}

/// Number and concentration of the holders in a list of balances.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HolderFigures {
    /// Number of holders with a balance above 0.
    pub holders: u64,
    /// Number of holders with a balance above 0 that the vault's protocol does not manage.
    pub external_holders: u64,
    /// Concentration among all holders; `None` if no balance is above 0.
    pub all: Option<Concentration>,
    /// Concentration among the external holders; `None` if there are none.
    pub external: Option<Concentration>,
    /// Fraction of the total balance that managed holders have; `None` if the total is 0.
    pub protocol_managed: Option<Ppm>,
}

/// Reads a balance: decimal digits without sign, point or leading zeros.
pub fn parse_balance(text: &str) -> Option<BigUint> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if plain { BigUint::parse_bytes(text.as_bytes(), 10) } else { None }
}

/// `part` / `whole`, rounded half up to a millionth; `None` if `whole` is 0.
pub fn share(part: &BigUint, whole: &BigUint) -> Option<Ppm> {
    if *whole == BigUint::ZERO {
        return None;
    }
    let doubled = part * (2 * Ppm::ONE.0.unsigned_abs()) + whole;
    let ppm = doubled / (whole * 2_u32);
    i64::try_from(ppm).ok().map(Ppm)
}

/// `part` / `whole`, at most 1, truncated to 15 decimals, because a millionth is too coarse for a small holder. `None` if `whole` is 0.
pub fn fraction(part: &BigUint, whole: &BigUint) -> Option<f64> {
    const UNIT: u64 = 1_000_000_000_000_000;
    if *whole == BigUint::ZERO {
        return None;
    }
    let units = u64::try_from(part * UNIT / whole).unwrap_or(UNIT).min(UNIT);
    Some(units as f64 / UNIT as f64)
}

/// The figures of `balances`, in any order. A balance of 0 does not count as a holder.
pub fn figures(balances: &[Balance]) -> HolderFigures {
    let held: Vec<&Balance> = balances.iter().filter(|balance| balance.raw != BigUint::ZERO).collect();
    let (managed, external): (Vec<&Balance>, Vec<&Balance>) = held.iter().partition(|balance| balance.managed);
    let total = sum(&held);
    HolderFigures {
        holders: held.len() as u64,
        external_holders: external.len() as u64,
        all: concentration(&held),
        external: concentration(&external),
        protocol_managed: share(&sum(&managed), &total),
    }
}

/// Coverage is complete when the whole history was read and, where the supply is known, the balances add up to it.
pub fn coverage(backfill_complete: bool, supply: Option<&BigUint>, balances: &[Balance]) -> CoverageStatus {
    let adds_up = supply.is_none_or(|supply| balances.iter().map(|balance| &balance.raw).sum::<BigUint>() == *supply);
    if backfill_complete && adds_up { CoverageStatus::Complete } else { CoverageStatus::Indexing }
}

fn sum(balances: &[&Balance]) -> BigUint {
    balances.iter().map(|balance| &balance.raw).sum()
}

fn concentration(balances: &[&Balance]) -> Option<Concentration> {
    let mut raw: Vec<&BigUint> = balances.iter().map(|balance| &balance.raw).collect();
    raw.sort_unstable_by(|a, b| b.cmp(a));
    let total: BigUint = raw.iter().copied().sum();
    let top = |n: usize| share(&raw.iter().take(n).copied().sum(), &total);
    let squares: BigUint = raw.iter().map(|&raw| raw * raw).sum();
    Some(Concentration { top1: top(1)?, top5: top(5)?, top10: top(10)?, hhi: share(&squares, &(&total * &total))? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    fn of(text: &str, managed: bool) -> Balance {
        Balance { raw: parse_balance(text).unwrap(), managed }
    }

    #[test]
    fn four_equal_holders_are_a_quarter_each() {
        let figures = figures(&[of("5", false), of("5", true), of("5", false), of("5", false)]);
        assert_eq!((figures.holders, figures.external_holders), (4, 3));
        assert_eq!(figures.protocol_managed, Some(Ppm(250_000)));
        let all = figures.all.unwrap();
        assert_eq!((all.top1, all.top5, all.hhi), (Ppm(250_000), Ppm::ONE, Ppm(250_000)));
        assert_eq!(figures.external.unwrap().top1, Ppm(333_333), "a third, rounded once");
    }

    #[test]
    fn figures_of_balances_beyond_any_machine_word_are_exact() {
        // 2 · (10⁴⁰⁰ + 1) and 10⁴⁰⁰ + 1: beyond the range of a double.
        let one = "1".to_string() + &"0".repeat(399) + "1";
        let two = "2".to_string() + &"0".repeat(399) + "2";
        let all = figures(&[of(&two, false), of(&one, false)]).all.unwrap();
        assert_eq!((all.top1, all.top10, all.hhi), (Ppm(666_667), Ppm::ONE, Ppm(555_556)));
    }

    #[test]
    fn without_a_balance_there_are_no_shares() {
        let empty = figures(&[of("0", false)]);
        assert_eq!(empty, HolderFigures::default());
        let managed = figures(&[of("7", true)]);
        assert_eq!((managed.external, managed.protocol_managed), (None, Some(Ppm::ONE)));
    }

    #[test]
    fn a_balance_has_one_spelling() {
        for bad in ["", "-1", "+1", "1.0", "01", "00", "1e3", " 1", "0x1", "1_000", "١"] {
            assert_eq!(parse_balance(bad), None, "{bad:?}");
        }
        assert_eq!(parse_balance("0"), Some(BigUint::ZERO));
    }

    #[test]
    fn coverage_needs_the_whole_history_and_the_whole_supply() {
        let balances = [of("60", false), of("40", false)];
        let supply = |text| parse_balance(text).unwrap();
        let complete = CoverageStatus::Complete;
        assert_eq!(coverage(true, None, &balances), complete);
        assert_eq!(coverage(true, Some(&supply("100")), &balances), complete);
        assert_eq!(coverage(true, Some(&supply("101")), &balances), CoverageStatus::Indexing);
        assert_eq!(coverage(false, Some(&supply("100")), &balances), CoverageStatus::Indexing);
    }

    proptest! {
        #[test]
        fn concentration_stays_within_its_bounds(raw in proptest::collection::vec(1_u64.., 1..40)) {
            let balances: Vec<Balance> = raw.iter().map(|raw| Balance { raw: (*raw).into(), managed: false }).collect();
            let all = figures(&balances).all.unwrap();
            prop_assert!(all.top1 <= all.top5 && all.top5 <= all.top10 && all.top10 <= Ppm::ONE);
            // The index is at least that of equal holders and at most the largest fraction. Each value is rounded on its own, so the
            // bounds allow a difference of one millionth.
            let equal = Ppm::ONE.0 / raw.len() as i64;
            prop_assert!(all.hhi.0 + 1 >= equal && all.hhi.0 <= all.top1.0 + 1);
            if raw.len() <= 10 {
                prop_assert_eq!(all.top10, Ppm::ONE);
            }
        }

        #[test]
        fn figures_depend_on_neither_order_nor_unit(
            raw in proptest::collection::vec((1_u64..1_000_000, any::<bool>()), 1..20), zeros in 0_u32..60,
        ) {
            let unit = BigUint::from(10_u32).pow(zeros);
            let balances: Vec<Balance> = raw.iter().map(|(raw, managed)| Balance { raw: (*raw).into(), managed: *managed }).collect();
            let mut scaled: Vec<Balance> =
                balances.iter().map(|balance| Balance { raw: &balance.raw * &unit, managed: balance.managed }).collect();
            scaled.reverse();
            prop_assert_eq!(figures(&balances), figures(&scaled));
        }
    }

    #[test]
    fn a_fraction_tells_small_holders_apart_and_never_exceeds_the_whole() {
        let of = |part: u64, whole: u64| fraction(&part.into(), &whole.into());
        assert_eq!((of(1, 4), of(3, 10_000_000_000)), (Some(0.25), Some(3e-10)));
        assert_eq!((of(7, 5), of(0, 5), of(1, 0)), (Some(1.0), Some(0.0), None));
    }

    #[test]
    fn a_half_is_rounded_up() {
        assert_eq!(share(&1_u32.into(), &2_000_000_u32.into()), Some(Ppm(1)));
        assert_eq!(share(&1_u32.into(), &2_000_001_u32.into()), Some(Ppm(0)));
        assert_eq!(share(&BigUint::ZERO, &BigUint::ZERO), None);
    }
}
