//! Recently refused credentials, for hosts that cannot look credentials up at the moment.
//!
//! A rejected credential stays rejected while its record cannot be read: the caller gets a 401, not a 503, and never anonymous access.

use super::KeyDigest;
use alloc::collections::BTreeMap;

/// How long a refusal is remembered while look-ups fail, in seconds.
pub const REFUSED_SECONDS: i64 = 3_600;
/// Refusals in one generation; at most two generations are kept.
const GENERATION: usize = 2_048;

/// Refused credentials with the time of each refusal, in Unix seconds. Bounded: when the newer generation is full, the older is dropped.
#[derive(Debug, Default)]
pub struct Refused {
    newer: BTreeMap<KeyDigest, i64>,
    older: BTreeMap<KeyDigest, i64>,
}

impl Refused {
    /// Records that a look-up refused the credential.
    pub fn note(&mut self, digest: KeyDigest, now_seconds: i64) {
        if self.newer.len() >= GENERATION && !self.newer.contains_key(&digest) {
            self.older = core::mem::take(&mut self.newer);
        }
        self.newer.insert(digest, now_seconds);
    }

    /// Records that a look-up found the credential valid.
    pub fn mark_valid(&mut self, digest: &KeyDigest) {
        self.newer.remove(digest);
        self.older.remove(digest);
    }

    /// Whether a credential was refused within [`REFUSED_SECONDS`]. A refusal dated in the future is ignored (the clock was set back).
    pub fn is_refused(&self, digest: &KeyDigest, now_seconds: i64) -> bool {
        let at = self.newer.get(digest).or_else(|| self.older.get(digest));
        at.is_some_and(|at| (0..REFUSED_SECONDS).contains(&now_seconds.saturating_sub(*at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    const NOW: i64 = 1_795_219_205;

    fn digest(number: usize) -> KeyDigest {
        KeyDigest::of(&number.to_string())
    }

    #[test]
    fn a_refusal_lasts_one_hour_or_until_the_credential_is_found_valid() {
        let mut refused = Refused::default();
        refused.note(digest(1), NOW);
        let at = |refused: &Refused, seconds| refused.is_refused(&digest(1), NOW + seconds);
        assert!(at(&refused, 0) && at(&refused, 3_599));
        assert!(!at(&refused, 3_600) && !at(&refused, -1) && !refused.is_refused(&digest(2), NOW));
        refused.mark_valid(&digest(1));
        assert!(!at(&refused, 1));
    }

    #[test]
    fn the_number_of_refusals_is_bounded_and_the_latest_are_kept() {
        let mut refused = Refused::default();
        (0..10_000).for_each(|number| refused.note(digest(number), NOW));
        assert!(refused.newer.len() + refused.older.len() <= 2 * GENERATION);
        assert!((10_000 - GENERATION..10_000).all(|number| refused.is_refused(&digest(number), NOW)));
        assert!(!refused.is_refused(&digest(0), NOW));
    }
}
