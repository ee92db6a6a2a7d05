//! Storage shared by several instances of one Durable Object. As in the runtime, only the latest can read or write it;
//! writes can be made to fail.

use crate::rows::Rows;
use rds_edge::guard::DiskFault;
use rds_edge::guard::keys::state::{Change, KeyDisk, KeyGuard, Stored};
use rds_edge::guard::objects::message::Take;
use rds_shared::access::budget::Verdict;
use rds_shared::access::link::UsageRow;
use rds_shared::access::{KeyDigest, KeyRecord, Plan};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

pub const NOW: i64 = 1_795_219_205;

#[derive(Default)]
pub struct Platter {
    content: RefCell<Rows>,
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

impl Disk {
    fn open(&self) -> Result<std::cell::RefMut<'_, Rows>, DiskFault> {
        match self.instance == self.platter.latest.get() {
            true => Ok(self.platter.content.borrow_mut()),
            false => Err(DiskFault("another instance has taken over".to_owned())),
        }
    }
}

impl KeyDisk for Disk {
    fn load(&self) -> Result<Stored, DiskFault> {
        Ok(self.open()?.stored())
    }

    fn write(&self, change: &Change<'_>) -> Result<(), DiskFault> {
        let mut rows = self.open()?;
        if self.platter.failing.get() {
            return Err(DiskFault("the disk is full".to_owned()));
        }
        rows.apply(change);
        Ok(())
    }

    fn closed_days(&self, window: i64) -> Result<Vec<i64>, DiskFault> {
        Ok(self.open()?.closed_days(window))
    }

    fn batch_rows(&self, sequence: u64) -> Result<Vec<UsageRow>, DiskFault> {
        Ok(self.open()?.batch_rows(sequence))
    }
}
