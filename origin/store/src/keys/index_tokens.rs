//! Index tokens.

use crate::store::keys::Revocation;
use crate::store::{At, Db, StoreError};
use rds_shared::access::link::KeyUpdate;
use rds_shared::access::{KeyDigest, KeyRecord};
use rds_shared::wire::Timestamp;
use serde::Serialize;
use sqlx::Row;
use sqlx::postgres::PgRow;

/// An index token as the CLI lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenRow {
    pub id: i64,
    /// First characters of the token.
    pub prefix: String,
    /// Organisation of the token.
    pub org: String,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
    /// False once revoked, which is permanent.
    pub is_active: bool,
}

/// Adds a token; returns its id.
pub async fn insert(db: &Db, org: &str, prefix: &str, digest: &KeyDigest, now: Timestamp) -> Result<i64, StoreError> {
    let sql = "
        -- insert_token
        INSERT INTO index_token (org, prefix, digest, created_at) VALUES ($1, $2, $3, $4) RETURNING id";
    let query = sqlx::query_scalar(sql).bind(org).bind(prefix).bind(digest.as_bytes().as_slice()).bind(At(now));
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
        -- token_news
        SELECT digest, revoked_at IS NULL FROM index_token WHERE id = $1";
    let found: Option<(Vec<u8>, bool)> = sqlx::query_as(sql).bind(id).fetch_optional(&db.pool).await?;
    let news = |(digest, is_live): (Vec<u8>, bool)| {
        let digest = <[u8; 32]>::try_from(digest)
            .map_err(|_| StoreError::Corrupt { column: "index_token.digest", text: "not 32 bytes".to_owned() })?;
        Ok(KeyUpdate { digest: KeyDigest::from_bytes(digest), record: KeyRecord::of_index_token(id, is_live) })
    };
    found.map(news).transpose()
}

/// Every token, oldest first.
pub async fn all(db: &Db) -> Result<Vec<TokenRow>, StoreError> {
    let sql = "
        -- tokens
        SELECT id, prefix, org, created_at, revoked_at FROM index_token ORDER BY id";
    let rows = sqlx::query(sql).try_map(|row: PgRow| {
        let revoked_at = row.try_get::<Option<At>, _>(4)?.map(Timestamp::from);
        Ok(TokenRow {
            id: row.try_get(0)?,
            prefix: row.try_get(1)?,
            org: row.try_get(2)?,
            created_at: row.try_get::<At, _>(3)?.into(),
            revoked_at,
            is_active: revoked_at.is_none(),
        })
    });
    Ok(rows.fetch_all(&db.pool).await?)
}
