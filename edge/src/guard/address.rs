//! An object of the addresses as a state machine: exact counters by address and budget, over one disk.

use super::DiskFault;
use super::message::AddressTake;
use rds_shared::access::ClientNet;
use rds_shared::access::budget::{AddressBudget, AddressCount, Verdict, WINDOW_SECONDS, day_of, window_of};
use rds_shared::wire::hex;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Counters that one object mirrors in memory. Beyond it the mirror is emptied: the disk knows them all.
const MIRRORED: usize = 8_192;
/// Counters that one object keeps on disk, but for a window's first. Beyond it, addresses that are new today share one.
pub const STORED: usize = 50_000;
/// The shared counter's name.
const OVERFLOW: &str = "*";
/// Hex digits of an address's name.
const DIGITS: usize = 32;

/// Where an address is counted: the object, and its name in there. Stable for ever and the same in every isolate.
pub fn place(net: &ClientNet) -> (u8, String) {
    let digest = Sha256::digest(net.to_string());
    let shard = digest.first().copied().unwrap_or_default();
    let mut name = hex(digest.get(1..).unwrap_or_default());
    name.truncate(DIGITS);
    (shard, name)
}

/// Where the counters are kept.
pub trait AddressDisk {
    /// How many there are.
    fn stored(&self) -> Result<usize, DiskFault>;
    /// The latest window that any of them was charged in; 0 when there are none.
    fn latest(&self) -> Result<i64, DiskFault>;
    /// One of them.
    fn read(&self, address: &str, budget: AddressBudget) -> Result<Option<AddressCount>, DiskFault>;
    /// Writes one.
    fn write(&self, address: &str, budget: AddressBudget, count: AddressCount) -> Result<(), DiskFault>;
    /// Deletes those that say nothing any more in `window` of `day`.
    fn sweep(&self, window: i64, day: i64) -> Result<(), DiskFault>;
}

/// The machine. Thrown away and loaded again after any fault of the disk.
#[derive(Debug, Default)]
pub struct AddressGuard {
    counts: BTreeMap<(String, AddressBudget), AddressCount>,
    /// Counters on disk.
    stored: usize,
    /// The present window: that of the clock, or a later one that requests were charged in before the clock was set back.
    window: i64,
    /// Whether the disk was swept in this window.
    swept: bool,
}

impl AddressGuard {
    /// Reads the disk.
    pub fn load(disk: &impl AddressDisk) -> Result<Self, DiskFault> {
        Ok(AddressGuard { stored: disk.stored()?, window: disk.latest()?, ..AddressGuard::default() })
    }

    /// Charges a request, if there is room, at `now` (Unix seconds). It is on disk when this says that it is admitted.
    pub fn take(&mut self, disk: &impl AddressDisk, take: &AddressTake, now: i64) -> Result<Verdict, DiskFault> {
        let now = now.max(self.window.saturating_mul(WINDOW_SECONDS));
        self.enter(window_of(now));
        let mut key = (take.address.clone(), take.budget);
        let mut known = self.find(disk, &key)?;
        // What the window before left is not swept away yet for its first row, and so is no reason to refuse it one.
        if known.is_none() && self.stored >= STORED && self.swept {
            key.0 = OVERFLOW.to_owned();
            known = self.find(disk, &key)?;
        }
        let mut count = known.unwrap_or_default();
        let verdict = count.take(take.budget, now);
        if verdict.admitted {
            disk.write(&key.0, key.1, count)?;
            if known.is_none() {
                self.stored = self.stored.saturating_add(1);
            }
            self.mirror(key, count);
            self.sweep(disk, now)?;
        }
        Ok(verdict)
    }

    fn find(
        &mut self,
        disk: &impl AddressDisk,
        key: &(String, AddressBudget),
    ) -> Result<Option<AddressCount>, DiskFault> {
        if let Some(count) = self.counts.get(key) {
            return Ok(Some(*count));
        }
        let found = disk.read(&key.0, key.1)?;
        if let Some(count) = found {
            self.mirror(key.clone(), count);
        }
        Ok(found)
    }

    fn mirror(&mut self, key: (String, AddressBudget), count: AddressCount) {
        if self.counts.len() >= MIRRORED && !self.counts.contains_key(&key) {
            self.counts.clear();
        }
        self.counts.insert(key, count);
    }

    /// Leaves every window before `window` behind for good.
    fn enter(&mut self, window: i64) {
        if window > self.window {
            *self = AddressGuard { stored: self.stored, window, ..AddressGuard::default() };
        }
    }

    /// Deletes once in a window what earlier ones left. Behind the window's first row: while none says that it was entered, a
    /// clock that is set back has to find the rows of the one before.
    fn sweep(&mut self, disk: &impl AddressDisk, now: i64) -> Result<(), DiskFault> {
        if self.swept {
            return Ok(());
        }
        disk.sweep(self.window, day_of(now))?;
        self.swept = true;
        self.stored = disk.stored()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    const NOW: i64 = 1_795_219_205;

    #[derive(Default)]
    struct Disk {
        rows: RefCell<BTreeMap<(String, AddressBudget), AddressCount>>,
        writes: Cell<usize>,
        broken: Cell<bool>,
        /// Rows that are there beside `rows`.
        others: Cell<usize>,
    }

    impl AddressDisk for Disk {
        fn stored(&self) -> Result<usize, DiskFault> {
            Ok(self.rows.borrow().len() + self.others.get())
        }
        fn latest(&self) -> Result<i64, DiskFault> {
            Ok(self.rows.borrow().values().map(|count| count.minute.window).max().unwrap_or(0))
        }
        fn read(&self, address: &str, budget: AddressBudget) -> Result<Option<AddressCount>, DiskFault> {
            Ok(self.rows.borrow().get(&(address.to_owned(), budget)).copied())
        }
        fn write(&self, address: &str, budget: AddressBudget, count: AddressCount) -> Result<(), DiskFault> {
            if self.broken.get() {
                return Err(DiskFault("broken".to_owned()));
            }
            self.writes.set(self.writes.get() + 1);
            self.rows.borrow_mut().insert((address.to_owned(), budget), count);
            Ok(())
        }
        fn sweep(&self, window: i64, day: i64) -> Result<(), DiskFault> {
            self.rows.borrow_mut().retain(|(_, budget), count| match budget.per_day() {
                Some(_) => count.day.window >= day,
                None => count.minute.window >= window,
            });
            Ok(())
        }
    }

    fn take(address: &str, budget: AddressBudget) -> AddressTake {
        AddressTake { address: address.to_owned(), budget }
    }

    fn admitted(guard: &mut AddressGuard, disk: &Disk, address: &str, now: i64) -> bool {
        guard.take(disk, &take(address, AddressBudget::Anonymous), now).unwrap().admitted
    }

    #[test]
    fn ten_a_minute_also_when_the_object_is_evicted_after_each() {
        let disk = Disk::default();
        let served = (0..30).filter(|_| admitted(&mut AddressGuard::load(&disk).unwrap(), &disk, "a", NOW)).count();
        assert_eq!((served, disk.writes.get()), (10, 10), "a row for each, and none for a refusal");
        assert!(admitted(&mut AddressGuard::load(&disk).unwrap(), &disk, "a", NOW + 60));
    }

    #[test]
    fn a_clock_that_is_set_back_brings_no_window_back() {
        let disk = Disk::default();
        let at = |now| admitted(&mut AddressGuard::load(&disk).unwrap(), &disk, "a", now);
        assert!(at(NOW + 60));
        let served = (0..20).filter(|_| at(NOW)).count();
        assert_eq!((served, at(NOW + 60)), (9, false));
    }

    #[test]
    fn budgets_and_addresses_are_apart() {
        let (disk, mut guard) = (Disk::default(), AddressGuard::default());
        assert!((0..10).all(|_| admitted(&mut guard, &disk, "a", NOW)));
        assert!(!admitted(&mut guard, &disk, "a", NOW));
        assert!(admitted(&mut guard, &disk, "b", NOW));
        assert!(guard.take(&disk, &take("a", AddressBudget::Health), NOW).unwrap().admitted);
    }

    #[test]
    fn a_day_ends_at_a_thousand_also_across_evictions() {
        let disk = Disk::default();
        let midnight = NOW - NOW.rem_euclid(86_400);
        let mut guard = AddressGuard::default();
        let mut served = 0;
        for minute in 0..200 {
            if minute % 7 == 0 {
                guard = AddressGuard::load(&disk).unwrap();
            }
            served += (0..12).filter(|_| admitted(&mut guard, &disk, "a", midnight + minute * 60)).count();
        }
        assert_eq!(served, 1_000);
        let refused = guard.take(&disk, &take("a", AddressBudget::Anonymous), midnight + 80_000).unwrap();
        assert!(refused.daily);
        assert!(admitted(&mut guard, &disk, "a", midnight + 86_400));
    }

    #[test]
    fn what_says_nothing_any_more_is_deleted() {
        let (disk, mut guard) = (Disk::default(), AddressGuard::default());
        guard.take(&disk, &take("a", AddressBudget::Health), NOW).unwrap();
        admitted(&mut guard, &disk, "a", NOW);
        admitted(&mut guard, &disk, "b", NOW + 60);
        assert_eq!(disk.rows.borrow().len(), 2, "the day's count stays, the minute's goes");
        admitted(&mut guard, &disk, "c", NOW + 86_400);
        assert_eq!(disk.rows.borrow().len(), 1);
    }

    #[test]
    fn a_flood_of_addresses_ends_in_one_shared_counter() {
        let (disk, mut guard) = (Disk::default(), AddressGuard::default());
        admitted(&mut guard, &disk, "early", NOW);
        disk.others.set(STORED);
        guard = AddressGuard::load(&disk).unwrap();
        let served = (0..100).filter(|n| admitted(&mut guard, &disk, &format!("new-{n}"), NOW)).count();
        assert_eq!(served, 11, "the window's first, and ten together");
        assert!(admitted(&mut guard, &disk, "early", NOW), "who was there before is not held back");
    }

    #[test]
    fn what_the_disk_did_not_take_was_not_admitted() {
        let (disk, mut guard) = (Disk::default(), AddressGuard::default());
        disk.broken.set(true);
        assert!(guard.take(&disk, &take("a", AddressBudget::Anonymous), NOW).is_err());
        disk.broken.set(false);
        assert!((0..10).all(|_| admitted(&mut guard, &disk, "a", NOW)));
        assert!(!admitted(&mut guard, &disk, "a", NOW));
    }

    #[test]
    fn a_place_depends_on_nothing_but_the_address() {
        let net = rds_shared::access::client_net::client_net("192.0.2.7").unwrap();
        // printf %s 192.0.2.7 | sha256sum
        assert_eq!(place(&net), (0x37, "dad677cf0b3997d0f5dd0d7889f84b11".to_owned()));
    }
}
