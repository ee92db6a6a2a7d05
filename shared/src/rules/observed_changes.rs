//! The events that the service derives from readings: changes of the deposit status, of allocations and of bad debt. Each change raises one
//! event.
//!
//! A reading is compared with a stored baseline, usually the value of the last event, and not with the previous reading. Noise around the
//! baseline therefore raises no event, and a slow drift raises one once it has reached the threshold.

use crate::model::status::DepositStatus;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

/// Smallest reallocated part of a vault's value that raises an event, in parts per million: 10 %.
pub const ALLOCATION_SHIFT_PPM: u64 = 100_000;
/// Smallest growth of bad debt that raises an event, in USD; [`BAD_DEBT_STEP_SHARE`] must be met too.
pub const BAD_DEBT_STEP_USD: f64 = 1_000.0;
/// Smallest growth of bad debt that raises an event, as a fraction of the bad debt last notified.
pub const BAD_DEBT_STEP_SHARE: f64 = 0.1;
/// Bad debt of at least this fraction of the value of the vault or market is critical.
pub const BAD_DEBT_CRITICAL_SHARE: f64 = 0.01;

/// The last confirmed deposit status if `reading` differs from it; otherwise `None`.
///
/// An `unknown` reading is skipped, so the sequence open, unknown, closed is one change. A vault's first confirmed status is not a change.
pub fn deposit_move(confirmed: Option<DepositStatus>, reading: DepositStatus) -> Option<DepositStatus> {
    confirmed.filter(|before| reading != DepositStatus::Unknown && *before != reading)
}

/// The part of a vault's value whose allocation changed, in parts per million. If an allocation sums to less than 1,000,000, the difference
/// counts as idle.
pub fn reallocated_ppm(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> u64 {
    let of = |parts: &BTreeMap<String, u64>, part: &String| parts.get(part).copied().unwrap_or(0);
    let rest = |parts: &BTreeMap<String, u64>| {
        1_000_000_u64.saturating_sub(parts.values().copied().fold(0, u64::saturating_add))
    };
    let parts: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let moved = parts.into_iter().map(|part| of(before, part).abs_diff(of(after, part))).fold(0, u64::saturating_add);
    moved.saturating_add(rest(before).abs_diff(rest(after))) / 2
}

/// Who controls a vault, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Control {
    /// Whether nobody can change the vault.
    pub is_immutable: bool,
    /// Seconds from the announcement of a change until it can be made.
    pub timelock_seconds: Option<u64>,
    /// Number of keys that must sign.
    pub needed: Option<u32>,
}

/// Whether control became weaker: changes are possible at last, or after a shorter delay, or with fewer keys. What became unknown counts as
/// weaker.
pub fn is_weaker_control(before: Control, after: Control) -> bool {
    if before.is_immutable || after.is_immutable {
        return !after.is_immutable;
    }
    after.timelock_seconds < before.timelock_seconds || after.needed < before.needed
}

/// The effect of a bad-debt reading, given the amount last notified. Amounts in USD.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BadDebt {
    /// Bad debt grew by this much: raise an event.
    Grew(f64),
    /// Bad debt fell, or this is the first reading and below the step: record it as the new baseline without an event.
    NewBaseline,
    /// Bad debt grew by less than the step: neither an event nor a new baseline.
    Unchanged,
}

/// Compares a reading of bad debt with the amount last notified, which counts as 0 if there is none.
pub fn bad_debt(last_notified: Option<f64>, reading: f64) -> BadDebt {
    let before = last_notified.unwrap_or(0.0);
    let growth = reading - before;
    if growth >= BAD_DEBT_STEP_USD && growth >= before * BAD_DEBT_STEP_SHARE {
        BadDebt::Grew(growth)
    } else if growth < 0.0 || last_notified.is_none() {
        BadDebt::NewBaseline
    } else {
        BadDebt::Unchanged
    }
}

/// Whether bad debt of this size is critical for a subject of this value. If the value is unknown, any bad debt is critical.
pub fn is_critical_debt(bad_debt_usd: f64, value_usd: Option<f64>) -> bool {
    value_usd.is_none_or(|value| bad_debt_usd >= value * BAD_DEBT_CRITICAL_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_is_weaker_with_a_shorter_delay_or_fewer_keys() {
        let control = |timelock_seconds, needed| Control { is_immutable: false, timelock_seconds, needed };
        let immutable = Control { is_immutable: true, ..Control::default() };
        for (before, after, is_weaker) in [
            (control(Some(60), Some(3)), control(Some(60), Some(3)), false),
            (control(Some(60), Some(3)), control(Some(0), Some(3)), true),
            (control(Some(60), Some(3)), control(Some(90), Some(2)), true),
            (control(Some(60), Some(3)), control(None, Some(3)), true),
            (control(None, None), control(Some(60), Some(3)), false),
            (immutable, control(Some(60), Some(3)), true),
            (control(Some(60), Some(3)), immutable, false),
        ] {
            assert_eq!(is_weaker_control(before, after), is_weaker, "{before:?} {after:?}");
        }
    }
    use DepositStatus::{Closed, Open, Unknown};
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn only_a_change_between_confirmed_states_counts() {
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
    fn value_that_moves_from_one_part_to_another_counts_once() {
        let before = parts(&[("a", 600_000), ("b", 400_000)]);
        assert_eq!(reallocated_ppm(&before, &parts(&[("a", 500_000), ("b", 500_000)])), 100_000);
        assert_eq!(reallocated_ppm(&before, &parts(&[("c", 1_000_000)])), 1_000_000);
        assert_eq!(reallocated_ppm(&before, &parts(&[("a", 600_000)])), 400_000, "the rest is idle");
    }

    #[test]
    fn bad_debt_raises_an_event_when_it_grows_by_a_step_and_a_fall_sets_a_new_baseline() {
        assert_eq!(bad_debt(None, 0.0), BadDebt::NewBaseline);
        assert_eq!(bad_debt(None, 5_000.0), BadDebt::Grew(5_000.0));
        assert_eq!(bad_debt(Some(0.0), 999.0), BadDebt::Unchanged);
        assert_eq!(bad_debt(Some(100_000.0), 105_000.0), BadDebt::Unchanged);
        assert_eq!(bad_debt(Some(100_000.0), 110_000.0), BadDebt::Grew(10_000.0));
        assert_eq!(bad_debt(Some(100_000.0), 90_000.0), BadDebt::NewBaseline);
    }

    #[test]
    fn bad_debt_of_one_percent_of_the_value_is_critical() {
        assert!(is_critical_debt(10.0, Some(1_000.0)) && is_critical_debt(10.0, None));
        assert!(!is_critical_debt(9.9, Some(1_000.0)));
    }

    proptest! {
        #[test]
        fn a_move_is_symmetric_and_never_more_than_the_whole(a in 0u64..=1_000_000, b in 0u64..=1_000_000) {
            let (a, b) = (parts(&[("x", a), ("y", 1_000_000 - a)]), parts(&[("x", b)]));
            prop_assert_eq!(reallocated_ppm(&a, &b), reallocated_ppm(&b, &a));
            prop_assert!(reallocated_ppm(&a, &b) <= 1_000_000);
            prop_assert_eq!(reallocated_ppm(&a, &a), 0);
        }
    }
}
