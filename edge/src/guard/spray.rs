//! Guessed keys: an address whose keys keep being rejected gets no more look-ups of keys that are new to this isolate.

use rds_shared::access::budget::{AddressBudget, Allowance, Count, Verdict, WINDOW_SECONDS, window_of};
use rds_shared::access::{ClientNet, KeyDigest};
use std::collections::{BTreeMap, BTreeSet};

/// Rejections of one address in a window before its look-ups end. Ten times what its budget lets pass as 401.
const PATIENCE: u32 = 100;
/// Addresses that are counted at once.
const ADDRESSES: usize = 4_096;
/// Keys that are known to be good; twice as many are remembered at most.
const KEYS: usize = 4_096;

/// What an isolate has seen of keys.
#[derive(Debug, Default)]
pub struct Spray {
    rejections: BTreeMap<ClientNet, Count>,
    good: BTreeSet<KeyDigest>,
    /// The good ones of before; one that is seen again moves over.
    good_before: BTreeSet<KeyDigest>,
}

impl Spray {
    /// The refusal of a key without looking it up, if its address has guessed enough.
    pub fn refusal(&self, net: ClientNet, digest: &KeyDigest, now_seconds: i64) -> Option<Verdict> {
        let window = window_of(now_seconds);
        let rejections = self.rejections.get(&net)?.used_in(window);
        if rejections < PATIENCE || self.good.contains(digest) || self.good_before.contains(digest) {
            return None;
        }
        let reset = window.saturating_add(1).saturating_mul(WINDOW_SECONDS);
        let allowance = Allowance { limit: AddressBudget::Anonymous.limit(), remaining: 0, reset };
        Some(Verdict { admitted: false, allowance, subclient: None, daily: false })
    }

    /// Notes a key that holds.
    pub fn good(&mut self, digest: KeyDigest) {
        if self.good.len() >= KEYS && !self.good.contains(&digest) {
            self.good_before = core::mem::take(&mut self.good);
        }
        self.good.insert(digest);
    }

    /// Notes a key of `net` that does not hold.
    pub fn rejected(&mut self, net: ClientNet, digest: &KeyDigest, now_seconds: i64) {
        self.good.remove(digest);
        self.good_before.remove(digest);
        let window = window_of(now_seconds);
        if self.rejections.len() >= ADDRESSES && !self.rejections.contains_key(&net) {
            self.rejections.retain(|_, count| count.window == window);
            if self.rejections.len() >= ADDRESSES {
                return;
            }
        }
        let count = self.rejections.entry(net).or_default();
        *count = Count { window, used: count.used_in(window).saturating_add(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const NOW: i64 = 1_795_219_205;

    fn net(number: u32) -> ClientNet {
        ClientNet::V4(Ipv4Addr::from_bits(number))
    }

    #[test]
    fn after_a_hundred_bad_keys_only_good_ones_are_looked_up() {
        let mut spray = Spray::default();
        let good = KeyDigest::of("good");
        spray.good(good);
        let guess = |number: u32| KeyDigest::of(&number.to_string());
        for number in 0..100 {
            assert_eq!(spray.refusal(net(1), &guess(number), NOW), None);
            spray.rejected(net(1), &guess(number), NOW);
        }
        let refusal = spray.refusal(net(1), &guess(100), NOW).unwrap();
        assert_eq!((refusal.admitted, refusal.allowance.reset), (false, 1_795_219_260));
        assert_eq!(spray.refusal(net(1), &good, NOW), None);
        assert_eq!(spray.refusal(net(2), &guess(100), NOW), None, "another address is not held back");
        assert_eq!(spray.refusal(net(1), &guess(100), NOW + 60), None, "nor is this one in the next window");
    }

    #[test]
    fn a_good_key_that_turned_bad_is_like_any_other() {
        let mut spray = Spray::default();
        let key = KeyDigest::of("revoked");
        spray.good(key);
        for _ in 0..100 {
            spray.rejected(net(1), &key, NOW);
        }
        assert!(spray.refusal(net(1), &key, NOW).is_some());
    }

    #[test]
    fn what_it_remembers_is_bounded() {
        let mut spray = Spray::default();
        for number in 0..20_000 {
            spray.good(KeyDigest::of(&number.to_string()));
            spray.rejected(net(number), &KeyDigest::of("x"), NOW);
        }
        assert!(spray.good.len() + spray.good_before.len() <= 2 * KEYS);
        assert_eq!(spray.rejections.len(), ADDRESSES);
        spray.rejected(net(50_000), &KeyDigest::of("x"), NOW + 60);
        assert_eq!(spray.rejections.len(), 1);
    }
}
