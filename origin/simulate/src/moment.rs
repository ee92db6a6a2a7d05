//! The simulated hour within its run.

use rds_shared::wire::Timestamp;
use rds_store::At;

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

/// One simulated hour. Scripted changes are timed backwards from the last hour, so a run of any length ends in the same state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The hour's instant.
    pub now: Timestamp,
    /// Number of the hour, counted from 0.
    pub hour: u32,
    /// Number of hours of the run.
    pub hours: u32,
}

impl Moment {
    /// The hour numbered `hour` of a run whose last hour contains `end`.
    pub fn of(end: Timestamp, hour: u32, hours: u32) -> Moment {
        let last = end.as_seconds().div_euclid(HOUR) * HOUR;
        let now = Timestamp::from_seconds(last).plus_seconds(-HOUR * i64::from(hours.saturating_sub(hour + 1)));
        Moment { now, hour, hours }
    }

    /// The hour before this one; `None` in the first.
    pub fn before(self) -> Option<Moment> {
        let hour = self.hour.checked_sub(1)?;
        Some(Moment { now: self.now.plus_seconds(-HOUR), hour, hours: self.hours })
    }

    /// Whether this is one of the last `hours` hours of the run.
    pub fn in_the_last(self, hours: u32) -> bool {
        self.hours - self.hour <= hours
    }

    /// The instant, as `observed_at`.
    pub fn at(self) -> At {
        At(self.now)
    }

    /// The start of the last `hours` hours, even if the run is shorter.
    pub fn start_of_the_last(self, hours: u32) -> At {
        let end = self.now.plus_seconds(HOUR * i64::from(self.hours - self.hour - 1));
        At(end.plus_seconds(-HOUR * (i64::from(hours) - 1)))
    }

    /// The instant `days` days before the start of the run.
    pub fn days_before_start(self, days: u32) -> At {
        At(self.now.plus_seconds(-HOUR * i64::from(self.hour) - DAY * i64::from(days)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_hour_of_a_run_contains_its_end() {
        let end = Timestamp::parse("2026-11-21T10:42:00Z").unwrap();
        let last = Moment::of(end, 71, 72);
        assert_eq!(last.now.to_string(), "2026-11-21T10:00:00.000Z");
        assert!(
            last.in_the_last(1) && Moment::of(end, 0, 72).in_the_last(72) && !Moment::of(end, 0, 72).in_the_last(71)
        );
        assert_eq!(Moment::of(end, 70, 72), last.before().unwrap());
        assert_eq!(Moment::of(end, 0, 72).before(), None);
    }

    #[test]
    fn dates_relative_to_the_run_are_the_same_in_every_hour() {
        let end = Timestamp::parse("2026-11-21T10:42:00Z").unwrap();
        for hour in 0..72 {
            let moment = Moment::of(end, hour, 72);
            assert_eq!(moment.days_before_start(2).0.to_string(), "2026-11-16T11:00:00.000Z");
            assert_eq!(moment.start_of_the_last(2).0.to_string(), "2026-11-21T09:00:00.000Z");
        }
    }
}
