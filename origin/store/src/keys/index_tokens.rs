//! Index tokens: credentials for the index and rate routes only.

use crate::decode::Nullable;
use crate::keys::Revocation;
use crate::{At, Db, StoreError};
use rds_shared::access::link::KeyUpdate;
use rds_shared::access::{KeyDigest, KeyRecord};
use rds_shared::wire::Timestamp;
use serde::Serialize;
use sqlx::FromRow;

/// An index token as the CLI lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, FromRow)]
pub struct TokenRow {
    pub id: i64,
    /// First characters of the token.
    pub prefix: String,
    /// Name of the organisation that holds the token.
    pub org: String,
    #[sqlx(try_from = "At")]
    pub created_at: Timestamp,
    #[sqlx(try_from = "Nullable<At>")]
    pub revoked_at: Option<Timestamp>,
    /// False once revoked, which is permanent.
    pub is_active: bool,
}

/// Adds a token; returns its id.
pub async fn insert(db: &Db, org: &str, prefix: &str, digest: &KeyDigest, now: Timestamp) -> Result<i64, StoreError> {
    let sql = "
        -- insert_token
        INSERT INTO index_token (org, prefix, digest, created_at) VALUES ($1, $2, $3, $4) RETURNING id";
    let created_at = At(now);
    let query = sqlx::query_scalar(sql).bind(org).bind(prefix).bind(digest.as_bytes().as_slice()).bind(created_at);
    Ok(query.fetch_one(&db.pool).await?)
}

/// Revokes an active token. The result distinguishes tokens revoked before from unknown ones.
pub async fn revoke(db: &Db, id: i64, now: Timestamp) -> Result<Revocation, StoreError> {
    let sql = "
        -- revoke_token
        WITH hit AS (UPDATE index_token SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL RETURNING id)
        SELECT EXISTS (SELECT FROM hit), EXISTS (SELECT FROM index_token WHERE id = $1)";
    let (hit, known): (bool, bool) = sqlx::query_as(sql).bind(id).bind(At(now)).fetch_one(&db.pool).await?;
    Ok(Revocation::of(hit, known))
}

/// The token with this digest, active or revoked.
pub async fn find(db: &Db, digest: &KeyDigest) -> Result<Option<KeyRecord>, StoreError> {
    let sql = "
        -- find_token
        SELECT id, revoked_at IS NULL FROM index_token WHERE digest = $1";
    let found: Option<(i64, bool)> =
        sqlx::query_as(sql).bind(digest.as_bytes().as_slice()).fetch_optional(&db.pool).await?;
    Ok(found.map(|(id, is_live)| KeyRecord::of_index_token(id, is_live)))
}

/// A token's state as sent to the edge.
pub async fn by_id(db: &Db, id: i64) -> Result<Option<KeyUpdate>, StoreError> {
    let sql = "
        -- token_update
        SELECT digest, revoked_at IS NULL FROM index_token WHERE id = $1";
    let found: Option<([u8; 32], bool)> = sqlx::query_as(sql).bind(id).fetch_optional(&db.pool).await?;
    Ok(found.map(|(digest, is_live)| KeyUpdate {
        digest: KeyDigest::from_bytes(digest),
        record: KeyRecord::of_index_token(id, is_live),
    }))
}

/// Every token, oldest first.
pub async fn all(db: &Db) -> Result<Vec<TokenRow>, StoreError> {
    let sql = "
        -- tokens
        SELECT id, prefix, org, created_at, revoked_at, revoked_at IS NULL AS is_active FROM index_token ORDER BY id";
    Ok(sqlx::query_as(sql).fetch_all(&db.pool).await?)
}
