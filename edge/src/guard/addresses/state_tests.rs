//! Tests of the addresses' rate limits.

use super::*;
use std::cell::{Cell, RefCell};

const NOW: i64 = 1_795_219_205;

#[derive(Default)]
struct Disk {
    rows: RefCell<BTreeMap<(String, AddressBudget), AddressCount>>,
    writes: Cell<usize>,
    broken: Cell<bool>,
    /// Number of rows in storage in addition to `rows`.
    others: Cell<usize>,
    /// How many of `others` are idle in this window.
    idle_others: Cell<usize>,
    /// Number of searches for idle rows.
    looks: Cell<usize>,
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
    fn write(&self, rows: &[(Key, AddressCount)]) -> Result<(), DiskFault> {
        if self.broken.get() {
            return Err(DiskFault("broken".to_owned()));
        }
        self.writes.set(self.writes.get() + 1);
        self.rows.borrow_mut().extend(rows.iter().cloned());
        Ok(())
    }
    fn sweep(&self, window: i64, day: i64) -> Result<(), DiskFault> {
        self.rows.borrow_mut().retain(|(_, budget), count| match budget.per_day() {
            Some(_) => count.day.window >= day,
            None => count.minute.window >= window,
        });
        Ok(())
    }
    fn delete_idle(&self, window: i64, most: usize) -> Result<(), DiskFault> {
        self.looks.set(self.looks.get() + 1);
        let other = self.idle_others.get().min(most);
        self.others.set(self.others.get() - other);
        self.idle_others.set(self.idle_others.get() - other);
        let mut rows = self.rows.borrow_mut();
        let mut idle: Vec<_> = rows.iter().filter(|(_, count)| count.minute.window < window).collect();
        idle.sort_by_key(|(_, count)| count.day.used);
        let idle: Vec<Key> = idle.into_iter().take(most - other).map(|(key, _)| key.clone()).collect();
        rows.retain(|key, _| !idle.contains(key));
        Ok(())
    }
}

fn take(address: &str, budget: AddressBudget) -> AddressTake {
    AddressTake { address: address.to_owned(), budget, neighbourhood: None }
}

fn near(address: &str, name: &str, charged: bool) -> AddressTake {
    let neighbourhood = Some(Around { name: format!("n{name}"), times: 2, charged });
    AddressTake { neighbourhood, ..take(address, AddressBudget::Anonymous) }
}

fn admitted_near(guard: &mut AddressGuard, disk: &Disk, address: &str, name: &str, now: i64) -> bool {
    guard.take(disk, &near(address, name, true), now).unwrap().admitted
}

fn admitted(guard: &mut AddressGuard, disk: &Disk, address: &str, now: i64) -> bool {
    guard.take(disk, &take(address, AddressBudget::Anonymous), now).unwrap().admitted
}

#[test]
fn ten_a_minute_are_admitted_even_with_an_eviction_after_each() {
    let disk = Disk::default();
    let served = (0..30).filter(|_| admitted(&mut AddressGuard::load(&disk).unwrap(), &disk, "a", NOW)).count();
    assert_eq!((served, disk.writes.get()), (10, 10), "one write for each admitted request and none for a refusal");
    assert!(admitted(&mut AddressGuard::load(&disk).unwrap(), &disk, "a", NOW + 60));
}

#[test]
fn a_clock_set_back_does_not_bring_an_earlier_window_back() {
    let disk = Disk::default();
    let at = |now| admitted(&mut AddressGuard::load(&disk).unwrap(), &disk, "a", now);
    assert!(at(NOW + 60));
    let served = (0..20).filter(|_| at(NOW)).count();
    assert_eq!((served, at(NOW + 60)), (9, false));
}

#[test]
fn budgets_and_addresses_are_counted_separately() {
    let (disk, mut guard) = (Disk::default(), AddressGuard::default());
    assert!((0..10).all(|_| admitted(&mut guard, &disk, "a", NOW)));
    assert!(!admitted(&mut guard, &disk, "a", NOW));
    assert!(admitted(&mut guard, &disk, "b", NOW));
    assert!(guard.take(&disk, &take("a", AddressBudget::Health), NOW).unwrap().admitted);
}

#[test]
fn a_day_ends_at_a_thousand_even_across_evictions() {
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
fn counters_that_no_longer_matter_are_deleted() {
    let (disk, mut guard) = (Disk::default(), AddressGuard::default());
    guard.take(&disk, &take("a", AddressBudget::Health), NOW).unwrap();
    admitted(&mut guard, &disk, "a", NOW);
    admitted(&mut guard, &disk, "b", NOW + 60);
    assert_eq!(disk.rows.borrow().len(), 2, "the day's count stays, the minute's goes");
    admitted(&mut guard, &disk, "c", NOW + 86_400);
    assert_eq!(disk.rows.borrow().len(), 1);
}

#[test]
fn an_address_and_its_neighbourhood_are_counted_in_one_write() {
    let disk = Disk::default();
    let at = |address: &str| admitted_near(&mut AddressGuard::load(&disk).unwrap(), &disk, address, "x", NOW);
    assert_eq!((0..12).filter(|_| at("a")).count(), 10);
    assert_eq!((0..12).filter(|_| at("b")).count(), 10);
    assert_eq!((0..12).filter(|_| at("c")).count(), 0, "twice an address's limit");
    assert_eq!((disk.writes.get(), disk.rows.borrow().len()), (20, 3), "a refused request writes nothing");
    let with_key = AddressGuard::load(&disk).unwrap().take(&disk, &near("c", "x", false), NOW).unwrap();
    assert!(with_key.admitted, "a key is not charged to the neighbourhood");
}

#[test]
fn a_day_of_a_neighbourhood_ends_too() {
    let (disk, mut guard) = (Disk::default(), AddressGuard::default());
    let midnight = NOW - NOW.rem_euclid(86_400);
    let asks = (0..200 * 60).map(|n| (format!("{}", n % 60), midnight + n / 60 * 60));
    let served = asks.filter(|(address, now)| admitted_near(&mut guard, &disk, address, "x", *now)).count();
    assert_eq!(served, 2_000);
    let refused = guard.take(&disk, &near("new", "x", true), midnight + 80_000).unwrap();
    assert!(refused.daily && refused.of_neighbourhood);
}

#[test]
fn full_storage_deletes_idle_counters_and_keeps_those_near_a_limit() {
    let (disk, mut guard) = (Disk::default(), AddressGuard::default());
    (0..10).for_each(|_| assert!(admitted_near(&mut guard, &disk, "busy", "x", NOW)));
    admitted_near(&mut guard, &disk, "seldom", "y", NOW);
    disk.others.set(STORED);
    disk.idle_others.set(DELETED - 2);
    guard = AddressGuard::load(&disk).unwrap();
    let later = NOW + 60;
    assert!((0..3_000).all(|n| admitted_near(&mut guard, &disk, &format!("new-{n}"), &format!("{n}"), later)));
    assert_eq!(disk.looks.get(), 1, "one deletion makes room for thousands");
    let rows = disk.rows.borrow();
    assert!(rows.contains_key(&("busy".to_owned(), AddressBudget::Anonymous)));
    assert!(!rows.contains_key(&("seldom".to_owned(), AddressBudget::Anonymous)));
}

#[test]
fn a_flood_of_busy_addresses_does_not_affect_other_neighbourhoods() {
    let (disk, mut guard) = (Disk::default(), AddressGuard::default());
    assert!(admitted_near(&mut guard, &disk, "early", "x", NOW));
    disk.others.set(STORED);
    guard = AddressGuard::load(&disk).unwrap();
    assert!(admitted_near(&mut guard, &disk, "first", "x", NOW), "the window's first");
    let served = (0..100).filter(|n| admitted_near(&mut guard, &disk, &format!("new-{n}"), "y", NOW)).count();
    assert_eq!(served, 20, "the limit of their neighbourhood");
    assert!(admitted_near(&mut guard, &disk, "stranger", "z", NOW), "other neighbourhoods are not affected");
    assert!(admitted_near(&mut guard, &disk, "early", "x", NOW), "an address with a stored counter is not affected");
    assert_eq!(disk.looks.get(), 1, "a deletion that finds nothing is not repeated");
    disk.others.set(STORED + NEIGHBOURHOODS);
    guard = AddressGuard::load(&disk).unwrap();
    assert!(admitted_near(&mut guard, &disk, "second", "x", NOW));
    let served = |guard: &mut AddressGuard, name: &str| {
        (0..50).filter(|n| admitted_near(guard, &disk, &format!("{name}-{n}"), name, NOW)).count()
    };
    assert_eq!((served(&mut guard, "abc1"), served(&mut guard, "abc2"), served(&mut guard, "abd1")), (20, 0, 20));
}

#[test]
fn a_request_that_could_not_be_stored_is_not_counted() {
    let (disk, mut guard) = (Disk::default(), AddressGuard::default());
    disk.broken.set(true);
    assert!(guard.take(&disk, &take("a", AddressBudget::Anonymous), NOW).is_err());
    disk.broken.set(false);
    assert!((0..10).all(|_| admitted(&mut guard, &disk, "a", NOW)));
    assert!(!admitted(&mut guard, &disk, "a", NOW));
}

#[test]
fn a_place_depends_on_the_address_and_a_secret() {
    let net = |text: &str| rds_shared::access::client_net::client_net(text).unwrap();
    let (salt, other) = (Salt::new([1; 32]), Salt::new([2; 32]));
    let one = place(&net("192.0.2.7"), &salt);
    assert_eq!(one, place(&net("::ffff:192.0.2.7"), &salt));
    let neighbour = place(&net("192.0.2.8"), &salt);
    assert_eq!(
        (one.shard, &one.neighbourhood),
        (neighbour.shard, &neighbour.neighbourhood),
        "one Durable Object counts both"
    );
    assert_ne!(one.address, neighbour.address);
    assert_ne!(one.address, place(&net("192.0.2.7"), &other).address);
    let shards = |salt: &Salt| (0..64).map(|n| place(&net(&format!("192.0.{n}.7")), salt).shard).collect::<Vec<_>>();
    assert_ne!(shards(&salt), shards(&other), "without the secret nobody can choose a shard");
}
