//! Guessed keys: an address that tried a hundred of them in a window gets no more look-ups of keys that are new to
//! this isolate or process.
//!
//! What counts is how many keys it tried, not how often: a fleet that goes on with one revoked key hinders nobody beside it.

use super::budget::{AddressBudget, Allowance, Verdict, WINDOW_SECONDS, window_of};
use super::{ClientNet, KeyDigest};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// Keys of one address that did not hold in a window before its look-ups end. Ten times what its budget lets pass as 401.
const PATIENCE: usize = 100;
/// Addresses that are counted at once.
const ADDRESSES: usize = 2_048;
/// Keys that are known to be good; twice as many are remembered at most.
const KEYS: usize = 4_096;

/// What a host has seen of keys.
#[derive(Debug, Default)]
pub struct Spray {
    guesses: BTreeMap<ClientNet, Guesses>,
    good: BTreeSet<KeyDigest>,
    /// The good ones of before; one that is seen again moves over.
    good_before: BTreeSet<KeyDigest>,
}

/// Keys of one address that did not hold in one window, by the first eight bytes of their digests. [`PATIENCE`] at most.
#[derive(Debug, Default)]
struct Guesses {
    window: i64,
    keys: Vec<u64>,
}

impl Spray {
    /// Whether a key is known to be good.
    pub fn knows(&self, digest: &KeyDigest) -> bool {
        self.good.contains(digest) || self.good_before.contains(digest)
    }

    /// The refusal of a key without looking it up, if its address has guessed enough.
    pub fn refusal(&self, net: ClientNet, digest: &KeyDigest, now_seconds: i64) -> Option<Verdict> {
        let window = window_of(now_seconds);
        let guesses = self.guesses.get(&net)?;
        if guesses.window != window || guesses.keys.len() < PATIENCE || self.knows(digest) {
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
        self.guessed(net, digest, now_seconds);
    }

    /// Notes a key of `net` that could not be judged. One that held before is none that was guessed.
    pub fn unjudged(&mut self, net: ClientNet, digest: &KeyDigest, now_seconds: i64) {
        if !self.knows(digest) {
            self.guessed(net, digest, now_seconds);
        }
    }

    fn guessed(&mut self, net: ClientNet, digest: &KeyDigest, now_seconds: i64) {
        let window = window_of(now_seconds);
        if self.guesses.len() >= ADDRESSES && !self.guesses.contains_key(&net) {
            self.guesses.retain(|_, guesses| guesses.window == window);
            if self.guesses.len() >= ADDRESSES {
                return;
            }
        }
        let guesses = self.guesses.entry(net).or_default();
        if guesses.window != window {
            *guesses = Guesses { window, keys: Vec::new() };
        }
        let key = digest.as_bytes().iter().take(8).fold(0, |key, byte| key << 8 | u64::from(*byte));
        if guesses.keys.len() < PATIENCE && !guesses.keys.contains(&key) {
            guesses.keys.push(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use core::net::Ipv4Addr;

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
    fn a_hundred_times_the_same_revoked_key_hold_nobody_back() {
        let mut spray = Spray::default();
        let revoked = KeyDigest::of("revoked");
        spray.good(revoked);
        for _ in 0..1_000 {
            spray.rejected(net(1), &revoked, NOW);
        }
        assert_eq!(spray.refusal(net(1), &KeyDigest::of("its successor"), NOW), None);
        assert!(!spray.knows(&revoked));
    }

    #[test]
    fn keys_that_nobody_can_judge_count_unless_they_held_before() {
        let mut spray = Spray::default();
        let key = |number: u32| KeyDigest::of(&number.to_string());
        (0..100).for_each(|number| spray.good(key(number)));
        (0..199).for_each(|number| spray.unjudged(net(1), &key(number), NOW));
        assert_eq!(spray.refusal(net(1), &key(500), NOW), None);
        spray.unjudged(net(1), &key(199), NOW);
        assert!(spray.refusal(net(1), &key(500), NOW).is_some() && spray.refusal(net(1), &key(5), NOW).is_none());
    }

    #[test]
    fn what_it_remembers_is_bounded() {
        let mut spray = Spray::default();
        for number in 0..20_000 {
            spray.good(KeyDigest::of(&number.to_string()));
            spray.rejected(net(number), &KeyDigest::of("x"), NOW);
            spray.rejected(net(0), &KeyDigest::of(&number.to_string()), NOW);
        }
        assert!(spray.good.len() + spray.good_before.len() <= 2 * KEYS);
        assert_eq!((spray.guesses.len(), spray.guesses[&net(0)].keys.len()), (ADDRESSES, PATIENCE));
        spray.rejected(net(50_000), &KeyDigest::of("x"), NOW + 60);
        assert_eq!(spray.guesses.len(), 1);
    }
}
