//! The edge's word: why a request is not the edge's, who speaks, and that an assertion is used once.

use rds_shared::access::assertion::MAX_SKEW_SECONDS;
use rds_shared::access::link;
use rds_shared::access::{AssertionError, Principal};
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, PoisonError};

/// Why a request is not the edge's; for the log and the metrics, never for the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// One of the two headers is missing or not text.
    Missing,
    /// The signature does not hold.
    Assertion(AssertionError),
    /// The caller it names is of no known kind.
    Principal,
    /// It was used before.
    Replayed,
    /// More assertions in a minute than can be remembered; none is admitted unremembered.
    Full,
}

/// Who speaks through the edge's door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Speaker {
    /// A caller of the edge's: the only one believed.
    Caller(Principal),
    /// The edge itself.
    Edge,
}

impl Speaker {
    /// Reads the principal of a request.
    pub fn read(principal: &str) -> Option<Self> {
        match principal {
            link::EDGE => Some(Speaker::Edge),
            caller => Principal::from_json(caller).map(Speaker::Caller),
        }
    }
}

/// An assertion is alive for at most twice the skew: signed that far ahead of this clock, it ages to as far behind.
const LIFETIME_SECONDS: i64 = 2 * MAX_SKEW_SECONDS;
/// Locks, so that requests on different threads seldom meet.
const SHARDS: usize = 16;
/// Nonces a shard remembers per generation: 16 shards of them are 70 000 requests a second, minute after minute.
const PER_GENERATION: usize = 1 << 18;

/// The nonces of every assertion that may still be alive.
///
/// Two generations, each a lifetime long: the older one is forgotten as a whole once all it holds has expired.
#[derive(Debug)]
pub struct Nonces {
    shards: [Mutex<Generations>; SHARDS],
    per_generation: usize,
}

#[derive(Debug, Default)]
struct Generations {
    began_at: i64,
    current: Spent,
    previous: Spent,
}

type Spent = HashSet<u64, BuildHasherDefault<AsIs>>;

impl Default for Nonces {
    fn default() -> Self {
        Self::holding(PER_GENERATION)
    }
}

impl Nonces {
    fn holding(per_generation: usize) -> Self {
        Nonces { shards: Default::default(), per_generation }
    }

    /// Marks `nonce` (32 hex characters, as a verified assertion has it) as used.
    pub fn spend(&self, nonce: &str, now_seconds: i64) -> Result<(), Refusal> {
        // 64 of its 128 random bits: enough to tell some millions of them apart.
        let id = nonce
            .get(..16)
            .and_then(|half| u64::from_str_radix(half, 16).ok())
            .ok_or(Refusal::Assertion(AssertionError::Malformed))?;
        // The top bits choose the shard, so that the low ones still spread over its buckets.
        let shard = &self.shards[(id >> 60) as usize % SHARDS];
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let age = now_seconds.saturating_sub(shard.began_at);
        if age >= LIFETIME_SECONDS {
            let last = std::mem::take(&mut shard.current);
            shard.previous = if age < 2 * LIFETIME_SECONDS { last } else { Spent::default() };
            shard.began_at = now_seconds;
        }
        if shard.current.len() >= self.per_generation && !shard.current.contains(&id) {
            return Err(Refusal::Full);
        }
        match shard.previous.contains(&id) || !shard.current.insert(id) {
            true => Err(Refusal::Replayed),
            false => Ok(()),
        }
    }
}

/// Nonces are random, and only the edge can make one that gets here: they are their own hash.
#[derive(Debug, Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nonce(number: u64) -> String {
        format!("{number:016x}{number:016x}")
    }

    #[test]
    fn a_nonce_is_good_once_for_as_long_as_its_assertion_can_live() {
        let nonces = Nonces::default();
        for start in [1_000_000, 1_000_059] {
            assert_eq!(nonces.spend(&nonce(start as u64), start), Ok(()));
            for later in [start, start + 1, start + 59, start + 60] {
                assert_eq!(nonces.spend(&nonce(start as u64), later), Err(Refusal::Replayed), "{later}");
            }
        }
    }

    #[test]
    fn what_has_expired_is_forgotten() {
        let nonces = Nonces::holding(2);
        // Small numbers: all in one shard.
        assert_eq!(nonces.spend(&nonce(1), 100), Ok(()));
        assert_eq!(nonces.spend(&nonce(2), 100), Ok(()));
        assert_eq!(nonces.spend(&nonce(3), 101), Err(Refusal::Full));
        assert_eq!(nonces.spend(&nonce(3), 160), Ok(()));
        assert_eq!(nonces.spend(&nonce(1), 400), Ok(()));
    }
}
