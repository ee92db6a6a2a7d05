//! Rate limits: which budgets a request is charged to, how large they are, and the fixed windows they are counted in.
//!
//! Pure functions: the hosts store the counters durably and supply the time.

use super::plan::KeyRecord;
use crate::route::RateLimitClass;
use serde::{Deserialize, Serialize};

/// Length of every window, in seconds. Windows are aligned to the Unix epoch, so that all hosts agree on them.
pub const WINDOW_SECONDS: i64 = 60;
const DAY_SECONDS: i64 = 86_400;
/// Requests without a key that one address may make in a UTC day.
pub const ANONYMOUS_PER_DAY: u32 = 1_000;
/// First-party requests that one address may make in a UTC day. Any client can send the `Origin` of the service's own pages, so
/// first-party requests have a daily cap, too.
pub const FIRST_PARTY_PER_DAY: u32 = 20_000;

/// The number of the window that contains an instant, counted from the Unix epoch.
pub const fn window_of(now_seconds: i64) -> i64 {
    now_seconds.div_euclid(WINDOW_SECONDS)
}

/// The number of the UTC day that contains an instant, counted from the Unix epoch.
pub const fn day_of(now_seconds: i64) -> i64 {
    now_seconds.div_euclid(DAY_SECONDS)
}

/// A budget that is counted by client address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AddressBudget {
    /// Requests without a key or with a rejected one.
    Anonymous,
    /// Requests of the service's own pages.
    FirstParty,
    /// `/v1/status`, for all callers.
    Status,
    /// `/v1/health`, for all callers.
    Health,
    /// Graph reads with a key, in addition to the key's own budget.
    GraphRead,
    /// Graph checks with a key, in addition to the key's own budget.
    GraphCheck,
    /// Basket webhook writes with a key, in addition to the key's own budget.
    BasketWebhooks,
}

impl AddressBudget {
    pub const ALL: [AddressBudget; 7] = [
        AddressBudget::Anonymous,
        AddressBudget::FirstParty,
        AddressBudget::Status,
        AddressBudget::Health,
        AddressBudget::GraphRead,
        AddressBudget::GraphCheck,
        AddressBudget::BasketWebhooks,
    ];

    /// The name used in messages between hosts and in stored counters.
    pub const fn as_str(self) -> &'static str {
        match self {
            AddressBudget::Anonymous => "anonymous",
            AddressBudget::FirstParty => "first_party",
            AddressBudget::Status => "status",
            AddressBudget::Health => "health",
            AddressBudget::GraphRead => "graph_read",
            AddressBudget::GraphCheck => "graph_check",
            AddressBudget::BasketWebhooks => "basket_webhooks",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        AddressBudget::ALL.into_iter().find(|budget| budget.as_str() == text)
    }

    /// Requests per window.
    pub const fn limit(self) -> u32 {
        match self {
            AddressBudget::Anonymous => 10,
            AddressBudget::FirstParty | AddressBudget::Status | AddressBudget::Health => 60,
            AddressBudget::GraphRead => GRAPH_READS,
            AddressBudget::GraphCheck => GRAPH_CHECKS,
            AddressBudget::BasketWebhooks => BASKET_WEBHOOK_WRITES,
        }
    }

    /// Requests per UTC day; `None` without a daily cap.
    pub const fn per_day(self) -> Option<u32> {
        match self {
            AddressBudget::Anonymous => Some(ANONYMOUS_PER_DAY),
            AddressBudget::FirstParty => Some(FIRST_PARTY_PER_DAY),
            AddressBudget::Status
            | AddressBudget::Health
            | AddressBudget::GraphRead
            | AddressBudget::GraphCheck
            | AddressBudget::BasketWebhooks => None,
        }
    }
}

/// Requests per window of the rate-limit classes that have limits of their own.
const GRAPH_READS: u32 = 600;
const GRAPH_CHECKS: u32 = 60;
const BASKET_WEBHOOK_WRITES: u32 = 30;

/// One key's requests per window in a rate-limit class; `None` where the class is limited by address only.
pub fn key_limit(class: RateLimitClass, rpm: u32) -> Option<u32> {
    match class {
        RateLimitClass::Public => Some(rpm),
        // Graph reads get the greater of the two limits. Graph checks and webhook writes are costly: no contract raises their cap.
        RateLimitClass::GraphRead => Some(rpm.max(GRAPH_READS)),
        RateLimitClass::GraphCheck => Some(GRAPH_CHECKS),
        RateLimitClass::BasketWebhooks => Some(BASKET_WEBHOOK_WRITES),
        RateLimitClass::Status | RateLimitClass::Health | RateLimitClass::Unmetered => None,
    }
}

/// The share of a limit that one client of a shared key may use: a quarter, and at least one request.
pub const fn subclient_limit(limit: u32) -> u32 {
    if limit < 4 { 1 } else { limit / 4 }
}

/// The kind of caller. It selects, together with the route's rate-limit class, the budgets that a request is charged to ([`charge`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payer {
    /// A caller without a key, or with one that could not be checked.
    Anonymous,
    /// A page of the service itself, recognised by its `Origin`.
    FirstParty,
    /// The holder of a valid key.
    Key,
    /// A caller whose key was rejected.
    Rejected,
}

/// The budgets that one request is charged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charge {
    /// The route is not metered.
    Nothing,
    /// The caller's address.
    Address(AddressBudget),
    /// The caller's key.
    Key,
    /// The caller's key and address; the request is refused only when both budgets are used up.
    KeyAndAddress(AddressBudget),
}

/// The budgets that a request of `payer` on a route of rate-limit class `class` is charged to.
pub const fn charge(class: RateLimitClass, payer: Payer) -> Charge {
    match (class, payer) {
        (_, Payer::Rejected) => Charge::Address(AddressBudget::Anonymous),
        (RateLimitClass::Unmetered, _) => Charge::Nothing,
        (RateLimitClass::Status, _) => Charge::Address(AddressBudget::Status),
        (RateLimitClass::Health, _) => Charge::Address(AddressBudget::Health),
        (_, Payer::Anonymous) => Charge::Address(AddressBudget::Anonymous),
        (_, Payer::FirstParty) => Charge::Address(AddressBudget::FirstParty),
        (RateLimitClass::Public, Payer::Key) => Charge::Key,
        (RateLimitClass::GraphRead, Payer::Key) => Charge::KeyAndAddress(AddressBudget::GraphRead),
        (RateLimitClass::GraphCheck, Payer::Key) => Charge::KeyAndAddress(AddressBudget::GraphCheck),
        (RateLimitClass::BasketWebhooks, Payer::Key) => Charge::KeyAndAddress(AddressBudget::BasketWebhooks),
    }
}

/// Whether a request of `payer` is also charged to the neighbourhood of its address ([`super::Neighbourhood`]).
///
/// Requests with a valid key are not charged to it, so that other callers of the neighbourhood never cause a key to be refused.
pub const fn charges_neighbourhood(payer: Payer) -> bool {
    match payer {
        Payer::Anonymous | Payer::FirstParty | Payer::Rejected => true,
        Payer::Key => false,
    }
}

/// State of a budget after a request was admitted or refused, as reported in the response headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Allowance {
    /// Requests per window.
    pub limit: u32,
    /// Requests left in the window, or in the UTC day if fewer are left in the day.
    pub remaining: u32,
    /// Unix time, in seconds, at which the full limit is available again.
    pub reset: i64,
}

/// The outcome of charging a request to its budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether the request is within its limits; a refused request is not charged.
    pub admitted: bool,
    /// State of the budget that decided whether the request is admitted.
    pub allowance: Allowance,
    /// State of the client's share of a shared key; `None` for other keys.
    pub subclient: Option<Allowance>,
    /// Whether the daily cap is used up; `allowance.reset` is then the end of the UTC day.
    pub daily: bool,
    /// Whether `allowance` is the neighbourhood's rather than the address's.
    #[serde(default)]
    pub of_neighbourhood: bool,
}

/// Requests charged to one budget in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Number of the window, as by [`window_of`] or [`day_of`].
    pub window: i64,
    pub used: u32,
}

impl Count {
    /// Requests charged in `window`: zero if the count belongs to another window.
    pub const fn used_in(self, window: i64) -> u32 {
        if self.window == window { self.used } else { 0 }
    }

    /// The count after one more request in `window`.
    const fn charged(self, window: i64) -> Count {
        Count { window, used: self.used_in(window).saturating_add(1) }
    }

    fn allowance(self, window: i64, limit: u32) -> Allowance {
        let reset = window.saturating_add(1).saturating_mul(WINDOW_SECONDS);
        Allowance { limit, remaining: limit.saturating_sub(self.used_in(window)), reset }
    }
}

/// The counters of one address and budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AddressCount {
    pub minute: Count,
    /// Requests of one UTC day; its `window` is the number of the day.
    pub day: Count,
}

impl AddressCount {
    /// Charges a request if there is room. Only an admitted request changes the counters; a host stores them before it
    /// lets the request through.
    pub fn take(&mut self, budget: AddressBudget, now_seconds: i64) -> Verdict {
        take_address(AddressCounters::Own(self), budget, now_seconds)
    }

    /// Whether the counters hold requests of the current window, or of the current day if `budget` has a daily cap.
    pub fn counts(&self, budget: AddressBudget, now_seconds: i64) -> bool {
        let today = budget.per_day().is_some() && self.day.used_in(day_of(now_seconds)) > 0;
        today || self.minute.used_in(window_of(now_seconds)) > 0
    }

    fn charge(&mut self, now_seconds: i64) {
        self.minute = self.minute.charged(window_of(now_seconds));
        self.day = self.day.charged(day_of(now_seconds));
    }

    /// The allowance under `ratio` times the limits of `budget`, and whether the daily cap is used up.
    fn current_allowance(&self, budget: AddressBudget, ratio: u32, now_seconds: i64) -> (Allowance, bool) {
        let (window, day) = (window_of(now_seconds), day_of(now_seconds));
        let mut allowance = self.minute.allowance(window, budget.limit().saturating_mul(ratio));
        let left_today =
            budget.per_day().map(|limit| limit.saturating_mul(ratio).saturating_sub(self.day.used_in(day)));
        allowance.remaining = allowance.remaining.min(left_today.unwrap_or(u32::MAX));
        (allowance, left_today == Some(0))
    }
}

/// The counters of one budget that a request is charged to: the address's, its neighbourhood's, or both.
#[derive(Debug)]
pub enum AddressCounters<'a> {
    /// The address alone: the request is not charged to its neighbourhood.
    Own(&'a mut AddressCount),
    /// The address and its neighbourhood.
    Both(&'a mut AddressCount, NeighbourhoodCount<'a>),
    /// The neighbourhood alone: the host has no counter left for the address.
    Neighbourhood(NeighbourhoodCount<'a>),
}

/// The counters of a neighbourhood.
#[derive(Debug)]
pub struct NeighbourhoodCount<'a> {
    pub count: &'a mut AddressCount,
    /// The neighbourhood's limits, as a multiple of one address's limits ([`super::client_net::Neighbourhood::ratio`]).
    pub ratio: u32,
}

/// Charges a request to an address and to its neighbourhood if both have room; otherwise charges neither.
///
/// The verdict reports the budget that refuses, or the one with the longer wait if both refuse. If both admit the request, it
/// reports the one that has less left.
pub fn take_address(counters: AddressCounters<'_>, budget: AddressBudget, now_seconds: i64) -> Verdict {
    let refusal = |count: &AddressCount, ratio, of_neighbourhood| {
        let (mut allowance, daily) = count.current_allowance(budget, ratio, now_seconds);
        if daily {
            allowance.reset = day_of(now_seconds).saturating_add(1).saturating_mul(DAY_SECONDS);
        }
        let verdict = Verdict { admitted: false, allowance, subclient: None, daily, of_neighbourhood };
        (allowance.remaining == 0).then_some(verdict)
    };
    let charged = |count: &mut AddressCount, ratio, of_neighbourhood| {
        count.charge(now_seconds);
        let (allowance, _) = count.current_allowance(budget, ratio, now_seconds);
        Verdict { admitted: true, allowance, subclient: None, daily: false, of_neighbourhood }
    };
    match counters {
        AddressCounters::Own(own) => refusal(own, 1, false).unwrap_or_else(|| charged(own, 1, false)),
        AddressCounters::Neighbourhood(NeighbourhoodCount { count, ratio }) => {
            refusal(count, ratio, true).unwrap_or_else(|| charged(count, ratio, true))
        }
        AddressCounters::Both(own, NeighbourhoodCount { count, ratio }) => {
            match (refusal(own, 1, false), refusal(count, ratio, true)) {
                (None, None) => {
                    let (own, shared) = (charged(own, 1, false), charged(count, ratio, true));
                    if shared.allowance.remaining < own.allowance.remaining { shared } else { own }
                }
                (Some(own), Some(shared)) if shared.allowance.reset <= own.allowance.reset => own,
                (_, Some(shared)) => shared,
                (Some(own), None) => own,
            }
        }
    }
}

/// Charges a request to a key's budget of rate-limit class `class`, and to the client's share if the key is shared.
///
/// `total` counts all requests of the key in the class, `client` those of one client. If either is used up, neither is charged.
/// Returns `None` where keys have no budget in the class.
pub fn take_key(
    record: &KeyRecord,
    class: RateLimitClass,
    total: &mut Count,
    client: Option<&mut Count>,
    now_seconds: i64,
) -> Option<Verdict> {
    let limit = key_limit(class, record.rpm)?;
    let window = window_of(now_seconds);
    let mut client = client.filter(|_| record.shared);
    let share = subclient_limit(limit);
    let room = client.as_ref().is_none_or(|client| client.used_in(window) < share);
    let admitted = room && total.used_in(window) < limit;
    if admitted {
        *total = total.charged(window);
        if let Some(client) = &mut client {
            **client = client.charged(window);
        }
    }
    let subclient = client.map(|client| client.allowance(window, share));
    Some(Verdict {
        admitted,
        allowance: total.allowance(window, limit),
        subclient,
        daily: false,
        of_neighbourhood: false,
    })
}

/// Combines the verdicts on a key and on an address: the request is refused only if both refuse. The result reports the budget that
/// admits the request or, if both admit or both refuse, the one that has more left.
pub fn either(key: Verdict, address: Verdict) -> Verdict {
    let better = match (key.admitted, address.admitted) {
        (true, false) => key,
        (false, true) => address,
        _ if address.allowance.remaining > key.allowance.remaining => address,
        _ => key,
    };
    Verdict { subclient: key.subclient, ..better }
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
