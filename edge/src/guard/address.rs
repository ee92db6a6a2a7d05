//! An object of the addresses as a state machine: exact counters by address and budget, over one disk.
//!
//! Addresses of one neighbourhood are counted by one object, and so is the neighbourhood: a request is charged to both in one write.
//! When the disk holds as many counters as it may, those are deleted that were idle in this window and used least today. While
//! everybody is busy, an address that is new is bounded by its neighbourhood alone, and a neighbourhood that is new shares a counter
//! with those few whose name begins alike.

use super::DiskFault;
use super::message::{AddressTake, Around};
use rds_shared::access::budget::{
    AddressBudget, AddressCount, AddressCounters, NeighbourhoodCount, Verdict, WINDOW_SECONDS, day_of, take_address,
    window_of,
};
use rds_shared::access::{ClientNet, Salt};
use rds_shared::wire::hex;
use std::collections::BTreeMap;

/// Counters that one object mirrors in memory. Beyond it the mirror is emptied: the disk knows them all.
const MIRRORED: usize = 8_192;
/// Counters that one object keeps on disk, but for a window's first. Beyond it no address gets another one.
pub const STORED: usize = 50_000;
/// Further ones that only neighbourhoods get.
pub const NEIGHBOURHOODS: usize = 12_500;
/// Counters that are deleted at once when there are too many.
const DELETED: usize = STORED / 8;
/// Hex digits of an address's name.
const DIGITS: usize = 32;
/// Hex digits by which neighbourhoods share a counter once there is no room for their own.
const SHARED_DIGITS: usize = 3;

/// Where an address is counted: the object, which is that of its neighbourhood, and the names in there.
///
/// Stable and the same in every isolate, for as long as the salt is. Nobody who does not know the salt can choose addresses that are
/// counted by one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The object's number.
    pub shard: u8,
    /// The address's name.
    pub address: String,
    /// The neighbourhood's.
    pub neighbourhood: String,
    /// How many addresses' allowances the neighbourhood has.
    pub times: u32,
}

/// The place of an address.
pub fn place(net: &ClientNet, salt: &Salt) -> Place {
    let name = |hash: &[u8]| {
        let mut name = hex(hash);
        name.truncate(DIGITS);
        name
    };
    let around = net.neighbourhood();
    let hash = salt.hash(&around);
    let neighbourhood = format!("n{}", name(hash.get(1..).unwrap_or_default()));
    let shard = hash.first().copied().unwrap_or_default();
    Place { shard, address: name(&salt.hash(net)), neighbourhood, times: around.ratio() }
}

/// A counter: whose, and of which budget.
pub type Key = (String, AddressBudget);

/// Where the counters are kept.
pub trait AddressDisk {
    /// How many there are.
    fn stored(&self) -> Result<usize, DiskFault>;
    /// The latest window that any of them was charged in; 0 when there are none.
    fn latest(&self) -> Result<i64, DiskFault>;
    /// One of them.
    fn read(&self, address: &str, budget: AddressBudget) -> Result<Option<AddressCount>, DiskFault>;
    /// Writes some, all or none.
    fn write(&self, rows: &[(Key, AddressCount)]) -> Result<(), DiskFault>;
    /// Deletes those that say nothing any more in `window` of `day`.
    fn sweep(&self, window: i64, day: i64) -> Result<(), DiskFault>;
    /// Deletes so many of those that were not charged in `window`, at most; first those that were charged least today.
    fn delete_idle(&self, window: i64, most: usize) -> Result<(), DiskFault>;
}

/// The machine. Thrown away and loaded again after any fault of the disk.
#[derive(Debug, Default)]
pub struct AddressGuard {
    counts: BTreeMap<Key, AddressCount>,
    /// Counters on disk.
    stored: usize,
    /// The present window: that of the clock, or a later one that requests were charged in before the clock was set back.
    window: i64,
    /// Whether the disk was swept in this window.
    swept: bool,
    /// Whether it was seen in this window that almost everybody is busy.
    busy: bool,
}

/// A counter as a request finds it.
struct Found {
    key: Key,
    count: AddressCount,
    /// Whether the disk knows it.
    is_known: bool,
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
        let mut own = self.counter(disk, (take.address.clone(), take.budget), STORED)?;
        let mut shared = match &take.neighbourhood {
            Some(around) if around.charged || own.is_none() => Some(self.around(disk, around, take.budget)?),
            // A Worker of the release before names no neighbourhood.
            None if own.is_none() => {
                let around = Around { name: format!("n{}", take.address), times: 1, charged: true };
                Some(self.around(disk, &around, take.budget)?)
            }
            _ => None,
        };
        let times = take.neighbourhood.as_ref().map_or(1, |around| around.times);
        let verdict = match (&mut own, &mut shared) {
            (Some(own), None) => take_address(AddressCounters::Own(&mut own.count), take.budget, now),
            (Some(own), Some(shared)) => {
                let around = NeighbourhoodCount { count: &mut shared.count, times };
                take_address(AddressCounters::Both(&mut own.count, around), take.budget, now)
            }
            (None, Some(shared)) => {
                let around = NeighbourhoodCount { count: &mut shared.count, times };
                take_address(AddressCounters::Neighbourhood(around), take.budget, now)
            }
            (None, None) => return Err(DiskFault("a request that nothing counts".to_owned())),
        };
        if verdict.admitted {
            let charged: Vec<Found> = own.into_iter().chain(shared).collect();
            let rows: Vec<_> = charged.iter().map(|found| (found.key.clone(), found.count)).collect();
            disk.write(&rows)?;
            let new = charged.iter().filter(|found| !found.is_known).count();
            self.stored = self.stored.saturating_add(new);
            rows.into_iter().for_each(|(key, count)| self.mirror(key, count));
            self.sweep(disk, now)?;
        }
        Ok(verdict)
    }

    /// The counter of a neighbourhood: its own while there is room.
    fn around(&mut self, disk: &impl AddressDisk, around: &Around, budget: AddressBudget) -> Result<Found, DiskFault> {
        let most = STORED.saturating_add(NEIGHBOURHOODS);
        if let Some(found) = self.counter(disk, (around.name.clone(), budget), most)? {
            return Ok(found);
        }
        let begins = around.name.get(..SHARED_DIGITS.saturating_add(1)).unwrap_or_default();
        let key = (format!("{begins}~"), budget);
        let known = self.find(disk, &key)?;
        Ok(Found { key, count: known.unwrap_or_default(), is_known: known.is_some() })
    }

    /// The counter of `key`, or a fresh one if there is room for it among `most`.
    fn counter(&mut self, disk: &impl AddressDisk, key: Key, most: usize) -> Result<Option<Found>, DiskFault> {
        let known = self.find(disk, &key)?;
        let is_known = known.is_some();
        let has_room = is_known || self.has_room(disk, most)?;
        Ok(has_room.then(|| Found { key, count: known.unwrap_or_default(), is_known }))
    }

    /// Whether there is room for another counter among `most`. Those that say least are deleted for it.
    fn has_room(&mut self, disk: &impl AddressDisk, most: usize) -> Result<bool, DiskFault> {
        // What the window before left is not swept away yet for its first row, and so is no reason to refuse it one.
        if self.stored < most || !self.swept {
            return Ok(true);
        }
        // Each look reads the whole table: one that finds little is not repeated in this window.
        if !self.busy {
            disk.delete_idle(self.window, DELETED)?;
            self.counts.clear();
            let before = core::mem::replace(&mut self.stored, disk.stored()?);
            self.busy = before.saturating_sub(self.stored) < DELETED;
        }
        Ok(self.stored < most)
    }

    fn find(&mut self, disk: &impl AddressDisk, key: &Key) -> Result<Option<AddressCount>, DiskFault> {
        if let Some(count) = self.counts.get(key) {
            return Ok(Some(*count));
        }
        let found = disk.read(&key.0, key.1)?;
        if let Some(count) = found {
            self.mirror(key.clone(), count);
        }
        Ok(found)
    }

    fn mirror(&mut self, key: Key, count: AddressCount) {
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
#[path = "address_tests.rs"]
mod tests;
