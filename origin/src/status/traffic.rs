//! Responses of this process per minute, for the period that the status feed covers.
//!
//! A cell holds minute and count in one number, so that counting takes no lock and loses nothing when a new minute begins.

use rds_shared::wire::Timestamp;
pub use rds_store::service::status::Tally;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Minutes that are kept: one more than the feed covers.
const MINUTES: usize = 16;
const COUNT_BITS: u32 = 32;
const COUNT: u64 = (1 << COUNT_BITS) - 1;

/// The process's responses of the last minutes.
#[derive(Debug, Default)]
pub struct Traffic {
    requests: [AtomicU64; MINUTES],
    failed: [AtomicU64; MINUTES],
}

impl Traffic {
    /// Counts a response given at `now`.
    pub fn answered(&self, now: Timestamp, failed: bool) {
        let minute = minute_of(now);
        count(&self.requests, minute);
        if failed {
            count(&self.failed, minute);
        }
    }

    /// The responses of minute number `minute` since 1970.
    pub fn of(&self, minute: u64) -> Tally {
        let requests = counted(&self.requests, minute);
        // The two counts are not updated together, so `failed` may briefly exceed `requests`.
        Tally { requests, failed: counted(&self.failed, minute).min(requests) }
    }

    /// The responses of the minutes that began within the `seconds` before `now`.
    pub fn within(&self, now: Timestamp, seconds: i64) -> Tally {
        let last = minute_of(now);
        let minutes = u64::try_from(seconds / 60).unwrap_or(0).min(MINUTES as u64);
        (0..minutes)
            .filter_map(|back| last.checked_sub(back))
            .fold(Tally::default(), |sum, minute| sum.plus(self.of(minute)))
    }
}

/// The number of an instant's minute since 1970.
pub fn minute_of(now: Timestamp) -> u64 {
    u64::try_from(now.as_seconds().div_euclid(60)).unwrap_or(0)
}

fn cell(cells: &[AtomicU64; MINUTES], minute: u64) -> &AtomicU64 {
    &cells[(minute % MINUTES as u64) as usize]
}

fn count(cells: &[AtomicU64; MINUTES], minute: u64) {
    let next = |held: u64| match held >> COUNT_BITS == minute & COUNT {
        true if held & COUNT == COUNT => held,
        true => held + 1,
        false => (minute & COUNT) << COUNT_BITS | 1,
    };
    let _ = cell(cells, minute).fetch_update(Relaxed, Relaxed, |held| Some(next(held)));
}

fn counted(cells: &[AtomicU64; MINUTES], minute: u64) -> u64 {
    let held = cell(cells, minute).load(Relaxed);
    if held >> COUNT_BITS == minute & COUNT { held & COUNT } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(1_795_219_200 + seconds)
    }

    #[test]
    fn fifteen_minutes_are_counted_and_older_ones_are_dropped() {
        let traffic = Traffic::default();
        for minute in 0..20 {
            traffic.answered(at(minute * 60), minute % 2 == 0);
        }
        assert_eq!(traffic.within(at(19 * 60 + 59), 900), Tally { requests: 15, failed: 7 });
        assert_eq!(traffic.within(at(20 * 60), 900), Tally { requests: 14, failed: 7 });
        assert_eq!(traffic.within(at(200 * 60), 900), Tally::default());
    }

    #[test]
    fn no_count_is_lost_when_several_threads_begin_a_minute() {
        let traffic = Traffic::default();
        traffic.answered(at(-16 * 60), true);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..5_000).for_each(|_| traffic.answered(at(0), false)));
            }
        });
        assert_eq!(traffic.within(at(0), 900), Tally { requests: 20_000, failed: 0 });
    }
}
