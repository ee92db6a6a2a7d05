//! The instants that a backtest looks from: back from where the readings end, one horizon apart.

use super::outcome::Horizon;
use crate::wire::time::Timestamp;
use alloc::vec::Vec;

/// The most instants of one backtest.
pub const MAX_INSTANTS: i64 = 24;

const DAY: i64 = 86_400;

/// The instants, earliest first. Each window ends where the next begins, and the last at the midnight at or before `end`.
///
/// Windows that do not overlap share no loss: one fall of a price is seen from one instant only.
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
