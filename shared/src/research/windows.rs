//! The start instants of a backtest's windows: one horizon apart, counted back from the end of the readings.

use super::outcome::Horizon;
use crate::wire::time::Timestamp;
use alloc::vec::Vec;

/// Number of windows, and so of start instants, of one backtest.
pub const MAX_INSTANTS: i64 = 24;

const DAY: i64 = 86_400;

/// The instants, earliest first. Each window ends where the next begins; the last ends at the latest UTC midnight not after `end`.
///
/// The windows do not overlap, so each loss counts in one window only.
pub fn instants(end: Timestamp, horizon: Horizon) -> Vec<Timestamp> {
    let midnight = Timestamp::from_seconds(end.as_seconds().div_euclid(DAY) * DAY);
    (1..=MAX_INSTANTS).rev().map(|back| midnight.plus_seconds(-back * horizon.seconds())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn windows_follow_each_other_and_end_where_the_readings_do(seconds in 0i64..4_000_000_000) {
            let end = Timestamp::from_seconds(seconds);
            for horizon in Horizon::ALL.iter().copied() {
                let instants = instants(end, horizon);
                prop_assert_eq!(instants.len() as i64, MAX_INSTANTS);
                let last = instants.last().unwrap().plus_seconds(horizon.seconds());
                prop_assert!(last <= end && end.seconds_since(last) < DAY);
                for pair in instants.windows(2) {
                    prop_assert_eq!(pair[1].seconds_since(pair[0]), horizon.seconds());
                }
                prop_assert!(instants.iter().all(|at| at.as_seconds() % DAY == 0));
            }
        }
    }
}
