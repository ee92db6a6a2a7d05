//! Key look-ups of the relay listener. Each look-up costs database time, and any caller can cause one.
//!
//! A key is never refused because of the caller's address: even after many guesses from an address, the next key from it is looked up, and
//! accepted if it is valid. The cost is bounded by permits instead. Keys that were valid before need no permit. New keys share a few
//! permits, and new keys from addresses that have spent their budget for rejected keys share fewer, in order of arrival. For such
//! addresses, keys of which only a bcrypt hash is stored are verified one at a time.

use crate::keys::bcrypt_rows::LegacyKeyVerifier;
use crate::keys::known::{self, LookupError};
use rds_shared::access::credential::CredentialText;
use rds_shared::access::link::KeyLookupResult;
use rds_shared::access::{KeyRecord, Spray};
use rds_store::Db;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// Maximum concurrent look-ups of new keys.
const PERMITS: usize = 8;
/// Maximum concurrent look-ups of new keys from addresses that have spent their budget for rejected keys.
const SPENT_PERMITS: usize = 2;

/// Keys seen by this process, and the permits for look-ups.
#[derive(Debug)]
pub struct KeyLookups {
    seen: Mutex<Spray>,
    permits: Semaphore,
    spent_permits: Semaphore,
    spent_proofs: Semaphore,
}

impl Default for KeyLookups {
    fn default() -> Self {
        KeyLookups {
            seen: Mutex::default(),
            permits: Semaphore::new(PERMITS),
            spent_permits: Semaphore::new(SPENT_PERMITS),
            spent_proofs: Semaphore::new(1),
        }
    }
}

impl KeyLookups {
    /// The live key with this text, if there is one. `spent` says whether the caller's address has spent the budget for rejected keys;
    /// `now` is in milliseconds.
    pub async fn key(
        &self,
        (db, prover): (&Db, &LegacyKeyVerifier),
        text: CredentialText<'_>,
        spent: bool,
        now: i64,
    ) -> Result<Option<KeyRecord>, LookupError> {
        let digest = text.digest();
        if self.seen().refuses(&digest, now) {
            return Ok(None);
        }
        let is_known = self.seen().knows(&digest);
        let permits = if spent { &self.spent_permits } else { &self.permits };
        let _permit = if is_known { None } else { Some(permits.acquire().await.map_err(|_| LookupError::Busy)?) };
        let provable = Some(text).filter(|_| !spent);
        let mut answer = known::look_up(db, prover, &digest, text.shown(), provable).await?;
        if answer == KeyLookupResult::TextNeeded {
            let _proof = self.spent_proofs.acquire().await.map_err(|_| LookupError::Busy)?;
            answer = known::look_up(db, prover, &digest, text.shown(), Some(text)).await?;
        }
        match answer {
            KeyLookupResult::Known { record } if record.active => {
                self.seen().good(digest);
                Ok(Some(record))
            }
            KeyLookupResult::Known { .. } | KeyLookupResult::Unknown | KeyLookupResult::TextNeeded => {
                self.seen().rejected(&digest, now);
                Ok(None)
            }
        }
    }

    fn seen(&self) -> MutexGuard<'_, Spray> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
