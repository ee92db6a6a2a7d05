//! The states of a webhook subscription: delivering, paused by its circuit breaker, disabled.
//!
//! A pure state machine. The origin stores the state in the subscription's row and applies each event in the transaction that records the
//! event, so that several processes open a breaker only once. A failure of this service itself is not an event: it must not pause a
//! subscription.

use super::schedule::Delivery;
use crate::scoring::named_enum;
use crate::wire::time::Timestamp;

/// How long a breaker pauses deliveries, in seconds.
pub const PAUSE_SECONDS: i64 = 3_600;
/// Number of consecutive failed attempts within [`FAILURES_WITHIN_SECONDS`] that opens the breaker.
pub const FAILURES_IN_A_ROW: u32 = 3;
/// Maximum time, in seconds, from the first to the last of the [`FAILURES_IN_A_ROW`] failed attempts, inclusive.
pub const FAILURES_WITHIN_SECONDS: i64 = 15 * 60;
/// Age in seconds up to which final outcomes count towards the failure ratio.
pub const FINALS_WINDOW_SECONDS: i64 = 86_400;
/// Minimum number of final outcomes for their failure ratio to count.
pub const FINALS_AT_LEAST: u32 = 10;
/// Number of consecutive openings of the breaker, without a successful delivery in between, at which the subscription is disabled instead
/// of paused.
pub const PAUSES_UNTIL_DISABLED: u8 = 3;

named_enum! {
    /// Why a subscription is disabled.
    pub enum DisabledReason {
        /// The circuit breaker opened repeatedly without a successful delivery in between.
        Breaker = "breaker",
        /// The API key that deliveries are made for was revoked.
        KeyRevoked = "key_revoked",
    }
}

/// Whether the subscription delivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// Deliveries are attempted.
    Active,
    /// Deliveries are held back until this time, or until the subscription is enabled.
    Paused(Timestamp),
    /// Deliveries are held back until the subscription is enabled.
    Disabled(DisabledReason),
}

impl Status {
    /// The name in the API: `active`, `paused` or `disabled`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Active => "active",
            Status::Paused(_) => "paused",
            Status::Disabled(_) => "disabled",
        }
    }
}

/// Failed attempts since the last successful delivery, over all deliveries of the subscription.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct FailureRun {
    /// Number of failed attempts; `failure_count` in the API.
    pub count: u32,
    /// End of the last attempt.
    pub latest: Option<Timestamp>,
    /// End of the attempt before it.
    pub second_latest: Option<Timestamp>,
}

impl FailureRun {
    /// Adds a failure. Returns whether there are at least three and the last three are within [`FAILURES_WITHIN_SECONDS`].
    fn add(&mut self, now: Timestamp) -> bool {
        let first_of_three = core::mem::replace(&mut self.second_latest, self.latest.replace(now));
        self.count = self.count.saturating_add(1);
        first_of_three.is_some_and(|first| now <= first.plus_seconds(FAILURES_WITHIN_SECONDS))
    }
}

/// Deliveries with a final outcome after [`Breaker::finals_from`], including the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Finals {
    /// All deliveries with a final outcome.
    pub total: u32,
    /// Deliveries with the outcome `failed_terminal`.
    pub failed: u32,
}

impl Finals {
    fn too_many_failed(self) -> bool {
        self.total >= FINALS_AT_LEAST && u64::from(self.failed) * 2 >= u64::from(self.total)
    }
}

/// Id of an API key.
pub type KeyId = i64;

/// An event that can change a subscription's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// An attempt got a 2xx response; the delivery is final.
    Delivered(Finals),
    /// An attempt failed and will be retried.
    AttemptFailed,
    /// The last attempt failed; the delivery is final.
    DeliveryFailed(Finals),
    /// A key was revoked.
    KeyRevoked(KeyId),
    /// The subscription was enabled with a live key of the organisation.
    Enabled(KeyId),
    /// No other event occurred; ends a pause whose time is over.
    Tick,
}

impl Event {
    /// The event of an attempt that left its delivery in the state `delivery`; `finals` count it if it is final.
    pub const fn of_attempt(delivery: Delivery, finals: Finals) -> Self {
        match delivery {
            Delivery::Delivered => Event::Delivered(finals),
            Delivery::FailedTerminal => Event::DeliveryFailed(finals),
            Delivery::Pending { .. } => Event::AttemptFailed,
        }
    }
}

/// A change of state. If the same event also ended a pause, only the later change is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transition {
    /// The pause ended.
    Resumed,
    /// The breaker opened until this time.
    Paused(Timestamp),
    /// The subscription was disabled.
    Disabled(DisabledReason),
    /// The subscription was enabled for the key in [`Breaker::credential`].
    Enabled,
}

/// The state of a subscription, as stored in its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Breaker {
    /// Whether the subscription delivers.
    pub status: Status,
    /// The key that deliveries are made for. The key that created the subscription is stored separately and never changes.
    pub credential: KeyId,
    /// Failures that count towards the next pause.
    pub failures: FailureRun,
    /// Pauses since the last successful delivery: 0 to 2 unless disabled.
    pub pauses: u8,
    /// Time the breaker last opened, or the subscription was created or enabled. Earlier final outcomes no longer count; otherwise the
    /// end of a pause would immediately start the next one.
    pub finals_since: Timestamp,
}

impl Breaker {
    /// A subscription created by `credential` at `now`.
    pub fn new(credential: KeyId, now: Timestamp) -> Self {
        Breaker { status: Status::Active, credential, failures: FailureRun::default(), pauses: 0, finals_since: now }
    }

    /// Final outcomes after this time count for [`Finals`].
    pub fn finals_from(&self, now: Timestamp) -> Timestamp {
        self.finals_since.max(now.plus_seconds(-FINALS_WINDOW_SECONDS))
    }

    /// Whether deliveries may be attempted at `now`. A pause ends by time alone, even before an event records its end.
    pub fn delivers(&self, now: Timestamp) -> bool {
        match self.status {
            Status::Active => true,
            Status::Paused(until) => now >= until,
            Status::Disabled(_) => false,
        }
    }

    /// Applies one event at `now`.
    pub fn apply(&mut self, now: Timestamp, event: Event) -> Option<Transition> {
        if let Event::Enabled(key) = event {
            // Must precede `resume`: enabling also resets the counters, which the end of a pause does not.
            return self.enabled(now, key);
        }
        let resumed = self.resume(now);
        let changed = match event {
            Event::Delivered(finals) => self.delivered(now, finals),
            Event::AttemptFailed => self.failed(now, Finals::default()),
            Event::DeliveryFailed(finals) => self.failed(now, finals),
            Event::KeyRevoked(key) => self.revoked(key),
            Event::Enabled(_) | Event::Tick => None,
        };
        changed.or(resumed)
    }

    fn resume(&mut self, now: Timestamp) -> Option<Transition> {
        let Status::Paused(until) = self.status else { return None };
        if now < until {
            return None;
        }
        self.status = Status::Active;
        Some(Transition::Resumed)
    }

    fn delivered(&mut self, now: Timestamp, finals: Finals) -> Option<Transition> {
        if matches!(self.status, Status::Disabled(_)) {
            return None;
        }
        (self.failures, self.pauses) = (FailureRun::default(), 0);
        finals.too_many_failed().then(|| self.open(now)).flatten()
    }

    fn failed(&mut self, now: Timestamp, finals: Finals) -> Option<Transition> {
        if matches!(self.status, Status::Disabled(_)) {
            return None;
        }
        let three = self.failures.add(now);
        (three || finals.too_many_failed()).then(|| self.open(now)).flatten()
    }

    /// Opens the breaker. Has no effect if it is open already, for example when an attempt ends that started before it opened.
    fn open(&mut self, now: Timestamp) -> Option<Transition> {
        if self.status != Status::Active {
            return None;
        }
        self.pauses = self.pauses.saturating_add(1);
        self.finals_since = now;
        if self.pauses >= PAUSES_UNTIL_DISABLED {
            return Some(self.disable(DisabledReason::Breaker));
        }
        let until = now.plus_seconds(PAUSE_SECONDS);
        self.status = Status::Paused(until);
        Some(Transition::Paused(until))
    }

    fn disable(&mut self, reason: DisabledReason) -> Transition {
        self.status = Status::Disabled(reason);
        Transition::Disabled(reason)
    }

    /// Applies in every state, so that a subscription that the breaker disabled is not enabled again for a revoked key.
    fn revoked(&mut self, key: KeyId) -> Option<Transition> {
        let already = self.status == Status::Disabled(DisabledReason::KeyRevoked);
        (key == self.credential && !already).then(|| self.disable(DisabledReason::KeyRevoked))
    }

    fn enabled(&mut self, now: Timestamp, key: KeyId) -> Option<Transition> {
        match self.status {
            Status::Active => return None,
            Status::Paused(_) | Status::Disabled(DisabledReason::Breaker) => {}
            // The revoked key itself cannot enable the subscription.
            Status::Disabled(DisabledReason::KeyRevoked) if key == self.credential => return None,
            Status::Disabled(DisabledReason::KeyRevoked) => self.credential = key,
        }
        *self = Breaker::new(self.credential, now);
        Some(Transition::Enabled)
    }
}
