//! API keys and index tokens: how operators mint, revoke, align and list them, and how they are looked up for requests.
//!
//! | module | content |
//! |---|---|
//! | [`known`] | look-up by digest or text |
//! | [`bcrypt_rows`] | verification of older keys, of which only a bcrypt hash is stored |
//! | [`usage`] | usage counted by the edge, applied once |
//!
//! Every change of a key queues the key for the edge in the same transaction.
//!
//! # Invariants
//!
//! - A change of a key and its outbox row are one transaction. Records carry a version and none replaces a newer one; the database
//!   refuses to reactivate a revoked key (`tests/it/keys/messages.rs`).
//! - A usage batch is counted once: its source numbers it, and the number is stored with the counts.

pub mod bcrypt_rows;
pub mod known;
pub mod usage;

pub use rds_store::keys::index_tokens::TokenRow;
pub use rds_store::keys::{CreateKey, KeyRow, Revocation};

use crate::webhooks::subscriptions;
use rds_engine::clock::Clock;
use rds_engine::entropy;
use rds_shared::access::credential::{CredentialText, Kind};
use rds_shared::access::link::KeyUpdate;
use rds_shared::access::{KeyDigest, Plan};
use rds_shared::wire::hex;
use rds_store::keys::{edge_outbox, index_tokens};
use rds_store::{Db, StoreError, keys as table};
use serde::Serialize;

/// A new credential. Its text is never shown again.
#[derive(Serialize)]
pub struct Minted {
    /// The id, for `revoke`.
    pub id: i64,
    /// The text of the credential.
    pub key: String,
}

/// The result of an alignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alignment {
    /// The organisation's live keys.
    pub keys: Vec<i64>,
    /// The keys whose plan was changed.
    pub changed: Vec<i64>,
}

/// A new random credential: text, shown characters, digest.
fn fresh(kind: Kind) -> (String, String, KeyDigest) {
    let text = format!("{}{}", kind.prefix(), hex(&entropy::random_bytes::<16>()));
    let shown = CredentialText::parse(kind, &text).map(|text| text.shown().to_owned()).unwrap_or_default();
    let digest = KeyDigest::of(&text);
    (text, shown, digest)
}

/// Mints an API key. The first key of an organisation also creates the organisation.
pub async fn mint(db: &Db, clock: &Clock, request: &CreateKey) -> Result<Minted, StoreError> {
    let (key, shown, digest) = fresh(Kind::ApiKey);
    let now = clock.now();
    let id = db
        .run_tx("mint_key", |tx| {
            let (request, shown) = (request.clone(), shown.clone());
            Box::pin(async move {
                let id = table::insert(tx, &request, &shown, &digest, now).await?;
                edge_outbox::queue(tx, &[id]).await?;
                Ok::<_, StoreError>(id)
            })
        })
        .await?;
    Ok(Minted { id, key })
}

/// Revokes an API key permanently. The edge is notified by the first process that empties the outbox.
pub async fn revoke(db: &Db, clock: &Clock, id: i64) -> Result<Revocation, StoreError> {
    let now = clock.now();
    db.run_tx("revoke_key", |tx| {
        Box::pin(async move {
            // The key's webhook subscriptions are disabled in the same transaction.
            let hit = table::revoke(tx, id, now).await?;
            if hit {
                subscriptions::key_revoked(tx, id, now).await?;
                edge_outbox::queue(tx, &[id]).await?;
            }
            Ok::<_, StoreError>(Revocation::of(hit, table::exists(tx, id).await?))
        })
    })
    .await
}

/// Tier alignment: puts an organisation and its live keys on `plan`. Limits contracted for a single key stay. `None` if there is no
/// such organisation.
pub async fn align(db: &Db, org: &str, plan: Plan) -> Result<Option<Alignment>, StoreError> {
    let changed = db
        .run_tx("align_keys", |tx| {
            let org = org.to_owned();
            Box::pin(async move {
                let changed = table::align(tx, &org, plan).await?;
                edge_outbox::queue(tx, changed.as_deref().unwrap_or_default()).await?;
                Ok::<_, StoreError>(changed)
            })
        })
        .await?;
    let Some(changed) = changed else { return Ok(None) };
    let keys = table::of_org(db, org).await?.unwrap_or_default();
    Ok(Some(Alignment { keys, changed }))
}

/// Every API key, revoked ones too, oldest first.
pub async fn list(db: &Db) -> Result<Vec<KeyRow>, StoreError> {
    table::all(db).await
}

/// Mints an index token.
pub async fn mint_token(db: &Db, clock: &Clock, org: &str) -> Result<Minted, StoreError> {
    let (key, shown, digest) = fresh(Kind::IndexToken);
    let id = index_tokens::insert(db, org, &shown, &digest, clock.now()).await?;
    Ok(Minted { id, key })
}

/// Revokes an index token permanently.
pub async fn revoke_token(db: &Db, clock: &Clock, id: i64) -> Result<Revocation, StoreError> {
    index_tokens::revoke(db, id, clock.now()).await
}

/// The message to the edge about an index token; `None` if there is no such token.
pub async fn token_update(db: &Db, id: i64) -> Result<Option<KeyUpdate>, StoreError> {
    index_tokens::by_id(db, id).await
}

/// Every index token, revoked ones too, oldest first.
pub async fn list_tokens(db: &Db) -> Result<Vec<TokenRow>, StoreError> {
    index_tokens::all(db).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_credential_has_the_documented_form() {
        for kind in [Kind::ApiKey, Kind::IndexToken] {
            let (text, shown, digest) = fresh(kind);
            let read = CredentialText::parse(kind, &text).unwrap();
            assert_eq!((read.digest(), read.shown()), (digest, shown.as_str()));
            assert_ne!(fresh(kind).0, text);
        }
    }
}
