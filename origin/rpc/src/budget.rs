//! When a provider may be asked.
//!
//! A provider has a number of requests a second, and perhaps of units (see [`crate::units`]), each saved up for one second at most. A request
//! counts when it is sent, also if it is given up later. A rate limit or a failure closes the provider for a while: for the time that it asks
//! for, or for a time that doubles with each further failure and is no shorter than the time that was waited in vain. All times are durations
//! since a common start, so that a test moves them.

use rds_chain::failure::Failure;
use std::time::Duration;

/// Pause after the first failure in a row.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Longest pause after failures.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// Pause after a rate limit without `Retry-After`.
const RATE_LIMIT_PAUSE: Duration = Duration::from_secs(10);

/// The budget of one provider.
#[derive(Debug, Clone)]
pub struct Budget {
    requests: Rate,
    units: Option<Rate>,
    /// Until when the provider is not asked.
    closed_until: Duration,
    /// Failures in a row. Requests that were under way together fail together, and count once.
    failures: u32,
    /// When the last of them was noticed.
    failed_at: Duration,
}

/// So many a second.
#[derive(Debug, Clone)]
struct Rate {
    /// Time that one costs.
    interval: Duration,
    /// From when on the next is allowed; earlier than now if some are saved up.
    next: Duration,
}

/// Pause after a failure that `before` others preceded in a row.
pub(crate) fn pause(before: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << before.min(20)).min(LONGEST_PAUSE)
}

impl Rate {
    fn new(a_second: u32) -> Self {
        Rate { interval: Duration::from_secs(1) / a_second.max(1), next: Duration::ZERO }
    }

    fn take(&mut self, many: u32, now: Duration) {
        // What was not taken is saved up for one second.
        let saved = now.saturating_sub(Duration::from_secs(1));
        self.next = self.next.max(saved) + self.interval.saturating_mul(many);
    }
}

impl Budget {
    /// A budget of `requests_per_second` requests, at least one, and of `units_per_second` units.
    pub fn new(requests_per_second: u32, units_per_second: Option<u32>) -> Self {
        Budget {
            requests: Rate::new(requests_per_second),
            units: units_per_second.map(Rate::new),
            closed_until: Duration::ZERO,
            failures: 0,
            failed_at: Duration::ZERO,
        }
    }

    /// Takes one request of `units` units at `now`, or says how long to wait for it. A request may cost more than the units of a second; the
    /// next one then waits until they are made up for.
    pub fn take(&mut self, units: u32, now: Duration) -> Result<(), Duration> {
        let of_units = self.units.as_ref().map_or(Duration::ZERO, |units| units.next);
        let from = self.requests.next.max(of_units).max(self.closed_until);
        if from > now {
            return Err(from - now);
        }
        self.requests.take(1, now);
        if let Some(rate) = &mut self.units {
            rate.take(units, now);
        }
        Ok(())
    }

    /// Whether the last request failed.
    pub fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// Whether the provider is not asked at `now` because it failed.
    pub fn is_closed(&self, now: Duration) -> bool {
        self.closed_until > now
    }

    /// Records the outcome of a request that was sent at `sent` and is over at `now`. A failure that is no fault of the provider, such as a
    /// revert or too large a request, counts as a success.
    pub fn record(&mut self, outcome: Result<(), &Failure>, sent: Duration, now: Duration) {
        let pause = match outcome {
            Err(Failure::RateLimited { retry_after }) => {
                let asked = retry_after.map(|seconds| Duration::from_secs(seconds.into()));
                asked.unwrap_or(RATE_LIMIT_PAUSE)
            }
            Err(Failure::Transport | Failure::Forbidden) => {
                if self.failures > 0 && sent < self.failed_at {
                    return;
                }
                let pause = pause(self.failures);
                self.failures = self.failures.saturating_add(1);
                self.failed_at = now;
                pause.max(now.saturating_sub(sent)).min(LONGEST_PAUSE)
            }
            Ok(()) | Err(_) => {
                self.failures = 0;
                return;
            }
        };
        self.closed_until = self.closed_until.max(now + pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn requests_are_saved_up_for_one_second() {
        let mut budget = Budget::new(4, None);
        let now = 100 * SECOND;
        let made = (0..20).take_while(|_| budget.take(1, now).is_ok()).count();
        // Four of the last second, and the one of now.
        assert_eq!(made, 5);
        assert_eq!(budget.take(1, now), Err(SECOND / 4));
        assert_eq!(budget.take(1, now + SECOND / 4), Ok(()));
        assert!(budget.take(1, now + SECOND / 4).is_err());
    }

    #[test]
    fn a_rate_limit_closes_the_provider_for_the_time_that_it_asks_for() {
        let mut budget = Budget::new(10, None);
        budget.record(Err(&Failure::RateLimited { retry_after: Some(30) }), 100 * SECOND, 100 * SECOND);
        assert_eq!(budget.take(1, 110 * SECOND), Err(20 * SECOND));
        assert!(budget.is_closed(129 * SECOND) && !budget.is_closed(130 * SECOND));
        // A shorter pause does not open it earlier.
        budget.record(Err(&Failure::RateLimited { retry_after: None }), 101 * SECOND, 101 * SECOND);
        assert!(budget.is_closed(129 * SECOND));
        assert_eq!(budget.take(1, 130 * SECOND), Ok(()));
    }

    #[test]
    fn failures_in_a_row_close_it_for_longer_and_a_success_forgets_them() {
        let mut budget = Budget::new(10, None);
        let mut pauses = Vec::new();
        let mut now = SECOND;
        for _ in 0..14 {
            budget.record(Err(&Failure::Transport), now, now);
            let pause = budget.take(1, now).unwrap_err();
            pauses.push(pause);
            now += pause;
        }
        assert_eq!(pauses[..3], [SECOND / 2, SECOND, 2 * SECOND]);
        assert_eq!(pauses.last(), Some(&LONGEST_PAUSE));
        budget.record(Ok(()), now, now);
        budget.record(Err(&Failure::Transport), now, now);
        assert_eq!(budget.take(1, now), Err(FIRST_PAUSE));
    }

    #[test]
    fn what_a_contract_does_is_no_failure_of_the_provider() {
        let mut budget = Budget::new(10, None);
        for failure in [Failure::Reverted { data: Vec::new() }, Failure::Gas, Failure::Size, Failure::UnknownBlock] {
            budget.record(Err(&failure), SECOND, SECOND);
            assert!(!budget.is_closed(SECOND), "{failure:?}");
        }
    }

    #[test]
    fn units_and_requests_both_count() {
        let mut budget = Budget::new(100, Some(50));
        let now = 100 * SECOND;
        // A second's units are saved up, and a batch may cost more than that.
        assert_eq!(budget.take(120, now), Ok(()));
        let wait = budget.take(1, now).unwrap_err();
        assert_eq!(wait, SECOND * 7 / 5);
        assert_eq!(budget.take(0, now + wait), Ok(()));
        // Units that cost nothing leave the requests.
        assert_eq!((0..200).take_while(|_| budget.take(0, now + wait).is_ok()).count(), 100);
    }

    #[test]
    fn requests_that_fail_together_count_once_and_a_long_wait_closes_for_as_long() {
        let mut budget = Budget::new(10, None);
        for _ in 0..8 {
            budget.record(Err(&Failure::Transport), SECOND, SECOND * 11 / 10);
        }
        assert_eq!(budget.take(1, SECOND * 11 / 10), Err(FIRST_PAUSE));
        budget.record(Err(&Failure::Transport), 2 * SECOND, 22 * SECOND);
        assert_eq!(budget.take(1, 22 * SECOND), Err(20 * SECOND));
        assert!(budget.is_failing());
    }
}
