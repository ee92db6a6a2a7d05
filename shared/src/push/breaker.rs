//! The states of a webhook subscription: delivering, paused by its circuit breaker, disabled.
//!
//! One pure transition function over the whole table. The host keeps the state in the subscription's row and applies each event in
//! the transaction that records it, so that several processes open a breaker once. Faults of our own are no events.
//! Source: interface, "Webhook subscription" (states and transitions), and "Authentication", 3.

use crate::scoring::named_enum;
use crate::wire::time::Timestamp;

/// How long a breaker pauses deliveries, in seconds.
pub const PAUSE_SECONDS: i64 = 3_600;
/// Failed attempts in a row that open the breaker, when they lie within [`FAILURES_WITHIN_SECONDS`].
pub const FAILURES_IN_A_ROW: u32 = 3;
/// From the first of them to the last, both counted.
pub const FAILURES_WITHIN_SECONDS: i64 = 15 * 60;
/// How far back final outcomes count, in seconds.
pub const FINALS_WINDOW_SECONDS: i64 = 86_400;
/// Final outcomes below which their ratio says nothing.
pub const FINALS_AT_LEAST: u32 = 10;
/// The pause without a delivered event in between that disables instead.
pub const PAUSES_UNTIL_DISABLED: u8 = 3;

named_enum! {
    /// Why a subscription is disabled.
    pub enum DisabledReason {
        /// Pause after pause, and nothing arrived.
        Breaker = "breaker",
        /// The key it delivers for was revoked.
        KeyRevoked = "key_revoked",
    }
}

/// Whether deliveries go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// They do.
    Active,
    /// They wait until then.
    Paused(Timestamp),
    /// They wait until someone enables it.
    Disabled(DisabledReason),
}

impl Status {
    /// The word on the wire: `active`, `paused` or `disabled`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Active => "active",
            Status::Paused(_) => "paused",
            Status::Disabled(_) => "disabled",
        }
    }
}

/// The failed attempts since the last delivered event, over all deliveries of the subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FailureRun {
    /// How many: `failure_count`.
    pub count: u32,
    /// When the last one ended.
    pub latest: Option<Timestamp>,
    /// When the one before it ended.
    pub second_latest: Option<Timestamp>,
}

impl FailureRun {
    /// Adds a failure; true when it is the third of three in a short time.
    fn add(&mut self, now: Timestamp) -> bool {
        let first_of_three = core::mem::replace(&mut self.second_latest, self.latest.replace(now));
        self.count = self.count.saturating_add(1);
        first_of_three.is_some_and(|first| now <= first.plus_seconds(FAILURES_WITHIN_SECONDS))
    }
}

/// Deliveries that came to a final outcome after [`Breaker::finals_from`], the present one among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Finals {
    /// All of them.
    pub total: u32,
    /// Those that ended as `failed_terminal`.
    pub failed: u32,
}

impl Finals {
    fn too_many_failed(self) -> bool {
        self.total >= FINALS_AT_LEAST && u64::from(self.failed) * 2 >= u64::from(self.total)
    }
}

/// The number of an API key.
pub type KeyId = i64;

/// What happens to a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// An attempt was answered 2xx: its delivery is final.
    Delivered(Finals),
    /// An attempt failed and will be repeated.
    AttemptFailed,
    /// The last attempt failed: its delivery is final.
    DeliveryFailed(Finals),
    /// A key was revoked.
    KeyRevoked(KeyId),
    /// A live key of the organisation asks for deliveries again.
    Enabled(KeyId),
    /// Time passed.
    Tick,
}

/// What became of a subscription. Where a due pause ended within the same event, the later change is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transition {
    /// The pause was over.
    Resumed,
    /// The breaker opened, until then.
    Paused(Timestamp),
    /// Nothing is delivered until it is enabled.
    Disabled(DisabledReason),
    /// Deliveries go on, for the key that [`Breaker::credential`] now names.
    Enabled,
}

/// A subscription's state: what its row holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Breaker {
    /// Whether deliveries go out.
    pub status: Status,
    /// The key for which they do. The key that created the subscription is kept elsewhere and never changes.
    pub credential: KeyId,
    /// The failures that count towards the next pause.
    pub failures: FailureRun,
    /// Pauses since the last delivered event, 0 to 2 while it is not disabled.
    pub pauses: u8,
    /// When the breaker last opened, or the subscription was created or enabled. Final outcomes before it are spent: counted
    /// again they would turn the end of each pause into the start of the next.
    pub finals_since: Timestamp,
}

impl Breaker {
    /// A subscription created by `credential` at `now`.
    pub fn new(credential: KeyId, now: Timestamp) -> Self {
        Breaker { status: Status::Active, credential, failures: FailureRun::default(), pauses: 0, finals_since: now }
    }

    /// The instant after which final outcomes count: the argument of the count that [`Finals`] holds.
    pub fn finals_from(&self, now: Timestamp) -> Timestamp {
        self.finals_since.max(now.plus_seconds(-FINALS_WINDOW_SECONDS))
    }

    /// Whether deliveries may go out at `now`: a pause ends by itself, whether or not anyone has noticed.
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
            // Before a due pause ends: whoever asks for a fresh start gets one, not the bare end of the pause.
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

    /// Opens the breaker. An attempt that was under way when it opened changes nothing more.
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

    /// Revocation reaches every state: also a subscription that its breaker stopped must not come back under a dead key.
    fn revoked(&mut self, key: KeyId) -> Option<Transition> {
        let already = self.status == Status::Disabled(DisabledReason::KeyRevoked);
        (key == self.credential && !already).then(|| self.disable(DisabledReason::KeyRevoked))
    }

    fn enabled(&mut self, now: Timestamp, key: KeyId) -> Option<Transition> {
        match self.status {
            Status::Active => return None,
            Status::Paused(_) | Status::Disabled(DisabledReason::Breaker) => {}
            // The revoked key itself revives nothing.
            Status::Disabled(DisabledReason::KeyRevoked) if key == self.credential => return None,
            Status::Disabled(DisabledReason::KeyRevoked) => self.credential = key,
        }
        *self = Breaker::new(self.credential, now);
        Some(Transition::Enabled)
    }
}
