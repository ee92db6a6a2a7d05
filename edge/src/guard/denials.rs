//! Refusals that an isolate remembers, so that hammering at a spent budget costs nobody but the caller.
//!
//! An address's refusal stands until its window ends: a fixed window never fills up again. A key's stands for a second
//! only, because a key that is revoked has to read as rejected, and not as throttled, once the revocation is acknowledged.

use super::subclient::Subclient;
use rds_shared::access::budget::{AddressBudget, Verdict};
use rds_shared::access::{ClientNet, KeyDigest, KeyRecord, Neighbourhood};
use rds_shared::route::Family;
use rds_shared::wire::Timestamp;
use std::collections::BTreeMap;

/// How long a key's refusal stands, from before the question was sent, in milliseconds. Whoever acknowledges a change of a
/// key waits this long first.
pub const KEY_LEASE_MILLIS: i64 = 1_000;
/// Refusals of either kind that are remembered; while all of them stand, further ones are not.
const MOST: usize = 4_096;

/// What a key's object said: the key, and that its budget is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpentKey {
    /// The key's record.
    pub record: KeyRecord,
    /// The refusal.
    pub verdict: Verdict,
}

type KeyBudget = (KeyDigest, Family, Subclient);

/// The refusals.
#[derive(Debug, Default)]
pub struct Denials {
    keys: BTreeMap<KeyBudget, (SpentKey, i64)>,
    addresses: BTreeMap<(Refused, AddressBudget), Verdict>,
}

/// Who is refused: an address, or everybody around it who sends no valid key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Refused {
    Address(ClientNet),
    Neighbourhood(Neighbourhood),
}

impl Denials {
    /// The refusal of a key that still stands: that of this client, or of all clients where the key tells none apart.
    pub fn key(&self, digest: KeyDigest, family: Family, client: &Subclient, now: Timestamp) -> Option<SpentKey> {
        let standing = |client: Subclient| {
            let (spent, until) = self.keys.get(&(digest, family, client))?;
            let now_seconds = now.as_seconds();
            (now.as_millis() < *until && now_seconds < spent.verdict.allowance.reset).then_some(*spent)
        };
        standing(client.clone()).or_else(|| standing(Subclient::Pooled).filter(|spent| !spent.record.shared))
    }

    /// Remembers the refusal that answered a question sent at `asked_at`. A key that is not shared has one budget, whatever
    /// clients it names.
    pub fn remember_key(
        &mut self,
        digest: KeyDigest,
        family: Family,
        client: &Subclient,
        spent: SpentKey,
        asked_at: Timestamp,
    ) {
        let now = asked_at.as_millis();
        if self.keys.len() >= MOST {
            self.keys.retain(|_, (_, until)| *until > now);
        }
        if self.keys.len() < MOST {
            let until = now.saturating_add(KEY_LEASE_MILLIS);
            let client = if spent.record.shared { client.clone() } else { Subclient::Pooled };
            self.keys.insert((digest, family, client), (spent, until));
        }
    }

    /// The refusal of an address that still stands; with `shared`, also that of its neighbourhood.
    pub fn address(&self, net: ClientNet, shared: bool, budget: AddressBudget, now: Timestamp) -> Option<Verdict> {
        let standing = |refused| {
            let verdict = self.addresses.get(&(refused, budget)).copied();
            verdict.filter(|verdict| now.as_seconds() < verdict.allowance.reset)
        };
        let around = || standing(Refused::Neighbourhood(net.neighbourhood())).filter(|_| shared);
        standing(Refused::Address(net)).or_else(around)
    }

    /// Remembers the refusal of an address, or of its neighbourhood if that is what the verdict tells of.
    pub fn remember_address(&mut self, net: ClientNet, budget: AddressBudget, verdict: Verdict, now: Timestamp) {
        if self.addresses.len() >= MOST {
            self.addresses.retain(|_, verdict| verdict.allowance.reset > now.as_seconds());
        }
        if self.addresses.len() < MOST {
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
    fn a_neighbourhood_stays_refused_for_everybody_in_it_but_keys() {
        let mut denials = Denials::default();
        let refused = Verdict { of_neighbourhood: true, ..refusal() };
        denials.remember_address(net(1), AddressBudget::Anonymous, refused, NOW);
        let at = |number, shared| denials.address(net(number), shared, AddressBudget::Anonymous, NOW).is_some();
        assert_eq!([at(1, true), at(255, true), at(256, true), at(1, false)], [true, true, false, false]);
    }

    #[test]
    fn a_key_is_asked_for_again_after_a_second_and_in_a_new_window() {
        let mut denials = Denials::default();
        let record = KeyRecord { id: 1, org_id: 1, plan: Plan::Data, rpm: 10, shared: false, active: true, version: 1 };
        let (digest, spent) = (KeyDigest::of("k"), SpentKey { record, verdict: refusal() });
        denials.remember_key(digest, Family::Public, &Subclient::Pooled, spent, NOW);
        let at = |denials: &Denials, millis| {
            denials.key(digest, Family::Public, &Subclient::Pooled, Timestamp::from_millis(millis)).is_some()
        };
        let now = NOW.as_millis();
        assert!(at(&denials, now + 999) && !at(&denials, now + 1_000));
        assert_eq!(denials.key(digest, Family::GraphRead, &Subclient::Pooled, NOW), None);
        let late = Timestamp::from_millis(RESET * 1_000 - 100);
        denials.remember_key(digest, Family::Public, &Subclient::Pooled, spent, late);
        assert!(at(&denials, RESET * 1_000 - 1) && !at(&denials, RESET * 1_000));
    }

    #[test]
    fn naming_other_clients_gets_no_key_around_its_refusal_unless_it_is_shared() {
        let client = |name: &str| Subclient::read(Some(name)).unwrap();
        for shared in [false, true] {
            let record = KeyRecord { id: 1, org_id: 1, plan: Plan::Data, rpm: 10, shared, active: true, version: 1 };
            let (digest, spent) = (KeyDigest::of("k"), SpentKey { record, verdict: refusal() });
            let mut denials = Denials::default();
            for number in 0..100 {
                denials.remember_key(digest, Family::Public, &client(&number.to_string()), spent, NOW);
            }
            assert_eq!(denials.keys.len(), if shared { 100 } else { 1 });
            for (other, stands) in [(client("another"), !shared), (Subclient::Pooled, !shared), (client("7"), true)] {
                assert_eq!(denials.key(digest, Family::Public, &other, NOW).is_some(), stands, "{shared} {other:?}");
            }
        }
    }

    #[test]
    fn it_remembers_so_many_and_forgets_what_is_over_first() {
        let mut denials = Denials::default();
        for number in 0..10_000 {
            denials.remember_address(net(number), AddressBudget::Anonymous, refusal(), NOW);
        }
        assert_eq!(denials.addresses.len(), MOST);
        let next = Timestamp::from_seconds(RESET);
        denials.remember_address(net(20_000), AddressBudget::Anonymous, refusal(), next);
        assert_eq!(denials.addresses.len(), 1);
    }
}
