//! Rate limits of addresses as a state machine: exact counters by address and budget, on one Durable Object's storage.
//!
//! A neighbourhood and its addresses are counted by one Durable Object, so a request is charged to both in one write.
//! When storage is full, idle counters with the least use today are deleted. If too few
//! are idle, a new address is limited by its neighbourhood alone, and a new neighbourhood shares a counter
//! with others whose name has the same prefix.

use crate::guard::DiskFault;
use crate::guard::objects::message::{AddressTake, Around};
use rds_shared::access::budget::{
    AddressBudget, AddressCount, AddressCounters, NeighbourhoodCount, Verdict, WINDOW_SECONDS, day_of, take_address,
    window_of,
};
use rds_shared::access::{ClientNet, Salt};
use rds_shared::wire::hex;
use std::collections::BTreeMap;

/// Maximum number of counters mirrored in memory; when exceeded, the mirror is cleared and refilled from storage.
const MAX_MIRRORED: usize = 8_192;
/// Addresses get counters of their own only while fewer counters than this are stored. A window's first request is stored in any case,
/// because the counters of earlier windows are deleted only after it.
pub const STORED: usize = 50_000;
/// Additional counters for neighbourhoods only.
pub const NEIGHBOURHOODS: usize = 12_500;
/// Number of counters deleted together when storage is full.
const DELETED: usize = STORED / 8;
/// Number of hex digits in a counter's name.
const NAME_DIGITS: usize = 32;
/// When storage is full, neighbourhoods share a counter if their names begin with the same hex digits, as many as stated here.
const SHARED_PREFIX_DIGITS: usize = 3;

/// Where an address is counted: the Durable Object of its neighbourhood, and the names of both counters.
///
/// The place is the same in every isolate that has the same salt. A caller who does not know the salt cannot choose addresses that share
/// a Durable Object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Number of the Durable Object.
    pub shard: u8,
    pub address: String,
    pub neighbourhood: String,
    /// The neighbourhood's limit as a multiple of an address's.
    pub ratio: u32,
}

pub fn place(net: &ClientNet, salt: &Salt) -> Place {
    let name = |hash: &[u8]| {
        let mut name = hex(hash);
        name.truncate(NAME_DIGITS);
        name
    };
    let around = net.neighbourhood();
    let hash = salt.hash(&around);
    let neighbourhood = format!("n{}", name(hash.get(1..).unwrap_or_default()));
    let shard = hash.first().copied().unwrap_or_default();
    Place { shard, address: name(&salt.hash(net)), neighbourhood, ratio: around.ratio() }
}

/// Name and budget of a counter.
pub type Key = (String, AddressBudget);

/// Durable storage of the counters.
pub trait AddressDisk {
    /// Number of counters.
    fn stored(&self) -> Result<usize, DiskFault>;
    /// The latest window in which any counter was charged; 0 if there is none.
    fn latest(&self) -> Result<i64, DiskFault>;
    fn read(&self, address: &str, budget: AddressBudget) -> Result<Option<AddressCount>, DiskFault>;
    /// Writes counters, all or none.
    fn write(&self, rows: &[(Key, AddressCount)]) -> Result<(), DiskFault>;
    /// Deletes the counters of windows before `window`. Counters with a daily limit stay until their day is before `day`.
    fn sweep(&self, window: i64, day: i64) -> Result<(), DiskFault>;
    /// Deletes at most `most` counters that were not charged in `window`, those with the least use today first.
    fn delete_idle(&self, window: i64, most: usize) -> Result<(), DiskFault>;
}

/// The state machine. Discarded and loaded again after any storage fault.
#[derive(Debug, Default)]
pub struct AddressGuard {
    counts: BTreeMap<Key, AddressCount>,
    /// Number of counters in storage.
    stored: usize,
    /// The current window: the clock's, or a later one already charged before the clock was set back.
    window: i64,
    /// Whether old counters were deleted in this window.
    swept: bool,
    /// Whether a deletion in this window found too few idle counters.
    busy: bool,
}

/// A counter loaded for a request.
struct Found {
    key: Key,
    count: AddressCount,
    /// Whether the counter is in storage already.
    is_known: bool,
}

impl AddressGuard {
    /// Loads the state from storage.
    pub fn load(disk: &impl AddressDisk) -> Result<Self, DiskFault> {
        Ok(AddressGuard { stored: disk.stored()?, window: disk.latest()?, ..AddressGuard::default() })
    }

    /// Charges a request at `now` (Unix seconds) if the limits allow. An admitted request is in storage when this returns.
    pub fn take(&mut self, disk: &impl AddressDisk, take: &AddressTake, now: i64) -> Result<Verdict, DiskFault> {
        let now = now.max(self.window.saturating_mul(WINDOW_SECONDS));
        self.enter(window_of(now));
        let mut own = self.counter(disk, (take.address.clone(), take.budget), STORED)?;
        let mut shared = match &take.neighbourhood {
            Some(around) if around.charged || own.is_none() => Some(self.around(disk, around, take.budget)?),
            // A Worker of the previous release sends no neighbourhood.
            None if own.is_none() => {
                let around = Around { name: format!("n{}", take.address), times: 1, charged: true };
                Some(self.around(disk, &around, take.budget)?)
            }
            _ => None,
        };
        let ratio = take.neighbourhood.as_ref().map_or(1, |around| around.times);
        let verdict = match (&mut own, &mut shared) {
            (Some(own), None) => take_address(AddressCounters::Own(&mut own.count), take.budget, now),
            (Some(own), Some(shared)) => {
                let around = NeighbourhoodCount { count: &mut shared.count, ratio };
                take_address(AddressCounters::Both(&mut own.count, around), take.budget, now)
            }
            (None, Some(shared)) => {
                let around = NeighbourhoodCount { count: &mut shared.count, ratio };
                take_address(AddressCounters::Neighbourhood(around), take.budget, now)
            }
            (None, None) => return Err(DiskFault("no counter for the request".to_owned())),
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

    /// The neighbourhood's own counter if there is room, else a shared one.
    fn around(&mut self, disk: &impl AddressDisk, around: &Around, budget: AddressBudget) -> Result<Found, DiskFault> {
        let most = STORED.saturating_add(NEIGHBOURHOODS);
        if let Some(found) = self.counter(disk, (around.name.clone(), budget), most)? {
            return Ok(found);
        }
        let begins = around.name.get(..SHARED_PREFIX_DIGITS.saturating_add(1)).unwrap_or_default();
        let key = (format!("{begins}~"), budget);
        let known = self.find(disk, &key)?;
        Ok(Found { key, count: known.unwrap_or_default(), is_known: known.is_some() })
    }

    /// The counter of `key`, or a new one if fewer than `most` are stored.
    fn counter(&mut self, disk: &impl AddressDisk, key: Key, most: usize) -> Result<Option<Found>, DiskFault> {
        let known = self.find(disk, &key)?;
        let is_known = known.is_some();
        let has_room = is_known || self.has_room(disk, most)?;
        Ok(has_room.then(|| Found { key, count: known.unwrap_or_default(), is_known }))
    }

    /// Whether another counter may be stored, up to `most`. Deletes idle counters if necessary.
    fn has_room(&mut self, disk: &impl AddressDisk, most: usize) -> Result<bool, DiskFault> {
        // Before the window's first write, storage still holds counters of the previous window. They must not block that write.
        if self.stored < most || !self.swept {
            return Ok(true);
        }
        // Each deletion scans the whole table, so a deletion that found too few idle counters is not repeated in this window.
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
        if self.counts.len() >= MAX_MIRRORED && !self.counts.contains_key(&key) {
            self.counts.clear();
        }
        self.counts.insert(key, count);
    }

    /// Moves on to `window`; earlier windows never become current again.
    fn enter(&mut self, window: i64) {
        if window > self.window {
            *self = AddressGuard { stored: self.stored, window, ..AddressGuard::default() };
        }
    }

    /// Deletes old counters once per window, after the window's first write. Until then the previous window's rows must stay: an instance
    /// that starts after the clock was set back takes its current window from the latest row.
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
#[path = "state_tests.rs"]
mod tests;
