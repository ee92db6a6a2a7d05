//! Admitted requests of one key in the current window, by rate-limit class and client.
//!
//! The ledger mirrors rows in storage, and counts a request before its row is written. If the write fails, the ledger is discarded and
//! loaded again, so it never counts fewer requests than were admitted.

use crate::guard::keys::subclient::{MAX_CLIENTS, Subclient};
use crate::guard::objects::message::Take;
use rds_shared::access::KeyRecord;
use rds_shared::access::budget::{Allowance, Count, Verdict, WINDOW_SECONDS, key_limit, take_key, window_of};
use rds_shared::route::RateLimitClass;
use std::collections::{BTreeMap, BTreeSet};

/// A reservation takes at most 1/8 of the key's remaining requests, so that other isolates can still make requests.
const RESERVED_SHARE: u32 = 8;
/// The smallest reservation, in requests. For fewer, a call of the Durable Object for each request is cheaper.
pub const MIN_RESERVED: u32 = 64;

/// Requests to add to a row of counts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Window number.
    pub window: i64,
    /// The rate-limit class charged; `None` for requests not charged to the key.
    pub class: Option<RateLimitClass>,
    pub client: Subclient,
    pub endpoint: String,
    pub served: u32,
    /// Requests answered with 429.
    pub throttled: u32,
    /// Time of the latest request, Unix seconds.
    pub last_seen: i64,
}

impl Entry {
    /// Adds `other` if it belongs to the same row; returns whether it does.
    pub fn absorb(&mut self, other: &Entry) -> bool {
        let same = (self.window, self.class) == (other.window, other.class)
            && self.client == other.client
            && self.endpoint == other.endpoint;
        if same {
            self.served = self.served.saturating_add(other.served);
            self.throttled = self.throttled.saturating_add(other.throttled);
            self.last_seen = self.last_seen.max(other.last_seen);
        }
        same
    }
}

/// Admitted requests of a bucket in the latest stored window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket {
    pub window: i64,
    pub class: RateLimitClass,
    pub client: Subclient,
    pub used: u32,
}

/// The counts of a key's current window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Ledger {
    window: i64,
    totals: BTreeMap<RateLimitClass, u32>,
    clients: BTreeMap<(RateLimitClass, Subclient), u32>,
    named: BTreeSet<Subclient>,
}

impl Ledger {
    /// Builds the counts from storage. The current window is not before `floor`.
    pub fn new(buckets: Vec<Bucket>, floor: i64) -> Self {
        let mut ledger = Ledger::default();
        ledger.enter(buckets.iter().map(|bucket| bucket.window).max().unwrap_or(0).max(floor));
        for bucket in buckets {
            if bucket.window == ledger.window {
                ledger.admit(bucket.class, &bucket.client, bucket.used);
            }
        }
        ledger
    }

    /// The current second; never before the current window, even if the clock was set back.
    pub fn present(&self, now: i64) -> i64 {
        now.max(self.window.saturating_mul(WINDOW_SECONDS))
    }

    /// Charges a request if the limit allows. Returns its verdict and, if admitted, the row to write before replying.
    ///
    /// `None` if keys have no limit in the rate-limit class.
    pub fn take(&mut self, record: &KeyRecord, take: &Take, now: i64) -> Option<(Verdict, Option<Entry>)> {
        let now = self.present(now);
        let window = window_of(now);
        self.enter(window);
        let client = self.bucket(record, &take.client);
        let count = |used: Option<&u32>| Count { window, used: used.copied().unwrap_or(0) };
        let mut total = count(self.totals.get(&take.class));
        let mut own = count(self.clients.get(&(take.class, client.clone())));
        let verdict = take_key(record, take.class, &mut total, Some(&mut own), now)?;
        if !verdict.admitted {
            return Some((verdict, None));
        }
        self.admit(take.class, &client, 1);
        let entry = Entry {
            window,
            class: Some(take.class),
            client,
            endpoint: take.endpoint.clone(),
            served: 1,
            throttled: 0,
            last_seen: now,
        };
        Some((verdict, Some(entry)))
    }

    /// Counts requests in advance: at most `want`, and at most a share of the remaining requests. Returns the number of reserved requests
    /// and the allowance that remains. `None` for a shared key, whose clients have limits of their own, or if too few requests are left.
    pub fn reserve(
        &mut self,
        record: &KeyRecord,
        class: RateLimitClass,
        want: u32,
        now: i64,
    ) -> Option<(u32, Allowance)> {
        let limit = key_limit(class, record.rpm).filter(|_| !record.shared)?;
        let window = window_of(self.present(now));
        self.enter(window);
        let left = limit.saturating_sub(self.totals.get(&class).copied().unwrap_or(0));
        let size = want.min(left / RESERVED_SHARE);
        if size < MIN_RESERVED {
            return None;
        }
        self.admit(class, &Subclient::Pooled, size);
        let reset = window.saturating_add(1).saturating_mul(WINDOW_SECONDS);
        Some((size, Allowance { limit, remaining: left.saturating_sub(size), reset }))
    }

    /// Gives back reserved requests of `window` that were not made.
    pub fn release(&mut self, window: i64, class: RateLimitClass, requests: u32) {
        if window == self.window {
            for count in [self.totals.get_mut(&class), self.clients.get_mut(&(class, Subclient::Pooled))] {
                count.into_iter().for_each(|count| *count = count.saturating_sub(requests));
            }
        }
    }

    /// The bucket of a request. Shared keys have a bucket per named client, up to `MAX_CLIENTS`; further clients share one. Other keys have
    /// a single bucket.
    fn bucket(&self, record: &KeyRecord, asked: &Subclient) -> Subclient {
        match asked {
            Subclient::Named(_) if !record.shared => Subclient::Pooled,
            Subclient::Named(_) if self.named.len() >= MAX_CLIENTS && !self.named.contains(asked) => {
                Subclient::Overflow
            }
            other => other.clone(),
        }
    }

    /// Moves on to `window`; earlier windows never become current again.
    pub fn enter(&mut self, window: i64) {
        if window > self.window {
            *self = Ledger { window, ..Ledger::default() };
        }
    }

    fn admit(&mut self, class: RateLimitClass, client: &Subclient, requests: u32) {
        let total = self.totals.entry(class).or_default();
        *total = total.saturating_add(requests);
        let own = self.clients.entry((class, client.clone())).or_default();
        *own = own.saturating_add(requests);
        if matches!(client, Subclient::Named(_)) {
            self.named.insert(client.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::access::Plan;

    const NOW: i64 = 1_795_219_205;

    fn key(rpm: u32, shared: bool) -> KeyRecord {
        KeyRecord { id: 1, org_id: 1, plan: Plan::Data, rpm, shared, active: true, version: 1 }
    }

    fn take(client: Option<&str>) -> Take {
        let client = Subclient::read(client).unwrap();
        Take { class: RateLimitClass::Public, endpoint: "GET /v1/vaults".to_owned(), client }
    }

    #[test]
    fn a_refusal_writes_nothing() {
        let mut ledger = Ledger::default();
        let (admitted, entry) = ledger.take(&key(1, false), &take(None), NOW).unwrap();
        assert!(admitted.admitted && entry.is_some_and(|entry| entry.served == 1));
        let (refused, entry) = ledger.take(&key(1, false), &take(None), NOW).unwrap();
        assert_eq!((refused.admitted, entry), (false, None));
    }

    #[test]
    fn only_requests_of_one_row_add_up() {
        let mut ledger = Ledger::default();
        let mut entry = |client, now| ledger.take(&key(40, true), &take(client), now).unwrap().1.unwrap();
        let mut first = entry(Some("one"), NOW);
        assert!(first.absorb(&entry(Some("one"), NOW + 1)));
        assert_eq!((first.served, first.last_seen), (2, NOW + 1));
        assert!(!first.absorb(&entry(Some("two"), NOW)), "of another client");
        assert!(!first.absorb(&entry(Some("one"), NOW + 60)), "of another window");
        assert_eq!(first.served, 2);
    }

    #[test]
    fn a_clock_set_back_does_not_bring_an_earlier_window_back() {
        let mut ledger = Ledger::default();
        let mut admitted = |now| ledger.take(&key(2, false), &take(None), now).unwrap().0.admitted;
        assert!(admitted(NOW) && admitted(NOW + 60));
        assert!(admitted(NOW), "counted in the later window");
        assert!(!admitted(NOW));
        assert!(!admitted(NOW + 60));
        assert!(admitted(NOW + 120));
    }

    #[test]
    fn a_reservation_takes_a_share_of_what_is_left_and_is_given_back() {
        let (mut ledger, key) = (Ledger::default(), key(1_600, false));
        let reserve = |ledger: &mut Ledger, want| ledger.reserve(&key, RateLimitClass::Public, want, NOW);
        let (size, allowance) = reserve(&mut ledger, 1_000).unwrap();
        assert_eq!((size, allowance.limit, allowance.remaining), (200, 1_600, 1_400));
        assert_eq!(reserve(&mut ledger, 100).unwrap().0, 100);
        let left = |ledger: &mut Ledger| ledger.take(&key, &take(None), NOW).unwrap().0.allowance.remaining;
        assert_eq!(left(&mut ledger), 1_299);
        ledger.release(window_of(NOW), RateLimitClass::Public, 150);
        assert_eq!(left(&mut ledger), 1_448);
        ledger.release(window_of(NOW) - 1, RateLimitClass::Public, 150);
        assert_eq!(left(&mut ledger), 1_447, "requests of an earlier window are not given back to this one");
    }

    #[test]
    fn nothing_is_reserved_if_little_is_left_or_the_key_is_shared_or_has_no_limit() {
        let reserved = |rpm, shared, class, want| Ledger::default().reserve(&key(rpm, shared), class, want, NOW);
        assert!(reserved(512, false, RateLimitClass::Public, 64).is_some());
        assert_eq!(reserved(511, false, RateLimitClass::Public, 64), None);
        assert_eq!(reserved(512, false, RateLimitClass::Public, 63), None);
        assert_eq!(reserved(1_000_000, true, RateLimitClass::Public, 64), None);
        assert_eq!(reserved(1_000_000, false, RateLimitClass::Health, 64), None);
    }

    #[test]
    fn clients_beyond_the_bound_share_a_bucket_until_the_window_ends() {
        let mut ledger = Ledger::default();
        let shared = key(40_000, true);
        let mut bucket_of = |name: Option<&str>, now| ledger.take(&shared, &take(name), now).unwrap().1.unwrap().client;
        for number in 0..MAX_CLIENTS {
            assert!(matches!(bucket_of(Some(&number.to_string()), NOW), Subclient::Named(_)));
        }
        assert_eq!(bucket_of(Some("one more"), NOW), Subclient::Overflow);
        assert!(matches!(bucket_of(Some("17"), NOW), Subclient::Named(_)));
        assert_eq!(bucket_of(None, NOW), Subclient::Pooled);
        assert!(matches!(bucket_of(Some("one more"), NOW + 60), Subclient::Named(_)));
    }

    #[test]
    fn clients_of_a_key_that_is_not_shared_are_not_distinguished() {
        let mut ledger = Ledger::default();
        for name in ["a", "b"] {
            let (verdict, entry) = ledger.take(&key(8, false), &take(Some(name)), NOW).unwrap();
            assert_eq!(entry.unwrap().client, Subclient::Pooled);
            assert_eq!(verdict.subclient, None);
        }
    }
}
