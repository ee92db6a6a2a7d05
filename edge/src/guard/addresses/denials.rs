//! Refusals that an isolate remembers, so that a caller who keeps requesting over the limit does not load the Durable Objects.
//!
//! An address's refusal is valid until its window ends, because a fixed window never refills. A key's refusal is valid for one second
//! only: once a revocation is acknowledged, the key must get 401 and not 429.

use crate::guard::keys::subclient::Subclient;
use rds_shared::access::budget::{AddressBudget, Verdict};
use rds_shared::access::{ClientNet, KeyDigest, KeyRecord, Neighbourhood};
use rds_shared::route::RateLimitClass;
use rds_shared::wire::Timestamp;
use std::collections::BTreeMap;

/// Validity of a key's refusal in milliseconds, counted from before the request was sent. The edge waits this long before it acknowledges
/// a change of a key.
pub const KEY_LEASE_MILLIS: i64 = 1_000;
/// Maximum number of remembered refusals of each kind; while all of them are valid, further ones are not remembered.
const MAX_REFUSALS: usize = 4_096;

/// A key whose limit is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpentKey {
    pub record: KeyRecord,
    pub verdict: Verdict,
}

type KeyBudget = (KeyDigest, RateLimitClass, Subclient);

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Denials {
    keys: BTreeMap<KeyBudget, (SpentKey, i64)>,
    addresses: BTreeMap<(Refused, AddressBudget), Verdict>,
}

/// The subject of a refusal: an address, or all callers in a neighbourhood without a valid key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Refused {
    Address(ClientNet),
    Neighbourhood(Neighbourhood),
}

impl Denials {
    /// The valid refusal of a key for this client, or for the whole key if the key is not shared.
    pub fn key(
        &self,
        digest: KeyDigest,
        class: RateLimitClass,
        client: &Subclient,
        now: Timestamp,
    ) -> Option<SpentKey> {
        let valid = |client: Subclient| {
            let (spent, until) = self.keys.get(&(digest, class, client))?;
            let now_seconds = now.as_seconds();
            (now.as_millis() < *until && now_seconds < spent.verdict.allowance.reset).then_some(*spent)
        };
        valid(client.clone()).or_else(|| valid(Subclient::Pooled).filter(|spent| !spent.record.shared))
    }

    /// Remembers the refusal of a request sent at `asked_at`. A key that is not shared has one limit, whatever clients its callers
    /// name.
    pub fn remember_key(
        &mut self,
        digest: KeyDigest,
        class: RateLimitClass,
        client: &Subclient,
        spent: SpentKey,
        asked_at: Timestamp,
    ) {
        let now = asked_at.as_millis();
        if self.keys.len() >= MAX_REFUSALS {
            self.keys.retain(|_, (_, until)| *until > now);
        }
        if self.keys.len() < MAX_REFUSALS {
            let until = now.saturating_add(KEY_LEASE_MILLIS);
            let client = if spent.record.shared { client.clone() } else { Subclient::Pooled };
            self.keys.insert((digest, class, client), (spent, until));
        }
    }

    /// The valid refusal of an address; with `shared`, also of its neighbourhood.
    pub fn address(&self, net: ClientNet, shared: bool, budget: AddressBudget, now: Timestamp) -> Option<Verdict> {
        let valid = |refused| {
            let verdict = self.addresses.get(&(refused, budget)).copied();
            verdict.filter(|verdict| now.as_seconds() < verdict.allowance.reset)
        };
        let around = || valid(Refused::Neighbourhood(net.neighbourhood())).filter(|_| shared);
        valid(Refused::Address(net)).or_else(around)
    }

    /// Remembers the refusal of an address, or of its neighbourhood if the verdict says so.
    pub fn remember_address(&mut self, net: ClientNet, budget: AddressBudget, verdict: Verdict, now: Timestamp) {
        if self.addresses.len() >= MAX_REFUSALS {
            self.addresses.retain(|_, verdict| verdict.allowance.reset > now.as_seconds());
        }
        if self.addresses.len() < MAX_REFUSALS {
            let refused = match verdict.of_neighbourhood {
                true => Refused::Neighbourhood(net.neighbourhood()),
                false => Refused::Address(net),
            };
            self.addresses.insert((refused, budget), verdict);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::access::Plan;
    use rds_shared::access::budget::Allowance;
    use std::net::Ipv4Addr;

    const NOW: Timestamp = Timestamp::from_seconds(1_795_219_205);
    const RESET: i64 = 1_795_219_260;

    fn refusal() -> Verdict {
        let allowance = Allowance { limit: 10, remaining: 0, reset: RESET };
        Verdict { admitted: false, allowance, subclient: None, daily: false, of_neighbourhood: false }
    }

    fn net(number: u32) -> ClientNet {
        ClientNet::V4(Ipv4Addr::from_bits(number))
    }

    #[test]
    fn an_address_stays_refused_until_its_window_ends() {
        let mut denials = Denials::default();
        denials.remember_address(net(1), AddressBudget::Anonymous, refusal(), NOW);
        let at = |seconds| denials.address(net(1), true, AddressBudget::Anonymous, Timestamp::from_seconds(seconds));
        assert_eq!((at(RESET - 1), at(RESET)), (Some(refusal()), None));
        assert_eq!(denials.address(net(1), true, AddressBudget::Health, NOW), None);
        assert_eq!(denials.address(net(2), true, AddressBudget::Anonymous, NOW), None);
    }

    #[test]
    fn a_neighbourhood_stays_refused_for_callers_without_a_key() {
        let mut denials = Denials::default();
        let refused = Verdict { of_neighbourhood: true, ..refusal() };
        denials.remember_address(net(1), AddressBudget::Anonymous, refused, NOW);
        let at = |number, shared| denials.address(net(number), shared, AddressBudget::Anonymous, NOW).is_some();
        assert_eq!([at(1, true), at(255, true), at(256, true), at(1, false)], [true, true, false, false]);
    }

    #[test]
    fn a_keys_refusal_ends_after_a_second_or_with_its_window() {
        let mut denials = Denials::default();
        let record = KeyRecord { id: 1, org_id: 1, plan: Plan::Data, rpm: 10, shared: false, active: true, version: 1 };
        let (digest, spent) = (KeyDigest::of("k"), SpentKey { record, verdict: refusal() });
        denials.remember_key(digest, RateLimitClass::Public, &Subclient::Pooled, spent, NOW);
        let at = |denials: &Denials, millis| {
            denials.key(digest, RateLimitClass::Public, &Subclient::Pooled, Timestamp::from_millis(millis)).is_some()
        };
        let now = NOW.as_millis();
        assert!(at(&denials, now + 999) && !at(&denials, now + 1_000));
        assert_eq!(denials.key(digest, RateLimitClass::GraphRead, &Subclient::Pooled, NOW), None);
        let late = Timestamp::from_millis(RESET * 1_000 - 100);
        denials.remember_key(digest, RateLimitClass::Public, &Subclient::Pooled, spent, late);
        assert!(at(&denials, RESET * 1_000 - 1) && !at(&denials, RESET * 1_000));
    }

    #[test]
    fn naming_another_client_only_evades_the_refusal_of_a_shared_key() {
        let client = |name: &str| Subclient::read(Some(name)).unwrap();
        for shared in [false, true] {
            let record = KeyRecord { id: 1, org_id: 1, plan: Plan::Data, rpm: 10, shared, active: true, version: 1 };
            let (digest, spent) = (KeyDigest::of("k"), SpentKey { record, verdict: refusal() });
            let mut denials = Denials::default();
            for number in 0..100 {
                denials.remember_key(digest, RateLimitClass::Public, &client(&number.to_string()), spent, NOW);
            }
            assert_eq!(denials.keys.len(), if shared { 100 } else { 1 });
            for (other, stands) in [(client("another"), !shared), (Subclient::Pooled, !shared), (client("7"), true)] {
                assert_eq!(
                    denials.key(digest, RateLimitClass::Public, &other, NOW).is_some(),
                    stands,
                    "{shared} {other:?}"
                );
            }
        }
    }

    #[test]
    fn refusals_are_bounded_and_expired_ones_are_dropped_first() {
        let mut denials = Denials::default();
        for number in 0..10_000 {
            denials.remember_address(net(number), AddressBudget::Anonymous, refusal(), NOW);
        }
        assert_eq!(denials.addresses.len(), MAX_REFUSALS);
        let next = Timestamp::from_seconds(RESET);
        denials.remember_address(net(20_000), AddressBudget::Anonymous, refusal(), next);
        assert_eq!(denials.addresses.len(), 1);
    }
}
