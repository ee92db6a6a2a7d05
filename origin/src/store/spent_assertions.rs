//! Nonces of edge assertions on requests that change something. Each nonce is valid once across all processes.

use super::{Db, StoreError};

/// Spends `nonce`; `false` if it was spent before. Committed on return.
pub async fn spend(db: &Db, nonce: [u8; 16]) -> Result<bool, StoreError> {
    let sql = "
        -- spend_assertion
        insert into spent_assertion (nonce) values ($1) on conflict (nonce) do nothing";
    Ok(sqlx::query(sql).bind(nonce.as_slice()).execute(&db.pool).await?.rows_affected() == 1)
}

/// Deletes up to `limit` nonces that were spent more than `seconds` ago by the database's clock; returns their number.
pub async fn forget(db: &Db, seconds: f64, limit: i64) -> Result<u64, StoreError> {
    let sql = "
        -- forget_assertions
        delete from spent_assertion where nonce in (
            select nonce from spent_assertion where spent_at < clock_timestamp() - make_interval(secs => $1)
            order by spent_at limit $2 for update skip locked)";
    Ok(sqlx::query(sql).bind(seconds).bind(limit).execute(&db.pool).await?.rows_affected())
}
