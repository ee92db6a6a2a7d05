//! Leases of open streams, counted across processes: one row per stream.
//!
//! A stream is admitted under a lock of its key, so two processes never both take the last lease. Every process regularly extends the time
//! for which it counts as alive. The leases of a dead process are deleted when another stream needs them, and after about a minute in any
//! case. A process that recovers reads from the database which of its leases still exist.

use crate::{At, Db, StoreError, Tx};
use rds_shared::push::stream_limits::{STREAMS_PER_KEY, STREAMS_PER_VIEWER};
use rds_shared::wire::Timestamp;

/// How long a process counts as alive after its last call of [`alive`], in seconds; then other streams can take its leases.
pub const ALIVE_SECONDS: f64 = 15.0;

/// A stream to be admitted.
#[derive(Debug, Clone, Copy)]
pub struct LeaseRequest<'a> {
    /// Id of the lease; random, so that it can be released even if the response of the database is lost.
    pub id: i64,
    /// The process that serves the stream.
    pub process: i64,
    /// The key; `None` if the stream needs none.
    pub key: Option<i64>,
    /// The end viewer of the stream; `None` if the request does not state it.
    pub viewer: Option<&'a str>,
}

/// The result of an admission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The stream has a lease.
    Admitted,
    /// The key has reached its maximum number of streams.
    KeyIsFull,
    /// The viewer has reached its maximum number of streams.
    ViewerIsFull,
}

/// Admits a stream if its key and viewer have a lease left.
pub async fn admit(db: &Db, request: LeaseRequest<'_>) -> Result<Verdict, StoreError> {
    let mut tx = db.begin("BEGIN").await?;
    let verdict = take(&mut tx, request).await?;
    tx.commit().await?;
    Ok(verdict)
}

async fn take(
    tx: &mut Tx<'_>,
    LeaseRequest { id, process, key, viewer }: LeaseRequest<'_>,
) -> Result<Verdict, StoreError> {
    // Viewers are counted per key, so that one customer does not use up the leases of another.
    let holder = key.map_or_else(|| format!("viewer {}", viewer.unwrap_or_default()), |key| format!("key {key}"));
    let sql = "SELECT pg_advisory_xact_lock(hashtextextended('stream of ' || $1, 0))";
    sqlx::query(sql).bind(holder).execute(&mut **tx).await?;
    let sql = "
        -- stream_leases_of_the_dead
        DELETE FROM stream_lease l
        WHERE (l.key_id = $1 OR ($1::bigint IS NULL AND l.key_id IS NULL AND l.viewer = $2))
            AND NOT EXISTS (SELECT FROM stream_process p WHERE p.id = l.process AND p.alive_until > clock_timestamp())";
    sqlx::query(sql).bind(key).bind(viewer).execute(&mut **tx).await?;
    let sql = "
        -- stream_leases_held
        SELECT count(*), count(*) FILTER (WHERE viewer = $2) FROM stream_lease
        WHERE key_id = $1 OR ($1::bigint IS NULL AND key_id IS NULL AND viewer = $2)";
    let (all, viewers): (i64, i64) = sqlx::query_as(sql).bind(key).bind(viewer).fetch_one(&mut **tx).await?;
    if viewer.is_some() && viewers >= i64::from(STREAMS_PER_VIEWER) {
        return Ok(Verdict::ViewerIsFull);
    }
    if key.is_some() && all >= i64::from(STREAMS_PER_KEY) {
        return Ok(Verdict::KeyIsFull);
    }
    let sql = "INSERT INTO stream_lease (id, process, key_id, viewer) VALUES ($1, $2, $3, $4)";
    sqlx::query(sql)
        .bind(id)
        .bind(process)
        .bind(key) // $3 key_id
        .bind(viewer)
        .execute(&mut **tx)
        .await?;
    Ok(Verdict::Admitted)
}

pub async fn release(db: &Db, ids: &[i64]) -> Result<(), StoreError> {
    sqlx::query("/* release_streams */ DELETE FROM stream_lease WHERE id = ANY($1)")
        .bind(ids)
        .execute(&db.pool)
        .await?;
    Ok(())
}

/// Extends the time for which `process` counts as alive, and deletes processes that have been dead for a minute, with their leases.
pub async fn alive(db: &Db, process: i64) -> Result<(), StoreError> {
    let sql = "
        -- stream_process_alive
        INSERT INTO stream_process (id, alive_until) VALUES ($1, clock_timestamp() + make_interval(secs => $2))
        ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until";
    sqlx::query(sql).bind(process).bind(ALIVE_SECONDS).execute(&db.pool).await?;
    let sql = "
        -- clear_dead_streams
        WITH dead AS (DELETE FROM stream_process WHERE alive_until < clock_timestamp() - interval '1 minute' RETURNING id)
        DELETE FROM stream_lease l USING dead WHERE l.process = dead.id";
    sqlx::query(sql).execute(&db.pool).await?;
    Ok(())
}

/// Removes a process that ends, with its leases.
pub async fn gone(db: &Db, process: i64) -> Result<(), StoreError> {
    let sql = "
        -- stream_process_gone
        WITH gone AS (DELETE FROM stream_process WHERE id = $1)
        DELETE FROM stream_lease WHERE process = $1";
    sqlx::query(sql).bind(process).execute(&db.pool).await?;
    Ok(())
}

/// The leases that this process still has, each with whether it was taken at least a minute ago.
pub async fn held_by(db: &Db, process: i64) -> Result<Vec<(i64, bool)>, StoreError> {
    let sql = "
        -- stream_leases_of_process
        SELECT id, opened_at < clock_timestamp() - interval '1 minute' FROM stream_lease WHERE process = $1";
    Ok(sqlx::query_as(sql).bind(process).fetch_all(&db.pool).await?)
}

/// The keys that are revoked or do not exist.
pub async fn revoked_among(db: &Db, keys: &[i64]) -> Result<Vec<i64>, StoreError> {
    let sql = "
        -- revoked_among
        SELECT asked.id FROM unnest($1::bigint[]) AS asked (id)
        WHERE NOT EXISTS (SELECT FROM api_key k WHERE k.id = asked.id AND k.revoked_at IS NULL)";
    Ok(sqlx::query_scalar(sql).bind(keys).fetch_all(&db.pool).await?)
}

/// Records when a client's queue overflowed, for the status page of every process.
pub async fn overflowed(db: &Db, at: Timestamp) -> Result<(), StoreError> {
    let sql = "
        -- stream_overflowed
        INSERT INTO stream_overflow (at) VALUES ($1)
        ON CONFLICT (one) DO UPDATE SET at = excluded.at WHERE stream_overflow.at < excluded.at";
    sqlx::query(sql).bind(At(at)).execute(&db.pool).await?;
    Ok(())
}

/// Whether a client's queue has overflowed at or after `since`.
pub async fn overflowed_since(db: &Db, since: Timestamp) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT FROM stream_overflow WHERE at >= $1)";
    Ok(sqlx::query_scalar(sql).bind(At(since)).fetch_one(&db.pool).await?)
}
