//! Rate-limit counters of addresses and of their neighbourhoods, in bounded memory.
//!
//! A full table drops expired counters, then counters unused in this window, those with the fewest requests today first. While all
//! its counters are in use, a new address is limited by its neighbourhood alone, and a new neighbourhood uses one of [`SHARED`]
//! counters, chosen by its keyed hash. So an attacker cannot exhaust a single counter that all new addresses share.

use super::ClientNet;
use super::budget::{
    AddressBudget, AddressCount, AddressCounters, NeighbourhoodCount, Verdict, take_address, window_of,
};
use super::client_net::Neighbourhood;
use super::salt::Salt;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Number of counters that new neighbourhoods share while the table is full.
pub const SHARED: u16 = 1_024;

/// The owner of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Address(ClientNet),
    Neighbourhood(Neighbourhood),
    /// All neighbourhoods for which the first two bytes of the keyed hash, modulo [`SHARED`], are this number.
    Shared(u16),
}

type Key = (Owner, AddressBudget);

/// The counters, one for each owner and budget.
#[derive(Debug)]
pub struct AddressTable {
    counts: BTreeMap<Key, AddressCount>,
    /// Size from which new addresses get no counter of their own; for neighbourhoods it is a quarter larger.
    max_counters: usize,
    /// The window in which the table is not scanned again, because a scan has freed too few counters.
    busy_in: Option<i64>,
}

impl AddressTable {
    /// A table of about `max_counters` counters.
    pub const fn new(max_counters: usize) -> Self {
        AddressTable { counts: BTreeMap::new(), max_counters, busy_in: None }
    }

    /// Charges a request to the address `net`, and with `shared` also to its neighbourhood. If the address has no counter, the request
    /// is charged to the neighbourhood alone.
    pub fn take(
        &mut self,
        (net, budget): (ClientNet, AddressBudget),
        shared: bool,
        salt: &Salt,
        now_seconds: i64,
    ) -> Verdict {
        let around = net.neighbourhood();
        let ratio = around.ratio();
        let address = (Owner::Address(net), budget);
        let own = self.has_room(&address, self.max_counters, now_seconds).then_some(address);
        let shared =
            if shared || own.is_none() { Some(self.neighbourhood((around, budget), salt, now_seconds)) } else { None };
        let count = |key: &Option<Key>| key.and_then(|key| self.counts.get(&key)).copied().unwrap_or_default();
        let (mut own_count, mut shared_count) = (count(&own), count(&shared));
        let around = NeighbourhoodCount { count: &mut shared_count, ratio };
        let counters = match (own, shared) {
            (Some(_), None) => AddressCounters::Own(&mut own_count),
            (Some(_), Some(_)) => AddressCounters::Both(&mut own_count, around),
            (None, _) => AddressCounters::Neighbourhood(around),
        };
        let verdict = take_address(counters, budget, now_seconds);
        // A refusal is not stored, so refused callers cannot fill the table.
        if verdict.admitted {
            self.counts.extend(own.map(|key| (key, own_count)));
            self.counts.extend(shared.map(|key| (key, shared_count)));
        }
        verdict
    }

    /// The counter of a neighbourhood: its own while there is room, else a shared one.
    fn neighbourhood(
        &mut self,
        (around, budget): (Neighbourhood, AddressBudget),
        salt: &Salt,
        now_seconds: i64,
    ) -> Key {
        let key = (Owner::Neighbourhood(around), budget);
        match self.has_room(&key, self.max_counters.saturating_add(self.max_counters / 4), now_seconds) {
            true => key,
            false => (Owner::Shared(shared_by(around, salt)), budget),
        }
    }

    /// Whether an address, or its neighbourhood, has no requests left in the window of `now_seconds`.
    pub fn is_spent(&self, net: ClientNet, budget: AddressBudget, now_seconds: i64) -> bool {
        let around = net.neighbourhood();
        let spent = |owner, ratio: u32| {
            let count = self.counts.get(&(owner, budget));
            count.is_some_and(|count| {
                count.minute.used_in(window_of(now_seconds)) >= budget.limit().saturating_mul(ratio)
            })
        };
        spent(Owner::Address(net), 1) || spent(Owner::Neighbourhood(around), around.ratio())
    }

    /// Whether `key` has a counter, or the table has room for it below `max_counters` counters.
    fn has_room(&mut self, key: &Key, max_counters: usize, now_seconds: i64) -> bool {
        if self.counts.len() < max_counters || self.counts.contains_key(key) {
            return true;
        }
        let window = window_of(now_seconds);
        if self.busy_in != Some(window) {
            self.forget(now_seconds);
            // A full scan that freed less than a sixteenth is not repeated in this window.
            let found = self.max_counters.saturating_sub(self.counts.len());
            self.busy_in = (found < self.max_counters / 16).then_some(window);
        }
        self.counts.len() < max_counters
    }

    /// Drops expired counters, then those unused in this window (fewest requests today first), until a quarter of the table is free.
    fn forget(&mut self, now_seconds: i64) {
        self.counts.retain(|(_, budget), count| count.counts(*budget, now_seconds));
        let kept = self.max_counters.saturating_sub(self.max_counters / 4);
        let window = window_of(now_seconds);
        let idle = self.counts.iter().filter(|(_, count)| count.minute.used_in(window) == 0);
        let mut idle: Vec<(u32, Key)> = idle.map(|(key, count)| (count.day.used, *key)).collect();
        idle.sort_unstable();
        for (_, key) in idle.into_iter().take(self.counts.len().saturating_sub(kept)) {
            self.counts.remove(&key);
        }
    }
}

fn shared_by(around: Neighbourhood, salt: &Salt) -> u16 {
    let [first, second, ..] = salt.hash(&around);
    u16::from_be_bytes([first, second]) % SHARED
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;
    use proptest::prelude::*;

    const NOW: i64 = 1_795_219_205;
    const SALT: Salt = Salt::new([7; 32]);
    const ANONYMOUS: AddressBudget = AddressBudget::Anonymous;

    fn net(number: u32) -> ClientNet {
        ClientNet::V4(Ipv4Addr::from_bits(number))
    }

    /// One /64 network of a single /48 site.
    fn v6(number: u16) -> ClientNet {
        ClientNet::of(core::net::Ipv6Addr::new(0x2001, 0xdb8, 1, number, 0, 0, 0, 1).into())
    }

    fn take(table: &mut AddressTable, number: u32, now: i64) -> Verdict {
        table.take((net(number), ANONYMOUS), true, &SALT, now)
    }

    /// The number of an address in the /24 block `number`.
    fn apart(number: u32) -> u32 {
        number << 8
    }

    #[test]
    fn an_ipv4_24_has_the_limit_of_32_addresses_and_a_request_with_a_key_does_not_count_towards_it() {
        let mut table = AddressTable::new(1_000);
        let served = (0..2_560).filter(|n| take(&mut table, n % 256, NOW).admitted).count();
        assert_eq!(served, 320);
        assert!(table.is_spent(net(255), ANONYMOUS, NOW) && !table.is_spent(net(256), ANONYMOUS, NOW));
        assert!(table.take((net(200), AddressBudget::Health), false, &SALT, NOW).admitted);
        assert!(take(&mut table, 255, NOW + 60).admitted);
    }

    #[test]
    fn a_refused_request_adds_no_counter() {
        let mut table = AddressTable::new(1_000);
        let served = (0..=u16::MAX).filter(|n| table.take((v6(*n), ANONYMOUS), true, &SALT, NOW).admitted).count();
        assert_eq!(served, 160);
        assert_eq!(table.counts.len(), 161, "one counter a request admitted to the site, and the site's own");
    }

    #[test]
    fn counters_in_use_are_kept_and_the_least_used_idle_ones_are_dropped_first() {
        let mut table = AddressTable::new(64);
        (0..10).for_each(|_| assert!(take(&mut table, apart(1), NOW).admitted));
        take(&mut table, apart(2), NOW);
        for number in 3..1_000 {
            take(&mut table, apart(number), NOW + 60 * i64::from(number / 8));
        }
        let later = NOW + 60 * 125;
        assert_eq!(table.counts[&(Owner::Address(net(apart(1))), ANONYMOUS)].day.used, 10, "the day's count stayed");
        assert!(!table.counts.contains_key(&(Owner::Address(net(apart(2))), ANONYMOUS)));
        assert!(table.counts.len() <= 64 + 16 && take(&mut table, apart(1), later).admitted);
    }

    #[test]
    fn in_a_full_table_new_addresses_are_limited_by_their_neighbourhood_and_do_not_all_share_one_counter() {
        let mut table = AddressTable::new(64);
        for number in 1..=5_000 {
            take(&mut table, apart(number), NOW);
        }
        assert!(table.counts.len() <= 64 + 16 + usize::from(SHARED), "{}", table.counts.len());
        let newcomer = apart(9_999);
        let served = (0..1_000).filter(|_| take(&mut table, newcomer, NOW).admitted).count();
        assert!((290..=320).contains(&served), "its neighbourhood's limit, less what a few others used: {served}");
        assert!(take(&mut table, apart(8_888), NOW).admitted, "other newcomers are still admitted");
        assert!(take(&mut table, newcomer, NOW + 60).admitted);
    }

    proptest! {
        #[test]
        fn limits_are_exact_while_there_is_room(
            asks in proptest::collection::vec((0u32..4, 0u32..4, 0i64..15, any::<bool>()), 1..600),
        ) {
            let mut table = AddressTable::new(64);
            let mut counted = BTreeMap::<(i64, u32, Option<u32>), u32>::new();
            let mut now = NOW;
            for (block, host, wait, with_key) in asks {
                now += wait / 10;
                let budget = if with_key { AddressBudget::GraphCheck } else { ANONYMOUS };
                let verdict = table.take((net(block << 8 | host), budget), !with_key, &SALT, now);
                if with_key {
                    continue;
                }
                let keys = [(window_of(now), block, Some(host)), (window_of(now), block, None)];
                let used = keys.map(|key| counted.get(&key).copied().unwrap_or(0));
                prop_assert_eq!(verdict.admitted, used[0] < 10 && used[1] < 320);
                if verdict.admitted {
                    keys.iter().for_each(|key| *counted.entry(*key).or_default() += 1);
                }
            }
        }
    }
}
