//! The offset of a service's test clock from real time, and the time of the newest work in the database.

use crate::{At, Db, StoreError};
use rds_shared::wire::Timestamp;

/// Microseconds by which the service's test clock is ahead of real time; `None` without a test clock, or without a schema.
pub async fn shift(db: &Db) -> Result<Option<i64>, StoreError> {
    let is_there: bool = sqlx::query_scalar("SELECT to_regclass('test_clock') IS NOT NULL").fetch_one(&db.pool).await?;
    if !is_there {
        return Ok(None);
    }
    Ok(sqlx::query_scalar("SELECT shift_micros FROM test_clock").fetch_optional(&db.pool).await?)
}

/// Records the offset; `None` records that there is no test clock.
pub async fn note(db: &Db, shift: Option<i64>) -> Result<(), StoreError> {
    match shift {
        Some(micros) => {
            let sql = "INSERT INTO test_clock (shift_micros) VALUES ($1) \
                       ON CONFLICT (only_one) DO UPDATE SET shift_micros = EXCLUDED.shift_micros";
            sqlx::query(sql).bind(micros).execute(&db.pool).await?;
        }
        None => {
            sqlx::query("DELETE FROM test_clock").execute(&db.pool).await?;
        }
    }
    Ok(())
}

/// Time of the latest ingest or score run, by the clock of the process that did it. A clock behind this time was set back.
pub async fn newest_work(db: &Db) -> Result<Option<Timestamp>, StoreError> {
    let sql = "SELECT greatest((SELECT accepted_at FROM ingest_batch ORDER BY version DESC LIMIT 1), \
                               (SELECT completed_at FROM score_run ORDER BY version DESC LIMIT 1))";
    let newest: Option<At> = sqlx::query_scalar(sql).fetch_one(&db.pool).await?;
    Ok(newest.map(|At(instant)| instant))
}
