//! The windows of one key: what was admitted in the present one, by family and by client.
//!
//! A mirror of rows on disk. The disk is written first, so that the mirror never knows of less than what was granted.

use super::DiskFault;
use super::message::Take;
use super::subclient::{MOST, Subclient};
use rds_shared::access::KeyRecord;
use rds_shared::access::budget::{Count, Verdict, WINDOW_SECONDS, take_key, window_of};
use rds_shared::route::Family;
use std::collections::{BTreeMap, BTreeSet};

/// Requests to add to a row of counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The window they fall into.
    pub window: i64,
    /// The budget they were charged to; `None` for requests that the key was not charged for.
    pub family: Option<Family>,
    /// The client's bucket.
    pub client: Subclient,
    /// The route.
    pub endpoint: String,
    /// Served.
    pub served: u32,
    /// Answered 429.
    pub throttled: u32,
    /// The latest of them, Unix seconds.
    pub last_seen: i64,
}

/// Admitted requests of a bucket in the latest window that the disk knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket {
    /// The window.
    pub window: i64,
    /// The budget.
    pub family: Family,
    /// The client's bucket.
    pub client: Subclient,
    /// Admitted.
    pub used: u32,
}

/// The counts of a key's present window.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    window: i64,
    totals: BTreeMap<Family, u32>,
    clients: BTreeMap<(Family, Subclient), u32>,
    named: BTreeSet<Subclient>,
}

impl Ledger {
    /// What the disk holds. `floor` is a window that the present one cannot lie before.
    pub fn new(buckets: Vec<Bucket>, floor: i64) -> Self {
        let mut ledger = Ledger::default();
        ledger.enter(buckets.iter().map(|bucket| bucket.window).max().unwrap_or(0).max(floor));
        for bucket in buckets {
            if bucket.window == ledger.window {
                ledger.admit(bucket.family, &bucket.client, bucket.used);
            }
        }
        ledger
    }

    /// The present second at a clock that says `now`: windows never come back, even if a clock is set back.
    pub fn present(&self, now: i64) -> i64 {
        now.max(self.window.saturating_mul(WINDOW_SECONDS))
    }

    /// Charges a request if there is room; `write` puts it on disk before it counts as admitted.
    ///
    /// `None` where keys have no budget in the family.
    pub fn take(
        &mut self,
        record: &KeyRecord,
        take: &Take,
        now: i64,
        write: impl FnOnce(&Entry) -> Result<(), DiskFault>,
    ) -> Result<Option<Verdict>, DiskFault> {
        let now = self.present(now);
        let window = window_of(now);
        self.enter(window);
        let client = self.bucket(record, &take.client);
        let count = |used: Option<&u32>| Count { window, used: used.copied().unwrap_or(0) };
        let mut total = count(self.totals.get(&take.family));
        let mut own = count(self.clients.get(&(take.family, client.clone())));
        let verdict = take_key(record, take.family, &mut total, Some(&mut own), now);
        if verdict.is_some_and(|verdict| verdict.admitted) {
            write(&Entry {
                window,
                family: Some(take.family),
                client: client.clone(),
                endpoint: take.endpoint.clone(),
                served: 1,
                throttled: 0,
                last_seen: now,
            })?;
            self.admit(take.family, &client, 1);
        }
        Ok(verdict)
    }

    /// The bucket that a request falls into. Only shared keys have clients, and only so many.
    fn bucket(&self, record: &KeyRecord, asked: &Subclient) -> Subclient {
        match asked {
            Subclient::Named(_) if !record.shared => Subclient::Pooled,
            Subclient::Named(_) if self.named.len() >= MOST && !self.named.contains(asked) => Subclient::Overflow,
            other => other.clone(),
        }
    }

    /// Leaves every window before `window` behind for good.
    pub fn enter(&mut self, window: i64) {
        if window > self.window {
            *self = Ledger { window, ..Ledger::default() };
        }
    }

    fn admit(&mut self, family: Family, client: &Subclient, requests: u32) {
        let total = self.totals.entry(family).or_default();
        *total = total.saturating_add(requests);
        let own = self.clients.entry((family, client.clone())).or_default();
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
        Take { family: Family::Public, endpoint: "GET /v1/vaults".to_owned(), client }
    }

    #[test]
    fn a_request_that_the_disk_did_not_take_was_not_admitted() {
        let mut ledger = Ledger::default();
        let fault = ledger.take(&key(1, false), &take(None), NOW, |_| Err(DiskFault("full".to_owned())));
        assert!(fault.is_err());
        assert!(ledger.take(&key(1, false), &take(None), NOW, |_| Ok(())).unwrap().unwrap().admitted);
        let mut writes = 0;
        let denied = ledger.take(&key(1, false), &take(None), NOW, |_| {
            writes += 1;
            Ok(())
        });
        assert_eq!((denied.unwrap().unwrap().admitted, writes), (false, 0), "a refusal writes nothing");
    }

    #[test]
    fn a_clock_that_is_set_back_brings_no_window_back() {
        let mut ledger = Ledger::default();
        let mut admitted = |now| ledger.take(&key(2, false), &take(None), now, |_| Ok(())).unwrap().unwrap().admitted;
        assert!(admitted(NOW) && admitted(NOW + 60));
        assert!(admitted(NOW), "counted in the later window");
        assert!(!admitted(NOW));
        assert!(!admitted(NOW + 60));
        assert!(admitted(NOW + 120));
    }

    #[test]
    fn clients_beyond_the_bound_share_a_bucket_until_the_window_ends() {
        let mut ledger = Ledger::default();
        let shared = key(40_000, true);
        for number in 0..MOST {
            let entry = std::cell::RefCell::new(None);
            let note = |written: &Entry| {
                *entry.borrow_mut() = Some(written.client.clone());
                Ok(())
            };
            ledger.take(&shared, &take(Some(&number.to_string())), NOW, note).unwrap();
            assert!(matches!(entry.into_inner(), Some(Subclient::Named(_))));
        }
        let mut bucket_of = |name: Option<&str>, now| {
            let mut bucket = None;
            let note = |written: &Entry| {
                bucket = Some(written.client.clone());
                Ok(())
            };
            ledger.take(&shared, &take(name), now, note).unwrap();
            bucket.unwrap()
        };
        assert_eq!(bucket_of(Some("one more"), NOW), Subclient::Overflow);
        assert!(matches!(bucket_of(Some("17"), NOW), Subclient::Named(_)));
        assert_eq!(bucket_of(None, NOW), Subclient::Pooled);
        assert!(matches!(bucket_of(Some("one more"), NOW + 60), Subclient::Named(_)));
    }

    #[test]
    fn an_ordinary_keys_clients_are_not_told_apart() {
        let mut ledger = Ledger::default();
        for name in ["a", "b"] {
            let verdict = ledger.take(&key(8, false), &take(Some(name)), NOW, |written| {
                assert_eq!(written.client, Subclient::Pooled);
                Ok(())
            });
            assert_eq!(verdict.unwrap().unwrap().subclient, None);
        }
    }
}
