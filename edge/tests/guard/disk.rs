//! Storage shared by several instances of one Durable Object. As in the runtime, only the latest can read or write it;
//! writes can be made to fail.

use rds_edge::guard::DiskFault;
use rds_edge::guard::keys::ledger::{Bucket, Entry};
use rds_edge::guard::keys::object_reservations::OutstandingReservation;
use rds_edge::guard::keys::state::{Change, KeyDisk, KeyGuard, Stored, StoredKey};
use rds_edge::guard::keys::subclient::Subclient;
use rds_edge::guard::keys::usage_batches::{Batch, WINDOWS_PER_DAY};
use rds_edge::guard::objects::message::Take;
use rds_shared::access::budget::Verdict;
use rds_shared::access::link::UsageRow;
use rds_shared::access::{KeyDigest, KeyRecord, Plan};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

pub const NOW: i64 = 1_795_219_205;

#[derive(Default)]
struct Content {
    key: Option<StoredKey>,
    counts: BTreeMap<(i64, &'static str, Subclient, String), Entry>,
    reserved: BTreeMap<i64, OutstandingReservation>,
    batches: BTreeMap<u64, Batch>,
    usage: BTreeMap<(u64, String), UsageRow>,
}

#[derive(Default)]
pub struct Platter {
    content: RefCell<Content>,
    latest: Cell<u32>,
    failing: Cell<bool>,
}

pub struct Disk {
    platter: Rc<Platter>,
    instance: u32,
}

/// An instance of a key's Durable Object.
pub struct Instance {
    pub disk: Disk,
    machine: Option<KeyGuard>,
}

pub fn record(rpm: u32, shared: bool) -> KeyRecord {
    KeyRecord { id: 1, org_id: 1, plan: Plan::Data, rpm, shared, active: true, version: 1 }
}

impl Platter {
    /// Starts a new instance; earlier ones lose access.
    pub fn instance(self: &Rc<Self>) -> Instance {
        self.latest.set(self.latest.get() + 1);
        Instance { disk: Disk { platter: Rc::clone(self), instance: self.latest.get() }, machine: None }
    }

    /// Makes the record unreadable, as after the rollback of a newer release with another record format.
    pub fn forget_record(&self) {
        self.content.borrow_mut().key.as_mut().unwrap().lease = None;
    }

    /// Makes the next writes fail or succeed.
    pub fn fail(&self, failing: bool) {
        self.failing.set(failing);
    }
}

impl Instance {
    /// Runs a step as the runtime does: after a fault the state machine is loaded again.
    pub fn step<T>(&mut self, step: impl FnOnce(&mut KeyGuard, &Disk) -> Result<T, DiskFault>) -> Option<T> {
        let machine = match self.machine.take() {
            Some(machine) => machine,
            None => KeyGuard::load(&self.disk).ok()?,
        };
        let outcome = step(self.machine.insert(machine), &self.disk);
        if outcome.is_err() {
            self.machine = None;
        }
        outcome.ok()
    }

    /// Charges one request; `None` after a storage fault.
    pub fn take(&mut self, record: KeyRecord, take: &Take, now: i64) -> Option<Verdict> {
        self.step(|machine, disk| machine.take(disk, &[(record, take)], now))?.pop().flatten()
    }

    /// Pushes the key's record, so that requests can be counted.
    pub fn introduce(&mut self, record: KeyRecord) {
        self.step(|machine, disk| {
            machine.record_update(disk, KeyDigest::of("k"), record, (NOW * 1_000, "source".to_owned()))
        })
        .unwrap();
    }
}

impl Content {
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

impl Disk {
    fn open(&self) -> Result<std::cell::RefMut<'_, Content>, DiskFault> {
        match self.instance == self.platter.latest.get() {
            true => Ok(self.platter.content.borrow_mut()),
            false => Err(DiskFault("another instance has taken over".to_owned())),
        }
    }
}

impl KeyDisk for Disk {
    fn load(&self) -> Result<Stored, DiskFault> {
        let content = self.open()?;
        let charged = content.counts.keys().filter(|(_, class, ..)| !class.is_empty());
        let latest = charged.map(|(window, ..)| *window).chain(content.reserved.values().map(|out| out.window)).max();
        let mut buckets = BTreeMap::<_, Bucket>::new();
        for entry in content.counts.values().filter(|entry| Some(entry.window) == latest && entry.served > 0) {
            let Some(class) = entry.class else { continue };
            let empty = Bucket { window: entry.window, class, client: entry.client.clone(), used: 0 };
            buckets.entry((class, entry.client.clone())).or_insert(empty).used += entry.served;
        }
        for out in content.reserved.values().filter(|out| Some(out.window) == latest) {
            let (window, class, client) = (out.window, out.class, Subclient::Pooled);
            let empty = Bucket { window, class, client: client.clone(), used: 0 };
            buckets.entry((class, client)).or_insert(empty).used += out.size;
        }
        Ok(Stored {
            key: content.key.clone(),
            buckets: buckets.into_values().collect(),
            out: content.reserved.values().copied().collect(),
            batches: content.batches.values().copied().collect(),
        })
    }

    fn write(&self, change: &Change<'_>) -> Result<(), DiskFault> {
        let mut content = self.open()?;
        if self.platter.failing.get() {
            return Err(DiskFault("the disk is full".to_owned()));
        }
        match change {
            Change::Create(key) => content.key = Some((*key).clone()),
            Change::Lease(lease) => content.key.as_mut().unwrap().lease = Some(*lease),
            Change::Count(entries) => content.count(entries),
            Change::Reserve(out) => {
                assert_eq!(content.reserved.insert(out.id, *out), None, "reservation ids are unique")
            }
            Change::Settle(out, spent) => {
                assert_eq!(content.reserved.remove(&out.id), Some(*out), "a settled reservation was outstanding");
                content.count(spent);
            }
            Change::Fold(fold) => {
                content.batches.insert(fold.into.sequence, fold.into);
                content.reserved.retain(|_, out| out.window >= fold.before);
                let open = content.counts.split_off(&(fold.before, "", Subclient::Pooled, String::new()));
                for entry in std::mem::replace(&mut content.counts, open).into_values() {
                    assert_eq!(entry.window.div_euclid(WINDOWS_PER_DAY), fold.into.day, "a batch covers one day");
                    let (day, endpoint) = (fold.into.day, entry.endpoint.clone());
                    let empty = UsageRow { day, endpoint: endpoint.clone(), served: 0, throttled: 0, last_seen: 0 };
                    let row = content.usage.entry((fold.into.sequence, endpoint)).or_insert(empty);
                    row.served += u64::from(entry.served);
                    row.throttled += u64::from(entry.throttled);
                    row.last_seen = row.last_seen.max(entry.last_seen);
                }
                let key = content.key.as_mut().unwrap();
                key.floor = key.floor.max(fold.before);
            }
            Change::Seal(sequence) => content.batches.get_mut(sequence).unwrap().sealed = true,
            Change::Forget(sequence) => {
                content.batches.retain(|number, _| number > sequence);
                content.usage.retain(|(number, _), _| number > sequence);
                let key = content.key.as_mut().unwrap();
                key.acknowledged = key.acknowledged.max(*sequence);
            }
        }
        Ok(())
    }

    fn closed_days(&self, window: i64) -> Result<Vec<i64>, DiskFault> {
        let mut days: Vec<_> = self.open()?.counts.keys().map(|(window, ..)| *window).collect();
        days.retain(|counted| *counted < window);
        days.iter_mut().for_each(|window| *window = window.div_euclid(WINDOWS_PER_DAY));
        days.dedup();
        Ok(days)
    }

    fn batch_rows(&self, sequence: u64) -> Result<Vec<UsageRow>, DiskFault> {
        let content = self.open()?;
        Ok(content.usage.iter().filter(|((number, _), _)| *number == sequence).map(|(_, row)| row.clone()).collect())
    }
}
