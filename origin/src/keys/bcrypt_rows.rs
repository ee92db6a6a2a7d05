//! Older keys, of which only a bcrypt hash is stored: their text is verified against that hash, once per key.
//!
//! A verification takes some tenths of a second of processor time, and anyone who knows a key's first characters can cause one. So
//! only a few run at once, off the threads that answer requests, and only a few wait.

use bcrypt::HashParts;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio::sync::Semaphore;

/// Maximum running verifications.
const MAX_RUNNING: usize = 2;
/// Maximum verifications running or waiting; further ones are refused.
const MAX_PENDING: usize = 16;
/// Maximum rows that are tried for one text. Among a hundred thousand older keys, about two have the same first characters.
pub const MAX_CANDIDATES: u32 = 32;
/// Maximum bcrypt cost that is computed. This cost takes some seconds; each increment doubles the time.
const MAX_COST: u32 = 14;

/// `MAX_PENDING` verifications are already running or waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

/// Verifies legacy keys against their bcrypt hashes: at most `MAX_RUNNING` at once, and at most `MAX_PENDING` running
/// or waiting.
#[derive(Debug)]
pub struct LegacyKeyVerifier {
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    /// Number of requested verifications, including refused ones.
    pub asked: AtomicU64,
}

impl Default for LegacyKeyVerifier {
    fn default() -> Self {
        LegacyKeyVerifier {
            running: Arc::new(Semaphore::new(MAX_RUNNING)),
            waiting: Arc::new(Semaphore::new(MAX_PENDING)),
            asked: AtomicU64::default(),
        }
    }
}

impl LegacyKeyVerifier {
    /// Starts a verification. The future returns the id of the candidate whose hash matches `text`; candidates are ids and bcrypt hashes.
    /// The call itself takes a place among the pending verifications, before the future is polled.
    pub fn begin(
        &self,
        text: &str,
        candidates: Vec<(i64, String)>,
    ) -> Result<impl Future<Output = Result<Option<i64>, Busy>> + use<>, Busy> {
        self.asked.fetch_add(1, Relaxed);
        let waiting = self.waiting.clone().try_acquire_owned().map_err(|_| Busy)?;
        let (running, text) = (self.running.clone(), text.to_owned());
        Ok(async move {
            let running = running.acquire_owned().await.map_err(|_| Busy)?;
            // The blocking task owns the permits, so they are not freed while a verification runs whose caller has given up.
            let proof = tokio::task::spawn_blocking(move || {
                let _permits = (waiting, running);
                candidates.into_iter().find(|(id, hash)| is_match(*id, hash, &text)).map(|(id, _)| id)
            });
            proof.await.map_err(|_| Busy)
        })
    }
}

fn is_match(id: i64, hash: &str, text: &str) -> bool {
    let computable = HashParts::from_str(hash).is_ok_and(|parts| parts.get_cost() <= MAX_COST);
    if !computable {
        tracing::warn!(key = id, "the bcrypt hash of a key cannot be computed; the key has to be replaced");
    }
    computable && bcrypt::verify(text, hash).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "pk_live_0123456789abcdef0123456789abcdef";

    fn hash(text: &str, cost: u32) -> String {
        bcrypt::hash(text, cost).unwrap()
    }

    #[tokio::test]
    async fn the_candidate_with_the_matching_hash_is_found() {
        let rows = vec![(1, "rubbish".to_owned()), (2, hash("another", 4)), (3, hash(KEY, 4))];
        let prover = LegacyKeyVerifier::default();
        assert_eq!(prover.begin(KEY, rows.clone()).unwrap().await, Ok(Some(3)));
        assert_eq!(prover.begin("pk_live_0123", rows).unwrap().await, Ok(None));
    }

    #[tokio::test]
    async fn a_hash_of_excessive_cost_is_not_computed() {
        let costly = hash(KEY, 4).replacen("$04$", "$31$", 1);
        assert_eq!(LegacyKeyVerifier::default().begin(KEY, vec![(1, costly)]).unwrap().await, Ok(None));
    }

    #[test]
    fn verifications_beyond_the_bound_are_refused_and_not_queued() {
        let prover = LegacyKeyVerifier { waiting: Arc::new(Semaphore::new(0)), ..LegacyKeyVerifier::default() };
        assert!(prover.begin(KEY, Vec::new()).is_err());
    }
}
