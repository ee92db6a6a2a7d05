//! When a provider may be asked.
//!
//! A provider has a number of requests a second, saved up for one second at most. A rate limit or a failure closes it for a while: for the
//! time that it asks for, or for a time that doubles with each further failure. All times are durations since a common start, so that a
//! test moves them.

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
    /// Time between two requests.
    interval: Duration,
    /// From when on the next request is allowed; earlier than now if requests are saved up.
    next: Duration,
    /// Until when the provider is not asked.
    closed_until: Duration,
    /// Failures in a row.
    failures: u32,
}

impl Budget {
    /// A budget of `requests_per_second` requests, at least one.
    pub fn new(requests_per_second: u32) -> Self {
        let interval = Duration::from_secs(1) / requests_per_second.max(1);
        Budget { interval, next: Duration::ZERO, closed_until: Duration::ZERO, failures: 0 }
    }

    /// Takes one request at `now`, or says how long to wait for it.
    pub fn take(&mut self, now: Duration) -> Result<(), Duration> {
        let from = self.next.max(self.closed_until);
        if from > now {
            return Err(from - now);
        }
        // Requests that were not made are saved up for one second.
        let saved = now.saturating_sub(Duration::from_secs(1));
        self.next = self.next.max(saved) + self.interval;
        Ok(())
    }

    /// Whether the provider is not asked at `now` because it failed.
    pub fn is_closed(&self, now: Duration) -> bool {
        self.closed_until > now
    }

    /// Records the outcome of a request at `now`. A failure that is no fault of the provider, such as a revert or too large a request, counts
    /// as a success.
    pub fn record(&mut self, outcome: Result<(), &Failure>, now: Duration) {
        let pause = match outcome {
            Err(Failure::RateLimited { retry_after }) => {
                let asked = retry_after.map(|seconds| Duration::from_secs(seconds.into()));
                asked.unwrap_or(RATE_LIMIT_PAUSE)
            }
            Err(Failure::Transport | Failure::Forbidden) => {
                let doubled = FIRST_PAUSE.saturating_mul(1 << self.failures.min(20));
                self.failures = self.failures.saturating_add(1);
                doubled.min(LONGEST_PAUSE)
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
        let mut budget = Budget::new(4);
        let now = 100 * SECOND;
        let made = (0..20).take_while(|_| budget.take(now).is_ok()).count();
        // Four of the last second, and the one of now.
        assert_eq!(made, 5);
        assert_eq!(budget.take(now), Err(SECOND / 4));
        assert_eq!(budget.take(now + SECOND / 4), Ok(()));
        assert!(budget.take(now + SECOND / 4).is_err());
    }

    #[test]
    fn a_rate_limit_closes_the_provider_for_the_time_that_it_asks_for() {
        let mut budget = Budget::new(10);
        budget.record(Err(&Failure::RateLimited { retry_after: Some(30) }), 100 * SECOND);
        assert_eq!(budget.take(110 * SECOND), Err(20 * SECOND));
        assert!(budget.is_closed(129 * SECOND) && !budget.is_closed(130 * SECOND));
        // A shorter pause does not open it earlier.
        budget.record(Err(&Failure::RateLimited { retry_after: None }), 101 * SECOND);
        assert!(budget.is_closed(129 * SECOND));
        assert_eq!(budget.take(130 * SECOND), Ok(()));
    }

    #[test]
    fn failures_in_a_row_close_it_for_longer_and_a_success_forgets_them() {
        let mut budget = Budget::new(10);
        let mut pauses = Vec::new();
        let mut now = SECOND;
        for _ in 0..14 {
            budget.record(Err(&Failure::Transport), now);
            let pause = budget.take(now).unwrap_err();
            pauses.push(pause);
            now += pause;
        }
        assert_eq!(pauses[..3], [SECOND / 2, SECOND, 2 * SECOND]);
        assert_eq!(pauses.last(), Some(&LONGEST_PAUSE));
        budget.record(Ok(()), now);
        budget.record(Err(&Failure::Transport), now);
        assert_eq!(budget.take(now), Err(FIRST_PAUSE));
    }

    #[test]
    fn what_a_contract_does_is_no_failure_of_the_provider() {
        let mut budget = Budget::new(10);
        for failure in [Failure::Reverted { data: Vec::new() }, Failure::Gas, Failure::Size, Failure::UnknownBlock] {
            budget.record(Err(&failure), SECOND);
            assert!(!budget.is_closed(SECOND), "{failure:?}");
        }
    }
}
