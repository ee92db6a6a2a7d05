//! The Durable Objects of addresses: the edge's [`AddressGuard`] on simulated disks, one for each shard.

use rds_edge::guard::DiskFault;
use rds_edge::guard::addresses::state::{AddressDisk, AddressGuard, Key};
use rds_edge::guard::objects::message::AddressTake;
use rds_shared::access::budget::{AddressBudget, AddressCount, Verdict};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// One shard's object. Memory is lost at a restart, rows stay.
#[derive(Default)]
pub struct AddressObject {
    rows: Rows,
    machine: RefCell<Option<AddressGuard>>,
}

#[derive(Default)]
struct Rows(RefCell<BTreeMap<Key, AddressCount>>);

impl AddressObject {
    /// Charges a request at `now` (Unix seconds); `None` after a storage fault.
    pub fn take(&self, take: &AddressTake, now: i64) -> Option<Verdict> {
        let mut slot = self.machine.borrow_mut();
        let machine = match slot.take() {
            Some(machine) => machine,
            None => AddressGuard::load(&self.rows).ok()?,
        };
        slot.insert(machine).take(&self.rows, take, now).ok()
    }

    /// Ends the instance; with `is_wiped`, also its disk.
    pub fn restart(&self, is_wiped: bool) {
        self.machine.replace(None);
        if is_wiped {
            self.rows.0.borrow_mut().clear();
        }
    }
}

impl AddressDisk for Rows {
    fn stored(&self) -> Result<usize, DiskFault> {
        Ok(self.0.borrow().len())
    }

    fn latest(&self) -> Result<i64, DiskFault> {
        Ok(self.0.borrow().values().map(|count| count.minute.window).max().unwrap_or(0))
    }

    fn read(&self, address: &str, budget: AddressBudget) -> Result<Option<AddressCount>, DiskFault> {
        Ok(self.0.borrow().get(&(address.to_owned(), budget)).copied())
    }

    fn write(&self, rows: &[(Key, AddressCount)]) -> Result<(), DiskFault> {
        self.0.borrow_mut().extend(rows.iter().cloned());
        Ok(())
    }

    fn sweep(&self, window: i64, day: i64) -> Result<(), DiskFault> {
        self.0.borrow_mut().retain(|(_, budget), count| match budget.per_day() {
            Some(_) => count.day.window >= day,
            None => count.minute.window >= window,
        });
        Ok(())
    }

    fn delete_idle(&self, window: i64, most: usize) -> Result<(), DiskFault> {
        let mut rows = self.0.borrow_mut();
        let mut idle: Vec<(u32, Key)> = rows
            .iter()
            .filter(|(_, count)| count.minute.window < window)
            .map(|(key, count)| (count.day.used, key.clone()))
            .collect();
        idle.sort();
        idle.truncate(most);
        idle.into_iter().for_each(|(_, key)| _ = rows.remove(&key));
        Ok(())
    }
}
