//! The circuit breaker for calls to the origin: while it is open, requests fail at once instead of waiting.
//!
//! Only probes ([`crate::origin_link::signed_call::UnsignedCall::alive`]) open it. A caller's failed request merely triggers a probe, so slow or malformed
//! requests of callers never count against the origin.

use core::time::Duration;
use rds_shared::wire::Timestamp;

/// Failed probes within [`WINDOW_SECONDS`] that open the breaker.
const MAX_FAILURES: usize = 3;
/// Length of the window, in seconds.
const WINDOW_SECONDS: i64 = 10;
/// How long the breaker stays open, in seconds.
const OPEN_SECONDS: i64 = 2;
/// Timeout in seconds after which a probe that never reported no longer blocks others.
const PROBE_SECONDS: i64 = 3;

/// The circuit breaker of one isolate.
#[derive(Debug, Default)]
pub struct Breaker {
    state: State,
    failures: [Option<Timestamp>; MAX_FAILURES],
    /// No second probe starts before this instant.
    probing_until: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Closed,
    /// No calls before this instant; afterwards one probe at a time.
    Open { until: Timestamp },
}

/// What a request may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permit {
    Call,
    /// Probe the origin first and report the outcome.
    Probe,
    /// Do not call; retry after this time.
    Refused {
        /// Whole seconds, at least 1.
        retry_after: u32,
    },
}

impl Breaker {
    /// Whether calls are refused at `now`. Read-only.
    pub fn is_open(&self, now: Timestamp) -> bool {
        matches!(self.state, State::Open { until } if now < until)
    }

    /// Asks for permission to call. Once an open breaker's time is over, the first request must probe; others are refused until the
    /// probe reports or [`PROBE_SECONDS`] have passed.
    pub fn permit(&mut self, now: Timestamp) -> Permit {
        match self.state {
            State::Closed => Permit::Call,
            State::Open { until } if now < until => {
                let left = until.as_millis().saturating_sub(now.as_millis()).unsigned_abs().div_ceil(1_000);
                Permit::Refused { retry_after: u32::try_from(left).unwrap_or(u32::MAX).max(1) }
            }
            State::Open { .. } => {
                self.state = State::Open { until: now.plus_seconds(PROBE_SECONDS) };
                Permit::Probe
            }
        }
    }

    /// Whether the caller of this method should probe; false for at most `limit` while another probe is in progress.
    pub fn begins_probe(&mut self, now: Timestamp, limit: Duration) -> bool {
        if self.probing_until.is_some_and(|until| now < until) {
            return false;
        }
        let limit = i64::try_from(limit.as_millis()).unwrap_or(i64::MAX);
        self.probing_until = Some(Timestamp::from_millis(now.as_millis().saturating_add(limit)));
        true
    }

    /// The origin sent a signed answer: the breaker closes.
    pub fn succeeded(&mut self) {
        *self = Breaker::default();
    }

    /// A probe was inconclusive: calls are allowed again, and earlier failures still count.
    pub fn undecided(&mut self) {
        (self.state, self.probing_until) = (State::Closed, None);
    }

    /// A probe did not reach the origin. The third failure within the window, or any while the breaker is open, opens it.
    pub fn failed(&mut self, now: Timestamp) {
        self.probing_until = None;
        self.failures.rotate_left(1);
        if let Some(last) = self.failures.last_mut() {
            *last = Some(now);
        }
        let lately = self.failures.iter().flatten().filter(|at| now.seconds_since(**at) < WINDOW_SECONDS).count();
        if self.state != State::Closed || lately == MAX_FAILURES {
            self.open(now);
        }
    }

    /// A probe timed out: the origin hangs. One timeout opens the breaker, because each further timeout would make a caller wait as long.
    pub fn hung(&mut self, now: Timestamp) {
        self.probing_until = None;
        self.open(now);
    }

    fn open(&mut self, now: Timestamp) {
        self.state = State::Open { until: now.plus_seconds(OPEN_SECONDS) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn opened_at_zero() -> Breaker {
        let mut breaker = Breaker::default();
        for millis in [-2_000, -1_000, 0] {
            assert_eq!(breaker.permit(at(millis)), Permit::Call);
            breaker.failed(at(millis));
        }
        breaker
    }

    #[test]
    fn the_third_failure_within_ten_seconds_opens_it_for_two() {
        let mut breaker = opened_at_zero();
        assert_eq!(breaker.permit(at(0)), Permit::Refused { retry_after: 2 });
        assert_eq!(breaker.permit(at(1_999)), Permit::Refused { retry_after: 1 });
        assert_eq!(breaker.permit(at(2_000)), Permit::Probe);
    }

    #[test]
    fn a_probe_that_gets_no_answer_in_time_opens_it_at_once() {
        let mut breaker = Breaker::default();
        assert!(breaker.begins_probe(at(0), Duration::from_secs(1)));
        assert!(!breaker.begins_probe(at(999), Duration::from_secs(1)), "one at a time");
        breaker.hung(at(1_000));
        assert!(breaker.is_open(at(2_999)));
        assert_eq!(breaker.permit(at(3_000)), Permit::Probe);
    }

    #[test]
    fn requests_pass_after_an_inconclusive_probe() {
        let mut breaker = opened_at_zero();
        assert_eq!(breaker.permit(at(2_000)), Permit::Probe);
        breaker.undecided();
        assert_eq!(breaker.permit(at(2_001)), Permit::Call);
        breaker.failed(at(2_002));
        assert!(breaker.is_open(at(2_002)), "earlier failures still count");
    }

    #[test]
    fn failures_far_apart_or_answered_in_between_do_not_open_it() {
        let mut breaker = Breaker::default();
        for millis in [0, 5_000, 10_000, 15_000] {
            breaker.failed(at(millis));
            assert!(!breaker.is_open(at(millis)));
        }
        breaker.failed(at(15_001));
        assert!(breaker.is_open(at(15_001)), "the failures of 10 000, 15 000 and 15 001 ms lie within ten seconds");
        breaker.succeeded();
        breaker.failed(at(15_002));
        assert!(!breaker.is_open(at(15_002)));
    }

    #[test]
    fn only_one_probe_is_out_and_its_outcome_sets_the_state() {
        let mut breaker = opened_at_zero();
        assert_eq!(breaker.permit(at(2_000)), Permit::Probe);
        assert!(matches!(breaker.permit(at(2_001)), Permit::Refused { .. }));
        breaker.failed(at(2_500));
        assert!(breaker.is_open(at(4_499)));
        assert_eq!(breaker.permit(at(4_500)), Permit::Probe);
        breaker.succeeded();
        assert_eq!(breaker.permit(at(4_501)), Permit::Call);
        assert_eq!(breaker.permit(at(4_502)), Permit::Call);
    }

    #[test]
    fn a_probe_that_never_reports_does_not_keep_the_breaker_open() {
        let mut breaker = opened_at_zero();
        assert_eq!(breaker.permit(at(2_000)), Permit::Probe);
        assert!(breaker.is_open(at(4_999)));
        assert_eq!(breaker.permit(at(5_000)), Permit::Probe);
    }

    proptest! {
        #[test]
        fn it_never_refuses_for_more_than_three_seconds(steps in prop::collection::vec((0i64..4_000, 0u8..5), 1..60)) {
            let mut breaker = Breaker::default();
            let mut now = 0;
            for (wait, step) in steps {
                now += wait;
                match step {
                    0 => breaker.failed(at(now)),
                    1 => breaker.succeeded(),
                    2 => breaker.hung(at(now)),
                    3 => breaker.undecided(),
                    _ => { breaker.permit(at(now)); }
                }
                prop_assert!(!breaker.is_open(at(now + 3_000)));
            }
        }
    }
}
