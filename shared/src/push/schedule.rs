//! Retry schedule of deliveries: when each attempt is made, and after which one the delivery fails.

use crate::scoring::named_enum;
use crate::wire::time::Timestamp;
use core::fmt;

/// Timeout of one attempt in seconds, from name resolution to the last byte of the response.
pub const TIMEOUT_SECONDS: i64 = 10;
/// Default length of the window of a replay, in seconds, counted back from its end.
pub const REPLAY_WINDOW_SECONDS: i64 = 86_400;
/// Maximum number of rows in a list of deliveries.
pub const LIST_LIMIT: u32 = 200;

/// A delivery whose lease expired this often without an outcome is given up, because the delivery itself may crash the worker.
pub const MAX_LAPSES: i16 = 20;

/// Maximum number of attempts per delivery.
pub const ATTEMPTS: u8 = 6;
/// Seconds between the end of a failed attempt and the start of the next: before attempts 2, 3, 4, 5 and 6.
pub const DELAYS_SECONDS: [i64; ATTEMPTS as usize - 1] = [10, 60, 5 * 60, 30 * 60, 2 * 3600];

/// The number of an attempt, 1 to [`ATTEMPTS`]; sent in a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attempt(u8);

impl Attempt {
    /// The first attempt, due immediately.
    pub const FIRST: Attempt = Attempt(1);

    /// `None` outside 1 to [`ATTEMPTS`].
    pub const fn new(number: u8) -> Option<Self> {
        if number >= 1 && number <= ATTEMPTS { Some(Attempt(number)) } else { None }
    }

    pub const fn get(self) -> u8 {
        self.0
    }

    /// The next attempt and the delay before it in seconds; `None` after the last.
    fn next(self) -> Option<(Attempt, i64)> {
        let delay = DELAYS_SECONDS.get(usize::from(self.0) - 1)?;
        Some((Attempt(self.0 + 1), *delay))
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

named_enum! {
    /// Status of a delivery.
    pub enum DeliveryStatus {
        /// An attempt is due now or later.
        Pending = "pending",
        /// The receiver answered with a 2xx status.
        Delivered = "delivered",
        /// The last attempt failed. Only a replay attempts the delivery again.
        FailedTerminal = "failed_terminal",
    }
}

named_enum! {
    /// Why an attempt failed. Reveals neither the response's content nor the internal network.
    #[cfg_attr(feature = "schema", schemars(rename = "DeliveryFailure"))]
    pub enum Failure {
        /// The response status was not 2xx. Redirects and 410 are treated the same.
        Status = "status",
        /// The receiver sent no complete response within 10 seconds.
        Timeout = "timeout",
        /// The URL is no longer allowed.
        BlockedUrl = "blocked_url",
        /// The connection failed, or the certificate or HTTP response was invalid.
        DeliveryError = "delivery_error",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The receiver answered with a 2xx status.
    Delivered,
    Failed(Failure),
}

impl AttemptOutcome {
    /// `Delivered` for a 2xx status; [`Failure::Status`] for any other.
    pub const fn of_status(status: u16) -> Self {
        if status >= 200 && status <= 299 { AttemptOutcome::Delivered } else { AttemptOutcome::Failed(Failure::Status) }
    }
}

/// State of a delivery: one event for one subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// The next attempt is due now or later.
    Pending {
        /// The next attempt.
        attempt: Attempt,
        /// Earliest time of the attempt; a pause of the subscription delays it.
        due: Timestamp,
    },
    /// The receiver answered an attempt with a 2xx status.
    Delivered,
    /// All attempts failed.
    FailedTerminal,
}

impl Delivery {
    /// A new or replayed delivery: the first attempt is due immediately.
    pub const fn enqueued(now: Timestamp) -> Self {
        Delivery::Pending { attempt: Attempt::FIRST, due: now }
    }

    /// The state after `attempt` ended with `outcome` at `now`.
    fn after(attempt: Attempt, outcome: AttemptOutcome, now: Timestamp) -> Self {
        match (outcome, attempt.next()) {
            (AttemptOutcome::Delivered, _) => Delivery::Delivered,
            (AttemptOutcome::Failed(_), Some((attempt, delay))) => {
                Delivery::Pending { attempt, due: now.plus_seconds(delay) }
            }
            (AttemptOutcome::Failed(_), None) => Delivery::FailedTerminal,
        }
    }

    /// The state after `attempt`, made under a lease before which `lapses` leases had expired without an outcome, ended with `outcome` at `now`.
    pub fn ended(attempt: Attempt, outcome: AttemptOutcome, lapses: i16, now: Timestamp) -> Self {
        match lapses >= MAX_LAPSES {
            true => Delivery::FailedTerminal,
            false => Delivery::after(attempt, outcome, now),
        }
    }

    /// The state after a replay: six new attempts with the same event and id. `None` unless the delivery is `FailedTerminal`.
    pub const fn replayed(self, now: Timestamp) -> Option<Self> {
        match self {
            Delivery::FailedTerminal => Some(Delivery::enqueued(now)),
            Delivery::Pending { .. } | Delivery::Delivered => None,
        }
    }

    /// The status that lists of deliveries show.
    pub const fn status(self) -> DeliveryStatus {
        match self {
            Delivery::Pending { .. } => DeliveryStatus::Pending,
            Delivery::Delivered => DeliveryStatus::Delivered,
            Delivery::FailedTerminal => DeliveryStatus::FailedTerminal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const START: Timestamp = Timestamp::from_seconds(1_795_219_200);
    const REFUSED: AttemptOutcome = AttemptOutcome::Failed(Failure::DeliveryError);

    #[test]
    fn there_are_six_attempts_at_the_stated_delays() {
        let (mut delivery, mut waited, mut now) = (Delivery::enqueued(START), Vec::new(), START);
        while let Delivery::Pending { attempt, due } = delivery {
            waited.push((attempt.get(), due.seconds_since(now)));
            // A hanging receiver uses the full timeout; the delay starts after it.
            now = due.plus_seconds(TIMEOUT_SECONDS);
            delivery = Delivery::after(attempt, AttemptOutcome::Failed(Failure::Timeout), now);
        }
        assert_eq!(waited, [(1, 0), (2, 10), (3, 60), (4, 300), (5, 1_800), (6, 7_200)]);
        assert_eq!(delivery.status().as_str(), "failed_terminal");
    }

    #[test]
    fn only_a_2xx_status_completes_the_delivery() {
        for number in 1..=ATTEMPTS {
            let attempt = Attempt::new(number).unwrap();
            for status in [200, 202, 204, 299] {
                assert_eq!(Delivery::after(attempt, AttemptOutcome::of_status(status), START), Delivery::Delivered);
            }
            for status in [0, 100, 199, 300, 301, 308, 400, 410, 429, 500, 600, u16::MAX] {
                let after = Delivery::after(attempt, AttemptOutcome::of_status(status), START);
                assert_ne!(after, Delivery::Delivered, "{status}");
                assert_eq!(after == Delivery::FailedTerminal, number == ATTEMPTS, "{status} at {number}");
            }
        }
    }

    #[test]
    fn only_a_failed_delivery_can_be_replayed_and_starts_over() {
        let failed = Delivery::after(Attempt::new(6).unwrap(), REFUSED, START);
        let again = failed.replayed(START).unwrap();
        assert_eq!(again, Delivery::enqueued(START));
        assert_eq!(again.replayed(START), None, "a second replay enqueues nothing");
        assert_eq!(Delivery::Delivered.replayed(START), None);
    }

    #[test]
    fn there_is_no_attempt_before_the_first_or_after_the_last() {
        assert_eq!((Attempt::new(0), Attempt::new(7)), (None, None));
        assert_eq!(Attempt::new(6).map(Attempt::next), Some(None));
    }
}
