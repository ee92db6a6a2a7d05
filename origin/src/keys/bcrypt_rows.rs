//! Keys that are older than the digests: only their text, against a slow hash, proves them. Done once a key.
//!
//! A proof costs a core some tenths of a second, and a stranger who knows a key's first characters can ask for one. So few
//! run at a time, off the threads that answer requests, and few wait.

use bcrypt::HashParts;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio::sync::Semaphore;

/// Proofs under way at a time.
const RUNNING: usize = 2;
/// Proofs under way or waiting; one more is refused for now.
const WAITING: usize = 16;
/// Rows that may begin with the same characters: a hundred thousand old keys would share them by twos.
pub const CANDIDATES: u32 = 32;
/// Greatest cost of a hash that is still computed: some seconds. Every step more doubles them.
const GREATEST_COST: u32 = 14;

/// Too many proofs wait already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

/// Proves texts, within bounds.
#[derive(Debug)]
pub struct Prover {
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    /// Proofs asked for.
    pub asked: AtomicU64,
}

impl Default for Prover {
    fn default() -> Self {
        Prover {
            running: Arc::new(Semaphore::new(RUNNING)),
            waiting: Arc::new(Semaphore::new(WAITING)),
            asked: AtomicU64::default(),
        }
    }
}

impl Prover {
    /// The number of the candidate whose hash is of `text`, once it is awaited. Candidates are number and bcrypt hash. The
    /// place among those who wait is taken at once.
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
            // The permits go along: a caller who gives up does not make room while the core is still at work.
            let proof = tokio::task::spawn_blocking(move || {
                let _permits = (waiting, running);
                candidates.into_iter().find(|(id, hash)| holds(*id, hash, &text)).map(|(id, _)| id)
            });
            proof.await.map_err(|_| Busy)
        })
    }
}

fn holds(id: i64, hash: &str, text: &str) -> bool {
    let computable = HashParts::from_str(hash).is_ok_and(|parts| parts.get_cost() <= GREATEST_COST);
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
    async fn the_candidate_whose_hash_it_is_is_found_among_others() {
        let rows = vec![(1, "rubbish".to_owned()), (2, hash("another", 4)), (3, hash(KEY, 4))];
        let prover = Prover::default();
        assert_eq!(prover.begin(KEY, rows.clone()).unwrap().await, Ok(Some(3)));
        assert_eq!(prover.begin("pk_live_0123", rows).unwrap().await, Ok(None));
    }

    #[tokio::test]
    async fn a_hash_that_would_take_hours_is_not_begun() {
        let costly = hash(KEY, 4).replacen("$04$", "$31$", 1);
        assert_eq!(Prover::default().begin(KEY, vec![(1, costly)]).unwrap().await, Ok(None));
    }

    #[test]
    fn proofs_beyond_the_bound_are_refused_and_not_queued() {
        let prover = Prover { waiting: Arc::new(Semaphore::new(0)), ..Prover::default() };
        assert!(prover.begin(KEY, Vec::new()).is_err());
    }
}
