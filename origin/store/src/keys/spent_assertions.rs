//! Nonces of edge assertions on requests that change something. Each nonce is valid once across all processes.

use crate::{Db, StoreError};

/// Spends `nonce`; `false` if it was spent before. Committed on return.
pub async fn spend(db: &Db, nonce: [u8; 16]) -> Result<bool, StoreError> {
    let sql = "
        -- spend_assertion
        INSERT INTO spent_assertion (nonce) VALUES ($1) ON CONFLICT (nonce) DO NOTHING";
    Ok(sqlx::query(sql).bind(nonce.as_slice()).execute(&db.pool).await?.rows_affected() == 1)
}

/// Deletes up to `limit` nonces that were spent more than `seconds` ago by the database's clock; returns their number.
pub async fn forget(db: &Db, seconds: f64, limit: i64) -> Result<u64, StoreError> {
    let sql = "
        -- forget_assertions
        DELETE FROM spent_assertion WHERE nonce IN (
            SELECT nonce FROM spent_assertion WHERE spent_at < clock_timestamp() - make_interval(secs => $1)
            ORDER BY spent_at LIMIT $2 FOR UPDATE SKIP LOCKED)";
    Ok(sqlx::query(sql).bind(seconds).bind(limit).execute(&db.pool).await?.rows_affected())
}
