//! The outbox of key changes that the edge has not acknowledged.

use crate::keys::{RECORD, RecordRow};
use crate::{Db, StoreError, Tx};
use rds_shared::access::link::KeyUpdate;
use rds_shared::access::{KeyDigest, KeyRecord};
use sqlx::FromRow;
use std::time::Duration;

/// The notification channel for new rows. A lost notification only delays a reader, because polling finds every row.
pub const CHANNEL: &str = "edge_outbox";

/// Queues the current state of these keys for immediate sending. Keys without a digest are skipped, because the edge has never seen them.
pub async fn queue(tx: &mut Tx<'_>, keys: &[i64]) -> Result<(), StoreError> {
    let sql = "
        -- queue_for_edge
        INSERT INTO edge_outbox (key_id, version, not_before)
        SELECT id, version, to_timestamp(0) FROM api_key WHERE id = ANY($1) AND digest IS NOT NULL
        ON CONFLICT (key_id) DO UPDATE SET version = excluded.version, not_before = excluded.not_before";
    if sqlx::query(sql).bind(keys).execute(&mut **tx).await?.rows_affected() > 0 {
        sqlx::query("SELECT pg_notify($1, '')").bind(CHANNEL).execute(&mut **tx).await?;
    }
    Ok(())
}

/// A change that this sender may send until its lease ends.
#[derive(Debug, Clone)]
pub struct Claimed {
    /// The current state of the key.
    pub update: KeyUpdate,
    /// Number of the attempt; the fencing token against a sender whose lease has ended.
    pub attempt: i32,
}

#[derive(FromRow)]
struct ClaimedRow {
    #[sqlx(flatten, try_from = "RecordRow")]
    record: KeyRecord,
    digest: [u8; 32],
    attempts: i32,
}

/// Leases up to `n` due changes for the duration `lease`; with `only`, changes of these keys alone. All times are read from the database's
/// clock, so a process with a wrong clock does not delay other senders.
pub async fn claim(db: &Db, only: Option<&[i64]>, lease: Duration, n: u32) -> Result<Vec<Claimed>, StoreError> {
    let sql = format!(
        "/* claim_for_edge */ WITH due AS ( \
             SELECT key_id FROM edge_outbox \
             WHERE not_before <= clock_timestamp() AND ($1::bigint[] IS NULL OR key_id = ANY($1)) \
             ORDER BY not_before, key_id LIMIT $2 FOR UPDATE SKIP LOCKED) \
         UPDATE edge_outbox o SET not_before = clock_timestamp() + make_interval(secs => $3), attempts = o.attempts + 1 FROM due JOIN api_key k ON k.id = due.key_id \
         WHERE o.key_id = due.key_id RETURNING {RECORD}, k.digest, o.attempts"
    );
    let query = sqlx::query_as(&sql).bind(only).bind(i64::from(n)).bind(lease.as_secs_f64());
    let claimed = |row: ClaimedRow| Claimed {
        update: KeyUpdate { digest: KeyDigest::from_bytes(row.digest), record: row.record },
        attempt: row.attempts,
    };
    Ok(query.fetch_all(&db.pool).await?.into_iter().map(claimed).collect())
}

/// Removes a change that the edge has acknowledged; a newer version stays queued.
pub async fn acknowledged(db: &Db, key: i64, version: i64) -> Result<(), StoreError> {
    let sql = "DELETE FROM edge_outbox WHERE key_id = $1 AND version <= $2";
    sqlx::query(sql).bind(key).bind(version).execute(&db.pool).await?;
    Ok(())
}

/// Schedules the next attempt after `pause`, unless another sender has claimed the change or a newer version is queued.
pub async fn failed(
    db: &Db,
    key: i64,
    version: i64,
    attempt: i32,
    pause: Duration,
    last_error: &str,
) -> Result<(), StoreError> {
    let sql = "
        -- failed_for_edge
        UPDATE edge_outbox SET not_before = clock_timestamp() + make_interval(secs => $4), last_error = $5
        WHERE key_id = $1 AND version <= $2 AND attempts = $3";
    let query = sqlx::query(sql).bind(key).bind(version).bind(attempt).bind(pause.as_secs_f64()).bind(last_error);
    query.execute(&db.pool).await?;
    Ok(())
}

/// Number of pending changes, and the error of one of them; with `only`, changes of these keys alone.
pub async fn waiting(db: &Db, only: Option<&[i64]>) -> Result<(u64, Option<String>), StoreError> {
    let sql = "
        -- waiting_for_edge
        SELECT count(*), max(last_error) FROM edge_outbox WHERE $1::bigint[] IS NULL OR key_id = ANY($1)";
    let (count, why): (i64, Option<String>) = sqlx::query_as(sql).bind(only).fetch_one(&db.pool).await?;
    Ok((count.unsigned_abs(), why))
}

/// Records that a process that sends changes to the edge is running.
pub async fn record_sender_alive(db: &Db) -> Result<(), StoreError> {
    let sql = "
        -- record_sender_alive
        INSERT INTO edge_teller (seen_at) VALUES (clock_timestamp())
        ON CONFLICT (single) DO UPDATE SET seen_at = greatest(edge_teller.seen_at, excluded.seen_at)";
    sqlx::query(sql).execute(&db.pool).await?;
    Ok(())
}

/// Records that an edge has queried a key.
pub async fn record_edge_query(db: &Db) -> Result<(), StoreError> {
    let sql = "
        -- record_edge_query
        INSERT INTO edge_seen (seen_at) VALUES (clock_timestamp())
        ON CONFLICT (single) DO UPDATE SET seen_at = greatest(edge_seen.seen_at, excluded.seen_at)";
    sqlx::query(sql).execute(&db.pool).await?;
    Ok(())
}

/// Whether a process that sends changes to the edge was running within the last `seconds`, by the database's clock.
pub async fn is_sender_alive(db: &Db, seconds: u32) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT FROM edge_teller WHERE seen_at > clock_timestamp() - make_interval(secs => $1))";
    Ok(sqlx::query_scalar(sql).bind(f64::from(seconds)).fetch_one(&db.pool).await?)
}

/// Whether an edge has queried a key within the last `seconds`, by the database's clock.
pub async fn has_edge_queried(db: &Db, seconds: u32) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT FROM edge_seen WHERE seen_at > clock_timestamp() - make_interval(secs => $1))";
    Ok(sqlx::query_scalar(sql).bind(f64::from(seconds)).fetch_one(&db.pool).await?)
}
