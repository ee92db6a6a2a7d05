//! API keys and index tokens.

use super::{At, Db, StoreError};
use crate::keys::format::Kind;
use crate::keys::{KeyRow, KeyWish, Revocation, TokenRow};
use rds_shared::wire::Timestamp;
use sqlx::Row;
use sqlx::postgres::PgRow;

/// Adds an API key, and its organisation when this is its first. Answers with the key's number.
pub async fn insert_key(
    db: &Db,
    wish: &KeyWish,
    prefix: &str,
    digest: &[u8; 32],
    now: Timestamp,
) -> Result<i64, StoreError> {
    let sql = "
        -- insert_key
        with org as (
            -- The update changes nothing: it makes an existing row come back.
            insert into organisation (name, created_at) values ($1, $7)
            on conflict (name) do update set name = excluded.name
            returning id
        )
        insert into api_key (org_id, prefix, digest, plan, rpm, is_shared, created_at)
        select id, $2, $3, $4, $5, $6, $7 from org
        returning id";
    let id = sqlx::query_scalar(sql)
        .bind(&wish.org)
        .bind(prefix)
        .bind(digest.as_slice())
        .bind(wish.plan.as_str())
        .bind(wish.rpm.and_then(|rpm| i32::try_from(rpm).ok()))
        .bind(wish.shared)
        .bind(At(now))
        .fetch_one(&db.pool)
        .await?;
    Ok(id)
}

/// Adds an index token. Answers with its number.
pub async fn insert_token(
    db: &Db,
    name: &str,
    prefix: &str,
    digest: &[u8; 32],
    now: Timestamp,
) -> Result<i64, StoreError> {
    let sql = "
        -- insert_token
        insert into index_token (name, prefix, digest, created_at) values ($1, $2, $3, $4) returning id";
    Ok(sqlx::query_scalar(sql)
        .bind(name)
        .bind(prefix)
        .bind(digest.as_slice())
        .bind(At(now))
        .fetch_one(&db.pool)
        .await?)
}

/// Revokes a credential that is active; tells apart one that was revoked before and one that never was.
pub async fn revoke(db: &Db, kind: Kind, id: i64, now: Timestamp) -> Result<Revocation, StoreError> {
    let sql = match kind {
        Kind::ApiKey => {
            "
            -- revoke_key
            with hit as (update api_key set revoked_at = $2 where id = $1 and revoked_at is null returning id)
            select exists (select from hit), exists (select from api_key where id = $1)"
        }
        Kind::IndexToken => {
            "
            -- revoke_token
            with hit as (update index_token set revoked_at = $2 where id = $1 and revoked_at is null returning id)
            select exists (select from hit), exists (select from index_token where id = $1)"
        }
    };
    let (hit, known): (bool, bool) = sqlx::query_as(sql).bind(id).bind(At(now)).fetch_one(&db.pool).await?;
    Ok(match (hit, known) {
        (true, _) => Revocation::Revoked,
        (false, true) => Revocation::Already,
        (false, false) => Revocation::Unknown,
    })
}

/// Every API key, oldest first.
pub async fn keys(db: &Db) -> Result<Vec<KeyRow>, StoreError> {
    let sql = "
        -- keys
        select k.id, k.prefix, o.name, k.plan, k.rpm, k.is_shared, k.created_at, k.revoked_at
        from api_key k join organisation o on o.id = k.org_id
        order by k.id";
    let rows = sqlx::query(sql).try_map(|row: PgRow| {
        let revoked_at = row.try_get::<Option<At>, _>(7)?.map(Timestamp::from);
        Ok(KeyRow {
            id: row.try_get(0)?,
            prefix: row.try_get(1)?,
            org: row.try_get(2)?,
            plan: row.try_get(3)?,
            rpm: row.try_get(4)?,
            shared: row.try_get(5)?,
            created_at: row.try_get::<At, _>(6)?.into(),
            revoked_at,
            is_active: revoked_at.is_none(),
        })
    });
    Ok(rows.fetch_all(&db.pool).await?)
}

/// Every index token, oldest first.
pub async fn tokens(db: &Db) -> Result<Vec<TokenRow>, StoreError> {
    let sql = "
        -- tokens
        select id, prefix, name, created_at, revoked_at from index_token order by id";
    let rows = sqlx::query(sql).try_map(|row: PgRow| {
        let revoked_at = row.try_get::<Option<At>, _>(4)?.map(Timestamp::from);
        Ok(TokenRow {
            id: row.try_get(0)?,
            prefix: row.try_get(1)?,
            name: row.try_get(2)?,
            created_at: row.try_get::<At, _>(3)?.into(),
            revoked_at,
            is_active: revoked_at.is_none(),
        })
    });
    Ok(rows.fetch_all(&db.pool).await?)
}
