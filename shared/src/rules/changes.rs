//! Which readings of a subject are news: events that the service makes itself, each once.
//!
//! A reading is compared with what was last told of the subject, not with the reading before it: so noise around a value is
//! no news, and what creeps is told when it has come far enough.
//!
//! Source: interface, "Vault event row" and "States and transitions".

use crate::model::status::DepositStatus;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

/// An allocation is told to have changed when this much of the whole has moved, in parts per million: 10 %.
pub const ALLOCATION_SHIFT_PPM: u64 = 100_000;
/// Bad debt is told to have grown by this much at least, in USD, ...
pub const BAD_DEBT_STEP_USD: f64 = 1_000.0;
/// ... and by this part of what was told before.
pub const BAD_DEBT_STEP_SHARE: f64 = 0.1;
/// From this part of the value on, new bad debt is critical.
pub const BAD_DEBT_CRITICAL_SHARE: f64 = 0.01;

/// The state before a reading that moved a vault's deposit status; none when it did not.
///
/// Only confirmed states count: `unknown` is passed over, so that open, unknown, closed is one move. The first confirmed
/// state of a vault is no move.
pub fn deposit_move(confirmed: Option<DepositStatus>, reading: DepositStatus) -> Option<DepositStatus> {
    confirmed.filter(|before| reading != DepositStatus::Unknown && *before != reading)
}

/// How much of the whole sits elsewhere than before, in parts per million. What is in neither list is allocated to nothing.
pub fn moved_ppm(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> u64 {
    let of = |parts: &BTreeMap<String, u64>, part: &String| parts.get(part).copied().unwrap_or(0);
    let rest = |parts: &BTreeMap<String, u64>| {
        1_000_000_u64.saturating_sub(parts.values().copied().fold(0, u64::saturating_add))
    };
    let parts: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let moved = parts.into_iter().map(|part| of(before, part).abs_diff(of(after, part))).fold(0, u64::saturating_add);
    moved.saturating_add(rest(before).abs_diff(rest(after))) / 2
}

/// What a reading of bad debt means, given what was told before. Amounts in USD.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BadDebt {
    /// It grew by this much: news.
    Gained(f64),
    /// It fell: the next gain is counted from here.
    Fell,
    /// Nothing to tell.
    Same,
}

/// Judges a reading of bad debt. A subject of which nothing was known had none.
pub fn bad_debt(told: Option<f64>, reading: f64) -> BadDebt {
    let before = told.unwrap_or(0.0);
    let gained = reading - before;
    if gained >= BAD_DEBT_STEP_USD && gained >= before * BAD_DEBT_STEP_SHARE {
        BadDebt::Gained(gained)
    } else if gained < 0.0 || told.is_none() {
        BadDebt::Fell
    } else {
        BadDebt::Same
    }
}

/// Whether bad debt of this size is critical for a subject of this value; without a known value it is.
pub fn is_critical_debt(bad_debt_usd: f64, value_usd: Option<f64>) -> bool {
    value_usd.is_none_or(|value| bad_debt_usd >= value * BAD_DEBT_CRITICAL_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use DepositStatus::{Closed, Open, Unknown};
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn only_confirmed_states_move() {
        for (confirmed, reading, from) in [
            (None, Open, None),
            (None, Unknown, None),
            (Some(Open), Open, None),
            (Some(Open), Unknown, None),
            (Some(Open), Closed, Some(Open)),
            (Some(Closed), Open, Some(Closed)),
        ] {
            assert_eq!(deposit_move(confirmed, reading), from, "{confirmed:?} {reading:?}");
        }
    }

    fn parts(all: &[(&str, u64)]) -> BTreeMap<String, u64> {
        all.iter().map(|(part, ppm)| (part.to_string(), *ppm)).collect()
    }

    #[test]
    fn what_moves_is_counted_once() {
        let before = parts(&[("a", 600_000), ("b", 400_000)]);
        assert_eq!(moved_ppm(&before, &parts(&[("a", 500_000), ("b", 500_000)])), 100_000);
        assert_eq!(moved_ppm(&before, &parts(&[("c", 1_000_000)])), 1_000_000);
        assert_eq!(moved_ppm(&before, &parts(&[("a", 600_000)])), 400_000, "the rest lies idle");
    }

    #[test]
    fn bad_debt_is_told_when_it_grows_by_a_step_and_counted_anew_from_where_it_fell_to() {
        assert_eq!(bad_debt(None, 0.0), BadDebt::Fell);
        assert_eq!(bad_debt(None, 5_000.0), BadDebt::Gained(5_000.0));
        assert_eq!(bad_debt(Some(0.0), 999.0), BadDebt::Same);
        assert_eq!(bad_debt(Some(100_000.0), 105_000.0), BadDebt::Same);
        assert_eq!(bad_debt(Some(100_000.0), 110_000.0), BadDebt::Gained(10_000.0));
        assert_eq!(bad_debt(Some(100_000.0), 90_000.0), BadDebt::Fell);
    }

    #[test]
    fn bad_debt_is_critical_from_a_hundredth_of_the_value_on() {
        assert!(is_critical_debt(10.0, Some(1_000.0)) && is_critical_debt(10.0, None));
        assert!(!is_critical_debt(9.9, Some(1_000.0)));
    }

    proptest! {
        #[test]
        fn a_move_is_symmetric_and_never_more_than_the_whole(a in 0u64..=1_000_000, b in 0u64..=1_000_000) {
            let (a, b) = (parts(&[("x", a), ("y", 1_000_000 - a)]), parts(&[("x", b)]));
            prop_assert_eq!(moved_ppm(&a, &b), moved_ppm(&b, &a));
            prop_assert!(moved_ppm(&a, &b) <= 1_000_000);
            prop_assert_eq!(moved_ppm(&a, &a), 0);
        }
    }
}
