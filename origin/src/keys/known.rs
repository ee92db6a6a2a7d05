//! Which key is it, or which index token: by the digest, and for a row that has none yet by its text.

use super::bcrypt_rows::{Busy, CANDIDATES, Prover};
use crate::store::keys::{self as table, Candidates};
use crate::store::{Db, StoreError, index_tokens};
use rds_shared::access::KeyDigest;
use rds_shared::access::credential::CredentialText;
use rds_shared::access::link::KeyAnswer;

/// Why it could not be found out.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// The store's.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Too many older keys are being proved already.
    #[error("too many older keys are being proved")]
    Busy,
}

impl From<Busy> for LookupError {
    fn from(_: Busy) -> Self {
        LookupError::Busy
    }
}

/// What is known of the key with this digest, whose text begins with `shown`. `text` is needed only where the answer asks for it.
pub async fn look_up(
    db: &Db,
    prover: &Prover,
    digest: &KeyDigest,
    shown: &str,
    text: Option<CredentialText<'_>>,
) -> Result<KeyAnswer, LookupError> {
    let unproved = match table::candidates(db, digest, shown, CANDIDATES).await? {
        Candidates::Key(record) => return Ok(KeyAnswer::Known { record }),
        Candidates::Unproved(rows) if rows.is_empty() => {
            let token = index_tokens::find(db, digest).await?;
            return Ok(token.map_or(KeyAnswer::Unknown, |record| KeyAnswer::Known { record }));
        }
        Candidates::Unproved(rows) => rows,
    };
    let Some(text) = text else { return Ok(KeyAnswer::TextNeeded) };
    // A task of its own: whoever asked may give up before a slow hash is computed, and the proof is worth keeping all the same.
    let (db, proof, digest) = (db.clone(), prover.begin(text.expose(), unproved)?, *digest);
    let proving = tokio::spawn(async move {
        let Some(proved) = proof.await? else { return Ok(KeyAnswer::Unknown) };
        tracing::info!(key = proved, "an older key was proved and gets its digest");
        let record = match table::give_digest(&db, proved, &digest).await? {
            Some(record) => Some(record),
            // Somebody else proved it at the same time.
            None => table::find(&db, &digest).await?,
        };
        Ok(record.map_or(KeyAnswer::Unknown, |record| KeyAnswer::Known { record }))
    });
    proving.await.unwrap_or(Err(LookupError::Busy))
}
