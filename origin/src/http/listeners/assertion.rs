//! Edge assertions: reasons of refusal, the principal of a request, and replay protection by nonces.

use crate::http::exchange::answer::Failure;
use crate::metrics::Metrics;
use rds_shared::access::assertion::MAX_SKEW_SECONDS;
use rds_shared::access::link;
use rds_shared::access::{AssertionError, Principal};
use rds_shared::wire::{ApiError, ErrorCode};
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

/// Why a request on the edge listener is refused. The reason is only logged; callers do not see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// A required header is missing, repeated or not text.
    Missing,
    /// The assertion is invalid.
    Assertion(AssertionError),
    /// The principal header names no known kind of caller.
    Principal,
    /// The nonce was used before.
    Replayed,
    /// The memory for nonces is full. The request is refused, because it could be replayed if its nonce is not stored.
    Full,
}

/// Who makes a request on the edge listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestOrigin {
    /// A caller that the edge has authenticated.
    Caller(Principal),
    /// The edge itself.
    Edge,
}

impl RequestOrigin {
    /// Reads the principal of a request.
    pub fn read(principal: &str) -> Option<Self> {
        match principal {
            link::EDGE => Some(RequestOrigin::Edge),
            caller => Principal::from_json(caller).map(RequestOrigin::Caller),
        }
    }
}

/// Maximum time for which this process accepts an assertion, in seconds: the edge's clock may be up to the clock skew behind this one or
/// ahead of it.
const LIFETIME_SECONDS: i64 = 2 * MAX_SKEW_SECONDS;
/// Shards with a lock each, so that requests on different threads seldom contend.
const SHARDS: usize = 16;
/// Maximum nonces per shard and generation: enough for 70 000 requests a second.
const PER_GENERATION: usize = 1 << 18;

/// The nonces of all assertions that may still be valid.
///
/// There are two generations of one lifetime each; the older one is dropped once all its nonces have expired.
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

type Spent = HashSet<u64, BuildHasherDefault<IdentityHasher>>;

impl Default for Nonces {
    fn default() -> Self {
        Self::with_capacity(PER_GENERATION)
    }
}

impl Nonces {
    fn with_capacity(per_generation: usize) -> Self {
        Nonces { shards: Default::default(), per_generation }
    }

    /// Marks `nonce` (32 hex characters of a verified assertion) as used; refuses it if it was used before.
    pub fn spend(&self, nonce: &str, now_seconds: i64) -> Result<(), Refusal> {
        // 64 of the nonce's 128 random bits are enough to distinguish a few million nonces.
        let id = nonce
            .get(..16)
            .and_then(|half| u64::from_str_radix(half, 16).ok())
            .ok_or(Refusal::Assertion(AssertionError::Malformed))?;
        // The top bits choose the shard, so that the low bits still spread over the buckets of the shard's hash set.
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

/// Uses a nonce as its own hash: nonces are random, and only nonces of verified requests are stored.
#[derive(Debug, Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
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

/// The response to a refused request: 401 without the reason, which only the log contains; 503 if no more nonces can be stored.
pub(in crate::http) fn refusal_of(metrics: &Metrics, refusal: Refusal) -> Failure {
    metrics.assertions_refused.fetch_add(1, Relaxed);
    tracing::debug!(?refusal, "an assertion was refused");
    match refusal {
        Refusal::Full => ErrorCode::ServiceUnavailable.into(),
        _ => ApiError::new(ErrorCode::Unauthorized, "only the edge may call this listener").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nonce(number: u64) -> String {
        format!("{number:016x}{number:016x}")
    }

    #[test]
    fn a_nonce_is_accepted_once_while_its_assertion_may_be_valid() {
        let nonces = Nonces::default();
        for start in [1_000_000, 1_000_059] {
            assert_eq!(nonces.spend(&nonce(start as u64), start), Ok(()));
            for later in [start, start + 1, start + 59, start + 60] {
                assert_eq!(nonces.spend(&nonce(start as u64), later), Err(Refusal::Replayed), "{later}");
            }
        }
    }

    #[test]
    fn expired_nonces_make_room() {
        let nonces = Nonces::with_capacity(2);
        // Small numbers: all in one shard.
        assert_eq!(nonces.spend(&nonce(1), 100), Ok(()));
        assert_eq!(nonces.spend(&nonce(2), 100), Ok(()));
        assert_eq!(nonces.spend(&nonce(3), 101), Err(Refusal::Full));
        assert_eq!(nonces.spend(&nonce(3), 160), Ok(()));
        assert_eq!(nonces.spend(&nonce(1), 400), Ok(()));
    }
}
