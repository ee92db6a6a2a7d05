//! When a delivery is attempted, and when it is given up.
//!
//! Source: interface, "Webhook subscription" (delivery states) and "Delivery limits".

use crate::scoring::named_enum;
use crate::wire::time::Timestamp;
use core::fmt;

/// Seconds that one attempt may take, from the first look-up to the last byte.
pub const TIMEOUT_SECONDS: i64 = 10;
/// Seconds back from now that a replay covers when it names no window.
pub const REPLAY_WINDOW_SECONDS: i64 = 86_400;
/// Rows of a list of deliveries, at most.
pub const LIST_LIMIT: u32 = 200;

/// Attempts of one delivery.
pub const ATTEMPTS: u8 = 6;
/// Seconds between the end of a failed attempt and the start of the next: before attempts 2, 3, 4, 5 and 6.
pub const DELAYS_SECONDS: [i64; ATTEMPTS as usize - 1] = [10, 60, 5 * 60, 30 * 60, 2 * 3600];

/// The number of an attempt, 1 to [`ATTEMPTS`]; it travels in a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attempt(u8);

impl Attempt {
    /// The first, made at once.
    pub const FIRST: Attempt = Attempt(1);

    /// The attempt with this number.
    pub const fn new(number: u8) -> Option<Self> {
        if number >= 1 && number <= ATTEMPTS { Some(Attempt(number)) } else { None }
    }

    /// Its number.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The attempt after this one and the seconds until then; none after the last.
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
    /// What the list of deliveries says of one.
    pub enum DeliveryStatus {
        /// An attempt is due, now or later.
        Pending = "pending",
        /// A receiver answered 2xx.
        Delivered = "delivered",
        /// The last attempt failed; only a replay brings it back.
        FailedTerminal = "failed_terminal",
    }
}

named_enum! {
    /// Why an attempt failed, as its owner may know it: nothing of the answer's content, nothing of our network.
    #[cfg_attr(feature = "schema", schemars(rename = "DeliveryFailure"))]
    pub enum Failure {
        /// An answer, not 2xx: redirects and 410 like any other.
        Status = "status",
        /// No complete answer in [`TIMEOUT_SECONDS`].
        Timeout = "timeout",
        /// The URL is no longer one that deliveries may go to.
        BlockedUrl = "blocked_url",
        /// No connection, no valid certificate, or no valid HTTP.
        DeliveryError = "delivery_error",
    }
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A receiver answered 2xx.
    Delivered,
    /// Anything else.
    Failed(Failure),
}

impl Outcome {
    /// What an answer's status means.
    pub const fn of_status(status: u16) -> Self {
        if status >= 200 && status <= 299 { Outcome::Delivered } else { Outcome::Failed(Failure::Status) }
    }
}

/// A delivery: one event on its way to one subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// To be attempted.
    Pending {
        /// Which attempt.
        attempt: Attempt,
        /// When; a pause of the subscription makes it later.
        due: Timestamp,
    },
    /// It arrived.
    Delivered,
    /// It did not, six times.
    FailedTerminal,
}

impl Delivery {
    /// A new delivery, or one that is replayed: its first attempt is due at once.
    pub const fn enqueued(now: Timestamp) -> Self {
        Delivery::Pending { attempt: Attempt::FIRST, due: now }
    }

    /// What a delivery becomes when `attempt` ends with `outcome` at `now`.
    pub fn after(attempt: Attempt, outcome: Outcome, now: Timestamp) -> Self {
        match (outcome, attempt.next()) {
            (Outcome::Delivered, _) => Delivery::Delivered,
            (Outcome::Failed(_), Some((attempt, delay))) => Delivery::Pending { attempt, due: now.plus_seconds(delay) },
            (Outcome::Failed(_), None) => Delivery::FailedTerminal,
        }
    }

    /// A replay: the same event under the same id, with six fresh attempts. None unless the delivery was given up.
    pub const fn replayed(self, now: Timestamp) -> Option<Self> {
        match self {
            Delivery::FailedTerminal => Some(Delivery::enqueued(now)),
            Delivery::Pending { .. } | Delivery::Delivered => None,
        }
    }

    /// Its word in lists.
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
    const REFUSED: Outcome = Outcome::Failed(Failure::DeliveryError);

    #[test]
    fn six_attempts_at_the_stated_delays_and_then_no_more() {
        let (mut delivery, mut waited, mut now) = (Delivery::enqueued(START), Vec::new(), START);
        while let Delivery::Pending { attempt, due } = delivery {
            waited.push((attempt.get(), due.seconds_since(now)));
            // A receiver that hangs takes its ten seconds; the delay counts from there.
            now = due.plus_seconds(TIMEOUT_SECONDS);
            delivery = Delivery::after(attempt, Outcome::Failed(Failure::Timeout), now);
        }
        assert_eq!(waited, [(1, 0), (2, 10), (3, 60), (4, 300), (5, 1_800), (6, 7_200)]);
        assert_eq!(delivery.status().as_str(), "failed_terminal");
    }

    #[test]
    fn a_2xx_ends_the_delivery_at_every_attempt_and_nothing_else_does() {
        for number in 1..=ATTEMPTS {
            let attempt = Attempt::new(number).unwrap();
            for status in [200, 202, 204, 299] {
                assert_eq!(Delivery::after(attempt, Outcome::of_status(status), START), Delivery::Delivered);
            }
            for status in [0, 100, 199, 300, 301, 308, 400, 410, 429, 500, 600, u16::MAX] {
                let after = Delivery::after(attempt, Outcome::of_status(status), START);
                assert_ne!(after, Delivery::Delivered, "{status}");
                assert_eq!(after == Delivery::FailedTerminal, number == ATTEMPTS, "{status} at {number}");
            }
        }
    }

    #[test]
    fn a_replay_starts_over_and_only_for_what_was_given_up() {
        let given_up = Delivery::after(Attempt::new(6).unwrap(), REFUSED, START);
        let again = given_up.replayed(START).unwrap();
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
