//! What a host remembers of keys that it has judged, so that guessed keys cost little and a good one is looked up at once.
//!
//! A key is never refused because of the address that it comes from: only a look-up says whether it holds. What is bounded is the
//! cost of look-ups: a key that was refused a moment ago is not looked up again, and keys that are new to a host share the places in
//! which hosts look keys up (`edge/src/guard/register/state.rs`, `origin/src/http/listeners/relay_lookups.rs`).

use super::KeyDigest;
use alloc::collections::{BTreeMap, BTreeSet};

/// How long the refusal of a key stands, in milliseconds: as long as an isolate may remember any refusal of a key.
pub const REFUSED_MILLIS: i64 = 1_000;
/// Keys that are known to be good; twice as many are remembered at most.
const KEYS: usize = 4_096;
/// Refusals that are remembered; while all of them stand, further ones are not.
const REFUSALS: usize = 4_096;

/// What a host has seen of keys.
#[derive(Debug, Default)]
pub struct Spray {
    good: BTreeSet<KeyDigest>,
    /// The good ones of before; one that is seen again moves over.
    good_before: BTreeSet<KeyDigest>,
    /// Until when keys are refused without a look-up, in milliseconds.
    refused: BTreeMap<KeyDigest, i64>,
}

impl Spray {
    /// Whether a key is known to be good.
    pub fn knows(&self, digest: &KeyDigest) -> bool {
        self.good.contains(digest) || self.good_before.contains(digest)
    }

    /// Whether a key was refused within the last [`REFUSED_MILLIS`].
    pub fn refuses(&self, digest: &KeyDigest, now_millis: i64) -> bool {
        self.refused.get(digest).is_some_and(|until| (0..=REFUSED_MILLIS).contains(&until.saturating_sub(now_millis)))
    }

    /// Notes a key that holds.
    pub fn good(&mut self, digest: KeyDigest) {
        self.refused.remove(&digest);
        if self.good.len() >= KEYS && !self.good.contains(&digest) {
            self.good_before = core::mem::take(&mut self.good);
        }
        self.good.insert(digest);
    }

    /// Notes a key that does not hold, as the answer to a question that was put at `asked_millis`.
    pub fn rejected(&mut self, digest: &KeyDigest, asked_millis: i64) {
        self.good.remove(digest);
        self.good_before.remove(digest);
        if self.refused.len() >= REFUSALS {
            self.refused.retain(|_, until| *until > asked_millis);
        }
        if self.refused.len() < REFUSALS {
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
    fn a_refusal_stands_for_a_second_and_not_once_the_clock_was_set_back() {
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
    fn what_it_remembers_is_bounded() {
        let mut spray = Spray::default();
        for number in 0..20_000 {
            spray.good(KeyDigest::of(&number.to_string()));
            spray.rejected(&KeyDigest::of(&(-number).to_string()), NOW);
        }
        assert!(spray.good.len() + spray.good_before.len() <= 2 * KEYS);
        assert_eq!(spray.refused.len(), REFUSALS);
        spray.rejected(&KeyDigest::of("late"), NOW + 2_000);
        assert_eq!(spray.refused.len(), 1);
    }
}
