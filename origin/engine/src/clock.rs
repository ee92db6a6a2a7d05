//! Time as an argument: the domain clock, which a test may move, and the wall clock, which cannot be moved.
//!
//! Only this file and `entropy.rs` read the operating system's time and randomness; `clippy.toml` bans the calls elsewhere.

use rds_shared::wire::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A cheap handle to the time. Clones share their state: moving a test clock moves all its clones.
#[derive(Debug, Clone)]
pub struct Clock(Source);

#[derive(Debug, Clone)]
enum Source {
    /// The operating system's time.
    System,
    /// The operating system's time plus this many microseconds.
    Shifted(Arc<AtomicI64>),
    /// Fixed at this instant, in microseconds since 1970, until it is moved.
    Held(Arc<AtomicI64>),
}

impl Clock {
    /// The real time; it cannot be moved.
    pub fn system() -> Self {
        Clock(Source::System)
    }

    /// A clock that starts at the real time, runs, and can be moved: `--test-clock`.
    pub fn movable() -> Self {
        Clock(Source::Shifted(Arc::default()))
    }

    /// A running clock that is `micros` ahead of the real time, to match a service that reported its own shift.
    pub fn shifted(micros: i64) -> Self {
        Clock(Source::Shifted(Arc::new(AtomicI64::new(micros))))
    }

    /// A clock fixed at `at` until it is moved: simulations and tests.
    pub fn held(at: Timestamp) -> Self {
        Clock(Source::Held(Arc::new(AtomicI64::new(at.as_micros()))))
    }

    /// The domain time, by which facts, scores, dwell and freshness are measured.
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System => wall(),
            Source::Shifted(shift) => {
                Timestamp::from_micros(wall().as_micros().saturating_add(shift.load(Ordering::Relaxed)))
            }
            Source::Held(at) => Timestamp::from_micros(at.load(Ordering::Relaxed)),
        }
    }

    /// The real time, even when a test moved [`now`](Self::now): for ages of assertions, timeouts and log lines.
    pub fn wall(&self) -> Timestamp {
        wall()
    }

    /// Whether [`set`](Self::set) and [`advance`](Self::advance) do anything.
    pub fn is_movable(&self) -> bool {
        !matches!(self.0, Source::System)
    }

    /// Whether this is a running clock that can be moved (`--test-clock`), so that other machines may show another time.
    pub fn is_test_clock(&self) -> bool {
        matches!(self.0, Source::Shifted(_))
    }

    /// How far a movable clock is ahead of the real time, in microseconds; `None` for a clock that cannot be moved.
    pub fn shift(&self) -> Option<i64> {
        self.is_movable().then(|| self.now().as_micros().saturating_sub(wall().as_micros()))
    }

    /// Moves the domain time to `to`. `false` when this clock cannot be moved.
    pub fn set(&self, to: Timestamp) -> bool {
        match &self.0 {
            Source::System => return false,
            Source::Shifted(shift) => shift.store(to.as_micros().saturating_sub(wall().as_micros()), Ordering::Relaxed),
            Source::Held(at) => at.store(to.as_micros(), Ordering::Relaxed),
        }
        true
    }

    /// Moves the domain time by `seconds`, back when negative. `false` when this clock cannot be moved.
    pub fn advance(&self, seconds: i64) -> bool {
        self.set(self.now().plus_seconds(seconds))
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the system's clock")]
fn wall() -> Timestamp {
    let micros = match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX),
    };
    Timestamp::from_micros(micros)
}

/// A monotonic timer, independent of the clocks above.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "durations are measured here and nowhere else")]
    pub fn start() -> Self {
        Stopwatch(Instant::now())
    }

    /// Microseconds since the start.
    pub fn micros(self) -> u64 {
        u64::try_from(self.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moving_a_clock_moves_its_clones_and_not_the_wall_clock() {
        let clock = Clock::movable();
        let other = clock.clone();
        let target = Timestamp::from_seconds(2_000_000_000);
        assert!(clock.set(target));
        assert!((0..60).contains(&other.now().seconds_since(target)));
        assert!(clock.advance(-3_600));
        assert!((-3_600..-3_540).contains(&other.now().seconds_since(target)));
        assert!(other.wall() < target);
    }

    #[test]
    fn a_held_clock_changes_only_when_it_is_moved() {
        let clock = Clock::held(Timestamp::from_seconds(100));
        assert_eq!(clock.now(), Timestamp::from_seconds(100));
        assert!(clock.advance(5));
        assert_eq!(clock.now(), Timestamp::from_seconds(105));
    }

    #[test]
    fn the_real_clock_cannot_be_moved() {
        let clock = Clock::system();
        assert!(!clock.is_movable() && !clock.set(Timestamp::from_seconds(0)) && !clock.advance(1));
        assert!(clock.now() > Timestamp::from_seconds(1_700_000_000));
    }
}
