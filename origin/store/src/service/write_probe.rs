//! A test write that needs new disk space, so it fails when the database's disk is full.

use crate::{Db, StoreError};

/// Key of the advisory lock: one process writes at a time.
const LOCK: i64 = 0x7764_735f_7072_6f62;
/// Minimum size of a write on disk, in bytes.
const FILLER_BYTES: usize = 64 << 10;
/// Seed of the filler, which is random because compressible data would need less space.
type Seed = [u8; 16];

/// Whether a probe write was committed within the last `seconds`, by the database's clock.
pub async fn is_written(db: &Db, seconds: u32) -> Result<bool, StoreError> {
    let sql = "
        -- is_write_probed
        SELECT EXISTS (SELECT FROM write_probe WHERE written_at > clock_timestamp() - make_interval(secs => $1))";
    Ok(sqlx::query_scalar(sql).bind(f64::from(seconds)).fetch_one(&db.pool).await?)
}

/// Writes the probe. `false` if another process is writing at this moment.
pub async fn write(db: &Db, seed: Seed) -> Result<bool, StoreError> {
    let mut tx = db.begin("BEGIN").await?;
    sqlx::query("SET LOCAL lock_timeout = '1s'").execute(&mut *tx).await?;
    let is_ours: bool =
        sqlx::query_scalar("SELECT pg_try_advisory_xact_lock($1)").bind(LOCK).fetch_one(&mut *tx).await?;
    if is_ours {
        sqlx::query("/* clear_write_probe */ TRUNCATE write_probe").execute(&mut *tx).await?;
        let sql = "
            -- write_probe
            INSERT INTO write_probe (written_at, filler) VALUES (clock_timestamp(), $1)";
        sqlx::query(sql).bind(filler(seed)).execute(&mut *tx).await?;
        tx.commit().await?;
    }
    Ok(is_ours)
}

/// Incompressible bytes: xorshift from a seed.
fn filler(seed: Seed) -> Vec<u8> {
    let mut state = u128::from_le_bytes(seed) | 1;
    let step = |_| {
        state ^= state << 29;
        state ^= state >> 51;
        state ^= state << 7;
        state.to_le_bytes()
    };
    (0..FILLER_BYTES / 16).flat_map(step).collect()
}
