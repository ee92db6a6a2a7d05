//! Allowances: which budgets a request is charged to, how large they are, and the fixed windows they are counted in.
//!
//! Pure: the hosts keep the counters, in a place that survives them, and bring the time.
//! Source: interface, "Limits", "Rate limits"; contracts, "Choices".

use super::plan::KeyRecord;
use crate::route::Family;

/// Length of every window, in seconds. Windows are aligned to the Unix epoch, so that all hosts agree on them.
pub const WINDOW_SECONDS: i64 = 60;
/// Seconds of a UTC day.
const DAY_SECONDS: i64 = 86_400;
/// Requests of one address without a key in a UTC day.
pub const ANONYMOUS_PER_DAY: u32 = 1_000;

/// The window of an instant: its number since the epoch.
pub const fn window_of(now_seconds: i64) -> i64 {
    now_seconds.div_euclid(WINDOW_SECONDS)
}

/// The UTC day of an instant: its number since the epoch.
pub const fn day_of(now_seconds: i64) -> i64 {
    now_seconds.div_euclid(DAY_SECONDS)
}

/// A budget of one caller's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
            _ => None,
        }
    }
}

/// Family caps, per window.
const GRAPH_READS: u32 = 600;
const GRAPH_CHECKS: u32 = 60;
const BASKET_WEBHOOK_WRITES: u32 = 30;

/// A family's budget of one key, per window; `None` where keys have none and only the address counts.
pub fn key_limit(family: Family, rpm: u32) -> Option<u32> {
    match family {
        Family::Public => Some(rpm),
        // A read may use the greater of the two; what is costly has a cap that no contract lifts.
        Family::GraphRead => Some(rpm.max(GRAPH_READS)),
        Family::GraphCheck => Some(GRAPH_CHECKS),
        Family::BasketWebhooks => Some(BASKET_WEBHOOK_WRITES),
        Family::Status | Family::Health | Family::Unmetered => None,
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
pub const fn charge(family: Family, payer: Payer) -> Charge {
    match (family, payer) {
        (_, Payer::Rejected) => Charge::Address(AddressBudget::Anonymous),
        (Family::Unmetered, _) => Charge::Nothing,
        (Family::Status, _) => Charge::Address(AddressBudget::Status),
        (Family::Health, _) => Charge::Address(AddressBudget::Health),
        (_, Payer::Anonymous) => Charge::Address(AddressBudget::Anonymous),
        (_, Payer::FirstParty) => Charge::Address(AddressBudget::FirstParty),
        (Family::Public, Payer::Key) => Charge::Key,
        (Family::GraphRead, Payer::Key) => Charge::KeyAndAddress(AddressBudget::GraphRead),
        (Family::GraphCheck, Payer::Key) => Charge::KeyAndAddress(AddressBudget::GraphCheck),
        (Family::BasketWebhooks, Payer::Key) => Charge::KeyAndAddress(AddressBudget::BasketWebhooks),
    }
}

/// A budget after a request was charged to it: what the response headers say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Requests a window.
    pub limit: u32,
    /// Requests left in it.
    pub remaining: u32,
    /// Unix time, in seconds, at which the full allowance returns.
    pub reset: i64,
}

/// What a budget says to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it has room. Only then was anything charged.
    pub admitted: bool,
    /// How it stands.
    pub allowance: Allowance,
    /// How the client's share of a shared key stands.
    pub subclient: Option<Allowance>,
    /// Whether it is the day's volume that is used up; `allowance.reset` is then the end of the day.
    pub daily: bool,
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
        let (window, day) = (window_of(now_seconds), day_of(now_seconds));
        let day_is_full = budget.per_day().is_some_and(|limit| self.day.used_in(day) >= limit);
        let admitted = !day_is_full && self.minute.used_in(window) < budget.limit();
        if admitted {
            self.minute = self.minute.charged(window);
            self.day = self.day.charged(day);
        }
        let mut allowance = self.minute.allowance(window, budget.limit());
        if day_is_full {
            allowance.remaining = 0;
            allowance.reset = day.saturating_add(1).saturating_mul(DAY_SECONDS);
        }
        Verdict { admitted, allowance, subclient: None, daily: day_is_full }
    }
}

/// Charges a request to a key's budget of `family`, and to the client's share when the key is shared.
///
/// `total` counts the family, `client` the client's requests in it; both have room or neither is charged.
/// `None` where keys have no budget in the family.
pub fn take_key(
    record: &KeyRecord,
    family: Family,
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
    Some(Verdict { admitted, allowance: total.allowance(window, limit), subclient, daily: false })
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
mod tests {
    use super::*;
    use crate::access::Plan;
    use proptest::prelude::*;

    const NOW: i64 = 1_795_219_205;

    fn key(rpm: u32, shared: bool) -> KeyRecord {
        KeyRecord { id: 1, org_id: 1, plan: Plan::Decisioning, rpm, shared, active: true, version: 1 }
    }

    #[test]
    fn the_allowance_counts_down_and_returns_whole_when_the_window_ends() {
        let mut count = AddressCount::default();
        for left in (0..10).rev() {
            let verdict = count.take(AddressBudget::Anonymous, NOW);
            let allowance = Allowance { limit: 10, remaining: left, reset: 1_795_219_260 };
            assert_eq!((verdict.admitted, verdict.allowance), (true, allowance));
        }
        let before = count;
        assert!(!count.take(AddressBudget::Anonymous, 1_795_219_259).admitted);
        assert_eq!(count, before, "a refusal costs nothing");
        let next = count.take(AddressBudget::Anonymous, 1_795_219_260);
        assert_eq!((next.admitted, next.allowance.remaining), (true, 9));
    }

    #[test]
    fn a_day_of_anonymous_requests_ends_at_a_thousand_and_at_midnight() {
        let midnight = NOW - NOW.rem_euclid(86_400);
        let mut count = AddressCount::default();
        let admitted = (0..86_400).filter(|s| count.take(AddressBudget::Anonymous, midnight + s).admitted).count();
        assert_eq!(admitted, 1_000);
        let refused = count.take(AddressBudget::Anonymous, midnight + 86_399);
        assert_eq!((refused.daily, refused.allowance.reset), (true, midnight + 86_400));
        assert!(count.take(AddressBudget::Anonymous, midnight + 86_400).admitted);
        let mut pages = AddressCount::default();
        assert!((0..86_400).all(|s| pages.take(AddressBudget::FirstParty, midnight + s).admitted));
    }

    #[test]
    fn a_family_read_has_the_greater_of_both_limits_and_a_check_always_its_cap() {
        assert_eq!(key_limit(Family::GraphRead, 300), Some(600));
        assert_eq!(key_limit(Family::GraphRead, 5_000), Some(5_000));
        assert_eq!(key_limit(Family::GraphCheck, 5_000), Some(60));
        assert_eq!(key_limit(Family::BasketWebhooks, 5_000), Some(30));
        assert_eq!(key_limit(Family::Public, 7), Some(7));
        assert_eq!(key_limit(Family::Health, 7), None);
    }

    #[test]
    fn one_client_of_a_shared_key_cannot_use_up_the_others() {
        let (record, mut total) = (key(40, true), Count::default());
        let (mut one, mut other) = (Count::default(), Count::default());
        let take = |total: &mut Count, client: &mut Count| {
            take_key(&record, Family::Public, total, Some(client), NOW).unwrap()
        };
        let served = (0..40).filter(|_| take(&mut total, &mut one).admitted).count();
        assert_eq!(served, 10);
        let refused = take(&mut total, &mut one);
        assert_eq!((refused.allowance.remaining, refused.subclient.unwrap().remaining), (30, 0));
        let verdict = take(&mut total, &mut other);
        let share = Allowance { limit: 10, remaining: 9, reset: 1_795_219_260 };
        assert_eq!((verdict.admitted, verdict.subclient), (true, Some(share)));
    }

    #[test]
    fn an_ordinary_key_has_no_clients() {
        let mut client = Count::default();
        let verdict = take_key(&key(4, false), Family::Public, &mut Count::default(), Some(&mut client), NOW).unwrap();
        assert_eq!((verdict.subclient, client.used), (None, 0));
    }

    #[test]
    fn a_quarter_is_rounded_down_and_never_nothing() {
        assert_eq!([1, 3, 4, 7, 8, 1_200].map(subclient_limit), [1, 1, 1, 1, 2, 300]);
    }

    #[test]
    fn a_family_refuses_only_when_key_and_address_both_do() {
        let verdict = |admitted, remaining| Verdict {
            admitted,
            allowance: Allowance { limit: 60, remaining, reset: 0 },
            subclient: None,
            daily: false,
        };
        assert!(either(verdict(true, 3), verdict(false, 0)).admitted);
        assert!(either(verdict(false, 0), verdict(true, 7)).admitted);
        assert!(!either(verdict(false, 0), verdict(false, 0)).admitted);
        assert_eq!(either(verdict(true, 3), verdict(true, 7)).allowance.remaining, 7);
    }

    #[test]
    fn a_rejected_key_is_charged_to_its_address_on_every_route() {
        for family in [Family::Public, Family::Health, Family::GraphCheck, Family::Unmetered] {
            assert_eq!(charge(family, Payer::Rejected), Charge::Address(AddressBudget::Anonymous));
        }
        assert_eq!(charge(Family::Health, Payer::Key), Charge::Address(AddressBudget::Health));
        assert_eq!(charge(Family::Public, Payer::Key), Charge::Key);
        assert_eq!(charge(Family::Unmetered, Payer::Key), Charge::Nothing);
    }

    proptest! {
        #[test]
        fn no_window_ever_admits_more_than_its_limit(
            limit in 1u32..40, steps in proptest::collection::vec((0i64..90, 0u8..3), 1..400),
        ) {
            let record = key(limit, true);
            let (mut total, mut clients) = (Count::default(), [Count::default(); 3]);
            let mut admitted = std::collections::BTreeMap::<(i64, Option<u8>), u32>::new();
            let mut now = NOW;
            for (wait, client) in steps {
                now += wait / 10;
                let count = &mut clients[usize::from(client)];
                if take_key(&record, Family::Public, &mut total, Some(count), now).unwrap().admitted {
                    *admitted.entry((window_of(now), None)).or_default() += 1;
                    *admitted.entry((window_of(now), Some(client))).or_default() += 1;
                }
            }
            for ((_, client), count) in admitted {
                let bound = if client.is_some() { subclient_limit(limit) } else { limit };
                prop_assert!(count <= bound);
            }
        }
    }
}
