//! Allowances: which budgets a request is charged to, how large they are, and the fixed windows they are counted in.
//!
//! Pure: the hosts keep the counters, in a place that survives them, and bring the time.
//! Source: interface, "Limits", "Rate limits"; contracts, "Choices".

use super::plan::KeyRecord;
use crate::route::RateLimitClass;
use serde::{Deserialize, Serialize};

/// Length of every window, in seconds. Windows are aligned to the Unix epoch, so that all hosts agree on them.
pub const WINDOW_SECONDS: i64 = 60;
/// Seconds of a UTC day.
const DAY_SECONDS: i64 = 86_400;
/// Requests of one address without a key in a UTC day.
pub const ANONYMOUS_PER_DAY: u32 = 1_000;
/// Requests of one address in a UTC day that name one of the service's own pages as their `Origin`. Anybody can send that header,
/// so this allowance has an end, too.
pub const FIRST_PARTY_PER_DAY: u32 = 20_000;

/// The window of an instant: its number since the epoch.
pub const fn window_of(now_seconds: i64) -> i64 {
    now_seconds.div_euclid(WINDOW_SECONDS)
}

/// The UTC day of an instant: its number since the epoch.
pub const fn day_of(now_seconds: i64) -> i64 {
    now_seconds.div_euclid(DAY_SECONDS)
}

/// A budget of one caller's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AddressBudget {
    /// Requests without a key, and keys that were rejected.
    Anonymous,
    /// Requests of the service's own pages.
    FirstParty,
    /// `/v1/status`, whoever asks.
    Status,
    /// `/v1/health`, whoever asks.
    Health,
    /// Graph reads, beside the key's own budget.
    GraphRead,
    /// Graph checks, beside the key's own budget.
    GraphCheck,
    /// Basket webhook writes, beside the key's own budget.
    BasketWebhooks,
}

impl AddressBudget {
    /// Every budget.
    pub const ALL: [AddressBudget; 7] = [
        AddressBudget::Anonymous,
        AddressBudget::FirstParty,
        AddressBudget::Status,
        AddressBudget::Health,
        AddressBudget::GraphRead,
        AddressBudget::GraphCheck,
        AddressBudget::BasketWebhooks,
    ];

    /// Its name between hosts and in stored counters.
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

    /// Reads a budget's name.
    pub fn parse(text: &str) -> Option<Self> {
        AddressBudget::ALL.into_iter().find(|budget| budget.as_str() == text)
    }

    /// Requests a window.
    pub const fn limit(self) -> u32 {
        match self {
            AddressBudget::Anonymous => 10,
            AddressBudget::FirstParty | AddressBudget::Status | AddressBudget::Health => 60,
            AddressBudget::GraphRead => GRAPH_READS,
            AddressBudget::GraphCheck => GRAPH_CHECKS,
            AddressBudget::BasketWebhooks => BASKET_WEBHOOK_WRITES,
        }
    }

    /// Requests a UTC day, where there is such a cap.
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

/// RateLimitClass caps, per window.
const GRAPH_READS: u32 = 600;
const GRAPH_CHECKS: u32 = 60;
const BASKET_WEBHOOK_WRITES: u32 = 30;

/// A family's budget of one key, per window; `None` where keys have none and only the address counts.
pub fn key_limit(family: RateLimitClass, rpm: u32) -> Option<u32> {
    match family {
        RateLimitClass::Public => Some(rpm),
        // A read may use the greater of the two; what is costly has a cap that no contract lifts.
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

/// Who is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payer {
    /// Nobody in particular, or somebody whose key could not be judged.
    Anonymous,
    /// A page of the service's own.
    FirstParty,
    /// The holder of a valid key.
    Key,
    /// Somebody whose key was rejected.
    Rejected,
}

/// The budgets that one request is charged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charge {
    /// None.
    Nothing,
    /// The caller's address.
    Address(AddressBudget),
    /// The caller's key.
    Key,
    /// Both; refused only when both are used up.
    KeyAndAddress(AddressBudget),
}

/// What a request of `payer` on a route of `family` is charged to.
pub const fn charge(family: RateLimitClass, payer: Payer) -> Charge {
    match (family, payer) {
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

/// Whether a request of `payer` is charged to the neighbourhood of its address, too ([`super::Neighbourhood`]).
///
/// Of the holder of a valid key it is not: what other callers nearby do is never a reason to refuse a key.
pub const fn charges_neighbourhood(payer: Payer) -> bool {
    match payer {
        Payer::Anonymous | Payer::FirstParty | Payer::Rejected => true,
        Payer::Key => false,
    }
}

/// A budget after a request was charged to it: what the response headers say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    /// Requests a window.
    pub limit: u32,
    /// Requests left in it.
    pub remaining: u32,
    /// Unix time, in seconds, at which the full allowance returns.
    pub reset: i64,
}

/// What a budget says to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether it has room. Only then was anything charged.
    pub admitted: bool,
    /// How it stands.
    pub allowance: Allowance,
    /// How the client's share of a shared key stands.
    pub subclient: Option<Allowance>,
    /// Whether it is the day's volume that is used up; `allowance.reset` is then the end of the day.
    pub daily: bool,
    /// Whether `allowance` is that of the address's neighbourhood, because it leaves less than the address's own.
    #[serde(default)]
    pub of_neighbourhood: bool,
}

/// Requests charged to one budget in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// The window.
    pub window: i64,
    /// Requests in it.
    pub used: u32,
}

impl Count {
    /// The requests of `window`: a count of another window is a count of nothing.
    pub const fn used_in(self, window: i64) -> u32 {
        if self.window == window { self.used } else { 0 }
    }

    /// One request more in `window`.
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
    /// This minute's.
    pub minute: Count,
    /// This UTC day's; its window is the day.
    pub day: Count,
}

impl AddressCount {
    /// Charges a request if there is room. Only an admitted request changes the counters; a host stores them before it
    /// lets the request through.
    pub fn take(&mut self, budget: AddressBudget, now_seconds: i64) -> Verdict {
        take_address(AddressCounters::Own(self), budget, now_seconds)
    }

    /// Whether the counters differ from fresh ones at `now_seconds`.
    pub fn counts(&self, budget: AddressBudget, now_seconds: i64) -> bool {
        let today = budget.per_day().is_some() && self.day.used_in(day_of(now_seconds)) > 0;
        today || self.minute.used_in(window_of(now_seconds)) > 0
    }

    fn charge(&mut self, now_seconds: i64) {
        self.minute = self.minute.charged(window_of(now_seconds));
        self.day = self.day.charged(day_of(now_seconds));
    }

    /// What a budget of `times` the limits allows, and whether it is the day's that is used up.
    fn standing(&self, budget: AddressBudget, times: u32, now_seconds: i64) -> (Allowance, bool) {
        let (window, day) = (window_of(now_seconds), day_of(now_seconds));
        let mut allowance = self.minute.allowance(window, budget.limit().saturating_mul(times));
        let left_today =
            budget.per_day().map(|limit| limit.saturating_mul(times).saturating_sub(self.day.used_in(day)));
        allowance.remaining = allowance.remaining.min(left_today.unwrap_or(u32::MAX));
        (allowance, left_today == Some(0))
    }
}

/// The counters of one address and budget of a host, those of its neighbourhood, or both.
#[derive(Debug)]
pub enum AddressCounters<'a> {
    /// The address alone: the request is not charged to its neighbourhood.
    Own(&'a mut AddressCount),
    /// Both.
    Both(&'a mut AddressCount, NeighbourhoodCount<'a>),
    /// The neighbourhood alone: the host has no counter left for the address.
    Neighbourhood(NeighbourhoodCount<'a>),
}

/// The counters of a neighbourhood.
#[derive(Debug)]
pub struct NeighbourhoodCount<'a> {
    /// The counters.
    pub count: &'a mut AddressCount,
    /// How many times an address's limits it has ([`super::client_net::Neighbourhood::ratio`]).
    pub times: u32,
}

/// Charges a request to an address and to its neighbourhood: both have room, or neither is charged.
///
/// The verdict tells of the one that refuses, and where both admit of the one that leaves less. Of two that refuse it tells of the
/// one with the longer wait.
pub fn take_address(counters: AddressCounters<'_>, budget: AddressBudget, now_seconds: i64) -> Verdict {
    let refusal = |count: &AddressCount, times, of_neighbourhood| {
        let (mut allowance, daily) = count.standing(budget, times, now_seconds);
        if daily {
            allowance.reset = day_of(now_seconds).saturating_add(1).saturating_mul(DAY_SECONDS);
        }
        let verdict = Verdict { admitted: false, allowance, subclient: None, daily, of_neighbourhood };
        (allowance.remaining == 0).then_some(verdict)
    };
    let charged = |count: &mut AddressCount, times, of_neighbourhood| {
        count.charge(now_seconds);
        let (allowance, _) = count.standing(budget, times, now_seconds);
        Verdict { admitted: true, allowance, subclient: None, daily: false, of_neighbourhood }
    };
    match counters {
        AddressCounters::Own(own) => refusal(own, 1, false).unwrap_or_else(|| charged(own, 1, false)),
        AddressCounters::Neighbourhood(NeighbourhoodCount { count, times }) => {
            refusal(count, times, true).unwrap_or_else(|| charged(count, times, true))
        }
        AddressCounters::Both(own, NeighbourhoodCount { count, times }) => {
            match (refusal(own, 1, false), refusal(count, times, true)) {
                (None, None) => {
                    let (own, shared) = (charged(own, 1, false), charged(count, times, true));
                    if shared.allowance.remaining < own.allowance.remaining { shared } else { own }
                }
                (Some(own), Some(shared)) if shared.allowance.reset <= own.allowance.reset => own,
                (_, Some(shared)) => shared,
                (Some(own), None) => own,
            }
        }
    }
}

/// Charges a request to a key's budget of `family`, and to the client's share when the key is shared.
///
/// `total` counts the family, `client` the client's requests in it; both have room or neither is charged.
/// `None` where keys have no budget in the family.
pub fn take_key(
    record: &KeyRecord,
    family: RateLimitClass,
    total: &mut Count,
    client: Option<&mut Count>,
    now_seconds: i64,
) -> Option<Verdict> {
    let limit = key_limit(family, record.rpm)?;
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

/// The verdict of a request that is charged to its key and its address: refused only when both refuse, and told by the
/// one that leaves more room. Source: interface, "Rate limits".
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
