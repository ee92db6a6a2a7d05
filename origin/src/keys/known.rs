//! Look-up of an API key or index token: by its digest, or by its text if the row has no digest yet.

use super::bcrypt_rows::{Busy, LegacyKeyVerifier, MAX_CANDIDATES};
use rds_shared::access::KeyDigest;
use rds_shared::access::credential::CredentialText;
use rds_shared::access::link::KeyLookupResult;
use rds_store::keys::index_tokens;
use rds_store::keys::{self as table, Candidates};
use rds_store::{Db, StoreError};

/// Why a look-up failed.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// An error of the store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Too many older keys are being verified already.
    #[error("too many older keys are being verified")]
    Busy,
}

impl From<Busy> for LookupError {
    fn from(_: Busy) -> Self {
        LookupError::Busy
    }
}

/// Looks up the key with this digest, whose text begins with `shown`. Without `text`, the answer is [`KeyLookupResult::TextNeeded`] if only
/// the text can show whether the key exists.
pub async fn look_up(
    db: &Db,
    prover: &LegacyKeyVerifier,
    digest: &KeyDigest,
    shown: &str,
    text: Option<CredentialText<'_>>,
) -> Result<KeyLookupResult, LookupError> {
    let unproved = match table::candidates(db, digest, shown, MAX_CANDIDATES).await? {
        Candidates::Key(record) => return Ok(KeyLookupResult::Known { record }),
        Candidates::Unproved(rows) if rows.is_empty() => {
            let token = index_tokens::find(db, digest).await?;
            return Ok(token.map_or(KeyLookupResult::Unknown, |record| KeyLookupResult::Known { record }));
        }
        Candidates::Unproved(rows) => rows,
    };
    let Some(text) = text else { return Ok(KeyLookupResult::TextNeeded) };
    // A separate task, so that the result is stored even if the caller gives up before the slow hash is computed.
    let (db, proof, digest) = (db.clone(), prover.begin(text.expose(), unproved)?, *digest);
    let proving = tokio::spawn(async move {
        let Some(proved) = proof.await? else { return Ok(KeyLookupResult::Unknown) };
        tracing::info!(key = proved, "an older key was verified and its digest stored");
        let record = match table::give_digest(&db, proved, &digest).await? {
            Some(record) => Some(record),
            // Another request verified the key at the same time.
            None => table::find(&db, &digest).await?,
        };
        Ok(record.map_or(KeyLookupResult::Unknown, |record| KeyLookupResult::Known { record }))
    });
    proving.await.unwrap_or(Err(LookupError::Busy))
}
