//! The rows of a key's Durable Object in memory, as its SQL tables hold them. The tests of limits and the models of `models/` store them here.

use rds_edge::guard::keys::ledger::{Bucket, Entry};
use rds_edge::guard::keys::object_reservations::OutstandingReservation;
use rds_edge::guard::keys::state::{Change, Stored, StoredKey};
use rds_edge::guard::keys::subclient::Subclient;
use rds_edge::guard::keys::usage_batches::{Batch, WINDOWS_PER_DAY};
use rds_shared::access::link::UsageRow;
use std::collections::BTreeMap;

/// The tables. A row of `counts` is named by window, rate-limit class, client and endpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Rows {
    pub key: Option<StoredKey>,
    pub counts: BTreeMap<(i64, &'static str, Subclient, String), Entry>,
    pub reserved: BTreeMap<i64, OutstandingReservation>,
    pub batches: BTreeMap<u64, Batch>,
    pub usage: BTreeMap<(u64, String), UsageRow>,
}

impl Rows {
    /// The state as an instance loads it.
    pub fn stored(&self) -> Stored {
        let charged = self.counts.keys().filter(|(_, class, ..)| !class.is_empty());
        let latest = charged.map(|(window, ..)| *window).chain(self.reserved.values().map(|out| out.window)).max();
        let mut buckets = BTreeMap::<_, Bucket>::new();
        for entry in self.counts.values().filter(|entry| Some(entry.window) == latest && entry.served > 0) {
            let Some(class) = entry.class else { continue };
            let empty = Bucket { window: entry.window, class, client: entry.client.clone(), used: 0 };
            buckets.entry((class, entry.client.clone())).or_insert(empty).used += entry.served;
        }
        for out in self.reserved.values().filter(|out| Some(out.window) == latest) {
            let (window, class, client) = (out.window, out.class, Subclient::Pooled);
            let empty = Bucket { window, class, client: client.clone(), used: 0 };
            buckets.entry((class, client)).or_insert(empty).used += out.size;
        }
        Stored {
            key: self.key.clone(),
            buckets: buckets.into_values().collect(),
            out: self.reserved.values().copied().collect(),
            batches: self.batches.values().copied().collect(),
        }
    }

    /// Applies one change.
    pub fn apply(&mut self, change: &Change<'_>) {
        match change {
            Change::Create(key) => self.key = Some((*key).clone()),
            Change::Lease(lease) => self.key.as_mut().unwrap().lease = Some(*lease),
            Change::Count(entries) => self.count(entries),
            Change::Reserve(out) => {
                assert_eq!(self.reserved.insert(out.id, *out), None, "reservation ids are unique")
            }
            Change::Settle(out, spent) => {
                assert_eq!(self.reserved.remove(&out.id), Some(*out), "a settled reservation was outstanding");
                self.count(spent);
            }
            Change::Fold(fold) => {
                self.batches.insert(fold.into.sequence, fold.into);
                self.reserved.retain(|_, out| out.window >= fold.before);
                let open = self.counts.split_off(&(fold.before, "", Subclient::Pooled, String::new()));
                for entry in std::mem::replace(&mut self.counts, open).into_values() {
                    assert_eq!(entry.window.div_euclid(WINDOWS_PER_DAY), fold.into.day, "a batch covers one day");
                    let (day, endpoint) = (fold.into.day, entry.endpoint.clone());
                    let empty = UsageRow { day, endpoint: endpoint.clone(), served: 0, throttled: 0, last_seen: 0 };
                    let row = self.usage.entry((fold.into.sequence, endpoint)).or_insert(empty);
                    row.served += u64::from(entry.served);
                    row.throttled += u64::from(entry.throttled);
                    row.last_seen = row.last_seen.max(entry.last_seen);
                }
                let key = self.key.as_mut().unwrap();
                key.floor = key.floor.max(fold.before);
            }
            Change::Seal(sequence) => self.batches.get_mut(sequence).unwrap().sealed = true,
            Change::Forget(sequence) => {
                self.batches.retain(|number, _| number > sequence);
                self.usage.retain(|(number, _), _| number > sequence);
                let key = self.key.as_mut().unwrap();
                key.acknowledged = key.acknowledged.max(*sequence);
            }
        }
    }

    /// The days that have counts in windows before `window`, ascending.
    pub fn closed_days(&self, window: i64) -> Vec<i64> {
        let mut days: Vec<_> = self.counts.keys().map(|(window, ..)| *window).collect();
        days.retain(|counted| *counted < window);
        days.iter_mut().for_each(|window| *window = window.div_euclid(WINDOWS_PER_DAY));
        days.dedup();
        days
    }

    pub fn batch_rows(&self, sequence: u64) -> Vec<UsageRow> {
        self.usage.iter().filter(|((number, _), _)| *number == sequence).map(|(_, row)| row.clone()).collect()
    }

    fn count(&mut self, entries: &[Entry]) {
        for entry in entries {
            let class = entry.class.map_or("", |class| class.as_str());
            let key = (entry.window, class, entry.client.clone(), entry.endpoint.clone());
            let row = self.counts.entry(key).or_insert(Entry { served: 0, throttled: 0, ..entry.clone() });
            row.served += entry.served;
            row.throttled += entry.throttled;
        }
    }
}
