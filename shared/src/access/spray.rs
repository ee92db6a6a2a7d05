//! Defence against key spraying: a host remembers which keys were valid or invalid, so that guessed keys cause few look-ups and do not
//! delay known valid ones.
//!
//! A key is never refused because of its client address: only a look-up decides whether it is valid. Only the cost of look-ups is
//! bounded: an invalid key is not looked up again for [`REFUSED_MILLIS`], and keys new to a host share a limited number of concurrent
//! look-ups (`edge/src/guard/known_keys/state.rs`, `origin/src/http/listeners/relay_lookups.rs`).

use super::KeyDigest;
use alloc::collections::{BTreeMap, BTreeSet};

/// How long a key stays refused without a new look-up, in milliseconds. It must not exceed `KEY_LEASE_MILLIS`
/// (`edge/src/guard/addresses/denials.rs`), the time that the edge waits before it acknowledges a changed key.
pub const REFUSED_MILLIS: i64 = 1_000;
/// Valid keys in one generation; at most two generations are kept.
const KEYS_PER_GENERATION: usize = 4_096;
/// Maximum number of refusals kept; while all of them are unexpired, further refusals are not recorded.
const MAX_REFUSALS: usize = 4_096;

/// The keys a host has recently found valid or invalid.
#[derive(Debug, Default)]
pub struct Spray {
    good: BTreeSet<KeyDigest>,
    /// The previous generation of valid keys; a key seen again is added to `good`.
    good_before: BTreeSet<KeyDigest>,
    /// Expiry of each refusal, in milliseconds.
    refused: BTreeMap<KeyDigest, i64>,
}

impl Spray {
    /// Whether a key is known to be valid.
    pub fn knows(&self, digest: &KeyDigest) -> bool {
        self.good.contains(digest) || self.good_before.contains(digest)
    }

    /// Whether a key was refused within the last [`REFUSED_MILLIS`].
    pub fn refuses(&self, digest: &KeyDigest, now_millis: i64) -> bool {
        self.refused.get(digest).is_some_and(|until| (0..=REFUSED_MILLIS).contains(&until.saturating_sub(now_millis)))
    }

    /// Records that a key is valid.
    pub fn good(&mut self, digest: KeyDigest) {
        self.refused.remove(&digest);
        if self.good.len() >= KEYS_PER_GENERATION && !self.good.contains(&digest) {
            self.good_before = core::mem::take(&mut self.good);
        }
        self.good.insert(digest);
    }

    /// Records that a key is invalid, according to a look-up that started at `asked_millis`.
    pub fn rejected(&mut self, digest: &KeyDigest, asked_millis: i64) {
        self.good.remove(digest);
        self.good_before.remove(digest);
        if self.refused.len() >= MAX_REFUSALS {
            self.refused.retain(|_, until| *until > asked_millis);
        }
        if self.refused.len() < MAX_REFUSALS {
            self.refused.insert(*digest, asked_millis.saturating_add(REFUSED_MILLIS));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    const NOW: i64 = 1_795_219_205_000;

    #[test]
    fn a_refusal_lasts_one_second_and_is_ignored_after_the_clock_was_set_back() {
        let mut spray = Spray::default();
        let (key, other) = (KeyDigest::of("key"), KeyDigest::of("other"));
        spray.good(key);
        spray.rejected(&key, NOW);
        assert!(!spray.knows(&key) && spray.refuses(&key, NOW + 999) && !spray.refuses(&key, NOW + 1_001));
        assert!(!spray.refuses(&key, NOW - 1) && !spray.refuses(&other, NOW));
        spray.good(key);
        assert!(spray.knows(&key) && !spray.refuses(&key, NOW));
    }

    #[test]
    fn the_number_of_remembered_keys_is_bounded() {
        let mut spray = Spray::default();
        for number in 0..20_000 {
            spray.good(KeyDigest::of(&number.to_string()));
            spray.rejected(&KeyDigest::of(&(-number).to_string()), NOW);
        }
        assert!(spray.good.len() + spray.good_before.len() <= 2 * KEYS_PER_GENERATION);
        assert_eq!(spray.refused.len(), MAX_REFUSALS);
        spray.rejected(&KeyDigest::of("late"), NOW + 2_000);
        assert_eq!(spray.refused.len(), 1);
    }
}
