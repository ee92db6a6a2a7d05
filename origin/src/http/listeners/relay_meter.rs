//! Rate limits of the relay listener: the shared budgets, counted by this process in fixed windows and bounded memory.
//!
//! The edge's counts are durable and common to all callers; here each process has its own counts and loses them at a restart. The
//! budgets are the same: [`rds_shared::access::budget`].

use rds_engine::entropy;
use rds_shared::access::address_table::AddressTable;
use rds_shared::access::budget::{
    AddressBudget, Charge, Count, Payer, Verdict, charge, charges_neighbourhood, either, take_key, window_of,
};
use rds_shared::access::{ClientNet, KeyRecord, Salt};
use rds_shared::route::RateLimitClass;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

/// Maximum counters of one kind.
const MAX_COUNTERS: usize = 1 << 16;

/// The caller, as far as rate limits depend on it.
#[derive(Debug, Clone, Copy)]
pub enum Caller<'a> {
    /// A caller without a key.
    Anonymous,
    /// The holder of a live key, and the client if the key is shared.
    Key(&'a KeyRecord, Client),
    /// A caller whose key was rejected.
    Rejected,
}

/// A client of a shared key: the hash of its name, or 0 for all clients without a name.
pub type Client = u64;

/// All counters of keys are in use in this window; further keys are refused, not left uncounted. Addresses always get a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoCounterLeft;

/// The counts of all callers.
#[derive(Debug, Default)]
pub struct RelayLimiter(Mutex<Counters>);

#[derive(Debug)]
struct Counters {
    addresses: AddressTable,
    salt: Salt,
    keys: Bounded<(i64, RateLimitClass), Count>,
    clients: Bounded<(i64, RateLimitClass, Client), Count>,
}

impl Default for Counters {
    fn default() -> Self {
        Counters {
            addresses: AddressTable::new(MAX_COUNTERS),
            salt: Salt::new(entropy::random_bytes()),
            keys: Bounded::default(),
            clients: Bounded::default(),
        }
    }
}

impl RelayLimiter {
    /// Whether an address, or its neighbourhood, has spent its budget for requests without a valid key in the window of `now_seconds`.
    pub fn is_spent(&self, net: ClientNet, now_seconds: i64) -> bool {
        let counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counters.addresses.is_spent(net, AddressBudget::Anonymous, now_seconds)
    }

    /// Charges a request of rate-limit class `class` to its caller. `None` if such requests are not limited.
    pub fn take(
        &self,
        class: RateLimitClass,
        caller: Caller<'_>,
        net: ClientNet,
        now_seconds: i64,
    ) -> Result<Option<Verdict>, NoCounterLeft> {
        let mut counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let payer = match caller {
            Caller::Anonymous => Payer::Anonymous,
            Caller::Key(..) => Payer::Key,
            Caller::Rejected => Payer::Rejected,
        };
        match (charge(class, payer), caller) {
            (Charge::Nothing, _) => Ok(None),
            (Charge::Address(budget), _) => Ok(Some(counters.address(net, budget, payer, now_seconds))),
            (Charge::Key, Caller::Key(record, client)) => counters.key(record, client, class, now_seconds),
            (Charge::KeyAndAddress(budget), Caller::Key(record, client)) => {
                let key = counters.key(record, client, class, now_seconds)?;
                let address = counters.address(net, budget, payer, now_seconds);
                Ok(Some(key.map_or(address, |key| either(key, address))))
            }
            // Without a valid key, the address is charged instead of a key.
            (Charge::Key | Charge::KeyAndAddress(_), Caller::Anonymous | Caller::Rejected) => {
                Ok(Some(counters.address(net, AddressBudget::Anonymous, payer, now_seconds)))
            }
        }
    }
}

impl Counters {
    fn address(&mut self, net: ClientNet, budget: AddressBudget, payer: Payer, now_seconds: i64) -> Verdict {
        self.addresses.take((net, budget), charges_neighbourhood(payer), &self.salt, now_seconds)
    }

    fn key(
        &mut self,
        record: &KeyRecord,
        client: Client,
        class: RateLimitClass,
        now_seconds: i64,
    ) -> Result<Option<Verdict>, NoCounterLeft> {
        let window = window_of(now_seconds);
        let current = |count: &Count| count.window == window;
        let share = match record.shared {
            true => Some(self.clients.entry((record.id, class, client), window, current)?),
            false => None,
        };
        let total = self.keys.entry((record.id, class), window, current)?;
        Ok(take_key(record, class, total, share, now_seconds))
    }
}

/// A map of bounded size. When full, it drops entries of past windows; if all are current, it refuses new keys.
#[derive(Debug)]
struct Bounded<K, V> {
    entries: HashMap<K, V>,
    /// The window of the last sweep: a full map is swept once per window.
    swept: i64,
}

impl<K, V> Default for Bounded<K, V> {
    fn default() -> Self {
        Bounded { entries: HashMap::new(), swept: i64::MIN }
    }
}

impl<K: Hash + Eq, V: Default> Bounded<K, V> {
    /// The entry of `key`. A full map first drops all entries that are not `current`.
    fn entry(&mut self, key: K, window: i64, current: impl Fn(&V) -> bool) -> Result<&mut V, NoCounterLeft> {
        if self.entries.len() >= MAX_COUNTERS && !self.entries.contains_key(&key) {
            if self.swept == window {
                return Err(NoCounterLeft);
            }
            self.swept = window;
            self.entries.retain(|_, value| current(value));
            if self.entries.len() >= MAX_COUNTERS {
                return Err(NoCounterLeft);
            }
        }
        Ok(self.entries.entry(key).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::access::Plan;
    use std::net::{IpAddr, Ipv4Addr};

    const NOW: i64 = 1_795_219_205;

    fn net(number: u32) -> ClientNet {
        ClientNet::of(IpAddr::V4(Ipv4Addr::from(number)))
    }

    fn key(rpm: u32, shared: bool) -> KeyRecord {
        KeyRecord { id: 1, org_id: 1, plan: Plan::Data, rpm, shared, active: true, version: 1 }
    }

    fn admitted(meter: &RelayLimiter, class: RateLimitClass, caller: Caller<'_>, times: usize) -> usize {
        let take = || meter.take(class, caller, net(1), NOW).unwrap().unwrap();
        (0..times).filter(|_| take().admitted).count()
    }

    #[test]
    fn each_caller_is_charged_to_its_own_budget() {
        let meter = RelayLimiter::default();
        let record = key(20, false);
        assert_eq!(meter.take(RateLimitClass::Unmetered, Caller::Anonymous, net(1), NOW), Ok(None));
        assert_eq!(admitted(&meter, RateLimitClass::Health, Caller::Key(&record, 0), 70), 60);
        assert_eq!(admitted(&meter, RateLimitClass::Public, Caller::Key(&record, 0), 30), 20);
        assert_eq!(admitted(&meter, RateLimitClass::Public, Caller::Anonymous, 6), 6);
        assert_eq!(
            admitted(&meter, RateLimitClass::Health, Caller::Rejected, 6),
            4,
            "the rest of the anonymous allowance"
        );
        let next = meter.take(RateLimitClass::Public, Caller::Key(&record, 0), net(1), NOW + 60).unwrap().unwrap();
        assert!(next.admitted);
    }

    #[test]
    fn clients_of_a_shared_key_have_a_quarter_each() {
        let (meter, record) = (RelayLimiter::default(), key(40, true));
        assert_eq!(admitted(&meter, RateLimitClass::Public, Caller::Key(&record, 7), 40), 10);
        assert_eq!(admitted(&meter, RateLimitClass::Public, Caller::Key(&record, 0), 40), 10);
        let verdict = meter.take(RateLimitClass::Public, Caller::Key(&record, 8), net(1), NOW).unwrap().unwrap();
        assert_eq!((verdict.allowance.remaining, verdict.subclient.unwrap().remaining), (19, 9));
    }

    #[test]
    fn a_class_with_two_budgets_refuses_only_when_key_and_address_are_spent() {
        let (meter, record) = (RelayLimiter::default(), key(20, false));
        assert_eq!(admitted(&meter, RateLimitClass::GraphCheck, Caller::Key(&record, 0), 70), 60);
        let elsewhere = meter.take(RateLimitClass::GraphCheck, Caller::Key(&record, 0), net(2), NOW).unwrap().unwrap();
        assert!(elsewhere.admitted, "the address has room");
    }

    #[test]
    fn many_addresses_displace_no_counter_and_none_is_uncounted() {
        let meter = RelayLimiter::default();
        let ask =
            |number, now| meter.take(RateLimitClass::Public, Caller::Anonymous, net(number), now).unwrap().unwrap();
        for number in 0..MAX_COUNTERS as u32 {
            assert!(ask(number << 8, NOW).admitted);
        }
        assert_eq!(ask(0, NOW).allowance.remaining, 8, "who is known stays counted");
        let stranger = MAX_COUNTERS as u32 + 7;
        assert!(ask(stranger << 8, NOW).admitted, "a stranger is served");
        let served = (0..1_000).filter(|_| ask(stranger << 8, NOW).admitted).count();
        assert!(served < 320, "and is bounded all the same");
        assert_eq!(ask(stranger << 8, NOW + 60).allowance.remaining, 9, "the next minute has room again");
    }

    #[test]
    fn neighbours_share_an_allowance_and_keys_are_not_charged_to_it() {
        let meter = RelayLimiter::default();
        let record = key(20, false);
        let ask = |number, caller| meter.take(RateLimitClass::Health, caller, net(number), NOW).unwrap().unwrap();
        let served = (0..32 * 60 + 100).filter(|number| ask(number % 256, Caller::Anonymous).admitted).count();
        assert_eq!(served, 32 * 60);
        assert!(!ask(9, Caller::Anonymous).admitted && ask(9, Caller::Key(&record, 0)).admitted);
        assert!(ask(256, Caller::Anonymous).admitted);
    }
}
