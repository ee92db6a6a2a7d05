//! Look-ups of keys at the relay's door: each costs the database something, and anybody can ask for one.
//!
//! No key is refused for the address that it comes from: however many keys were guessed from there, the next one is looked up, and
//! passes if it holds. What bounds the cost is places. Keys that held before need none; keys that are new share a few, and those
//! from addresses that have spent what rejected keys cost share fewer, in the order of asking. A slow proof of an older key is given
//! to one such address at a time.

use crate::keys::bcrypt_rows::Prover;
use crate::keys::known::{self, LookupError};
use crate::store::Db;
use rds_shared::access::credential::CredentialText;
use rds_shared::access::link::KeyAnswer;
use rds_shared::access::{KeyRecord, Spray};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// Keys that are new here and are looked up at a time.
const PLACES: usize = 8;
/// The same from addresses that have spent what rejected keys cost.
const SPENT_PLACES: usize = 2;

/// What is known of keys here, and the places.
#[derive(Debug)]
pub struct Lookups {
    seen: Mutex<Spray>,
    places: Semaphore,
    spent_places: Semaphore,
    spent_proofs: Semaphore,
}

impl Default for Lookups {
    fn default() -> Self {
        Lookups {
            seen: Mutex::default(),
            places: Semaphore::new(PLACES),
            spent_places: Semaphore::new(SPENT_PLACES),
            spent_proofs: Semaphore::new(1),
        }
    }
}

impl Lookups {
    /// The live key of this text, if it is one. `spent` says whether its address has spent what rejected keys cost; `now` is in
    /// milliseconds.
    pub async fn key(
        &self,
        (db, prover): (&Db, &Prover),
        text: CredentialText<'_>,
        spent: bool,
        now: i64,
    ) -> Result<Option<KeyRecord>, LookupError> {
        let digest = text.digest();
        if self.seen().refuses(&digest, now) {
            return Ok(None);
        }
        let is_known = self.seen().knows(&digest);
        let places = if spent { &self.spent_places } else { &self.places };
        let _place = if is_known { None } else { Some(places.acquire().await.map_err(|_| LookupError::Busy)?) };
        let provable = Some(text).filter(|_| !spent);
        let mut answer = known::look_up(db, prover, &digest, text.shown(), provable).await?;
        if answer == KeyAnswer::TextNeeded {
            let _proof = self.spent_proofs.acquire().await.map_err(|_| LookupError::Busy)?;
            answer = known::look_up(db, prover, &digest, text.shown(), Some(text)).await?;
        }
        match answer {
            KeyAnswer::Known { record } if record.active => {
                self.seen().good(digest);
                Ok(Some(record))
            }
            KeyAnswer::Known { .. } | KeyAnswer::Unknown | KeyAnswer::TextNeeded => {
                self.seen().rejected(&digest, now);
                Ok(None)
            }
        }
    }

    fn seen(&self) -> MutexGuard<'_, Spray> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
