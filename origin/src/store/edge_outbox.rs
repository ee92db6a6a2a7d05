//! The outbox of key changes that the edge has not acknowledged.

use super::keys::{RECORD, record};
use super::{Db, StoreError, Tx};
use rds_shared::access::KeyDigest;
use rds_shared::access::link::KeyNews;
use sqlx::Row;
use std::time::Duration;

/// The notification channel for new rows. It only shortens the wait; polling finds every row.
pub const CHANNEL: &str = "edge_outbox";

/// Queues the current state of these keys, due at once. Keys without a digest are skipped, because the edge has never seen them.
pub async fn queue(tx: &mut Tx<'_>, keys: &[i64]) -> Result<(), StoreError> {
    let sql = "
        -- queue_for_edge
        insert into edge_outbox (key_id, version, not_before)
        select id, version, to_timestamp(0) from api_key where id = any($1) and digest is not null
        on conflict (key_id) do update set version = excluded.version, not_before = excluded.not_before";
    if sqlx::query(sql).bind(keys).execute(&mut **tx).await?.rows_affected() > 0 {
        sqlx::query("select pg_notify($1, '')").bind(CHANNEL).execute(&mut **tx).await?;
    }
    Ok(())
}

/// A change that this sender may send until its lease ends.
#[derive(Debug, Clone)]
pub struct Claimed {
    /// The current state of the key.
    pub news: KeyNews,
    /// Number of the attempt; the fencing token against a sender whose lease has ended.
    pub attempt: i32,
}

/// Leases up to `n` due changes, only of the keys `only` if given, for `lease`. Times are the database's, so a machine with a wrong
/// clock delays nobody else.
pub async fn claim(db: &Db, only: Option<&[i64]>, lease: Duration, n: u32) -> Result<Vec<Claimed>, StoreError> {
    let sql = format!(
        "/* claim_for_edge */ with due as ( \
             select key_id from edge_outbox \
             where not_before <= clock_timestamp() and ($1::bigint[] is null or key_id = any($1)) \
             order by not_before, key_id limit $2 for update skip locked) \
         update edge_outbox o set not_before = clock_timestamp() + make_interval(secs => $3), attempts = o.attempts + 1 from due join api_key k on k.id = due.key_id \
         where o.key_id = due.key_id returning {RECORD}, k.digest, o.attempts"
    );
    let rows = sqlx::query(&sql).bind(only).bind(i64::from(n)).bind(lease.as_secs_f64()).fetch_all(&db.pool).await?;
    rows.iter()
        .map(|row| {
            let digest: Vec<u8> = row.try_get("digest")?;
            let digest = <[u8; 32]>::try_from(digest)
                .map_err(|_| StoreError::Corrupt { column: "api_key.digest", text: "not 32 bytes".to_owned() })?;
            let news = KeyNews { digest: KeyDigest::from_bytes(digest), record: record(row)? };
            Ok(Claimed { news, attempt: row.try_get("attempts")? })
        })
        .collect()
}

/// Removes a change that the edge has acknowledged; a newer version stays queued.
pub async fn acknowledged(db: &Db, key: i64, version: i64) -> Result<(), StoreError> {
    let sql = "delete from edge_outbox where key_id = $1 and version <= $2";
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
    why: &str,
) -> Result<(), StoreError> {
    let sql = "
        -- failed_for_edge
        update edge_outbox set not_before = clock_timestamp() + make_interval(secs => $4), last_error = $5
        where key_id = $1 and version <= $2 and attempts = $3";
    let query = sqlx::query(sql).bind(key).bind(version).bind(attempt).bind(pause.as_secs_f64()).bind(why);
    query.execute(&db.pool).await?;
    Ok(())
}

/// Number of pending changes, only of the keys `only` if given, and the error of one of them.
pub async fn waiting(db: &Db, only: Option<&[i64]>) -> Result<(u64, Option<String>), StoreError> {
    let sql = "
        -- waiting_for_edge
        select count(*), max(last_error) from edge_outbox where $1::bigint[] is null or key_id = any($1)";
    let (count, why): (i64, Option<String>) = sqlx::query_as(sql).bind(only).fetch_one(&db.pool).await?;
    Ok((count.unsigned_abs(), why))
}

/// Records that a process that sends changes to the edge is running.
pub async fn teller_at_work(db: &Db) -> Result<(), StoreError> {
    let sql = "
        -- teller_at_work
        insert into edge_teller (seen_at) values (clock_timestamp())
        on conflict (single) do update set seen_at = greatest(edge_teller.seen_at, excluded.seen_at)";
    sqlx::query(sql).execute(&db.pool).await?;
    Ok(())
}

/// Records that an edge has queried a key.
pub async fn edge_asked(db: &Db) -> Result<(), StoreError> {
    let sql = "
        -- edge_asked
        insert into edge_seen (seen_at) values (clock_timestamp())
        on conflict (single) do update set seen_at = greatest(edge_seen.seen_at, excluded.seen_at)";
    sqlx::query(sql).execute(&db.pool).await?;
    Ok(())
}

/// Whether a process that sends changes to the edge was running within these seconds, by the database's clock.
pub async fn is_teller_at_work(db: &Db, seconds: u32) -> Result<bool, StoreError> {
    let sql = "select exists (select from edge_teller where seen_at > clock_timestamp() - make_interval(secs => $1))";
    Ok(sqlx::query_scalar(sql).bind(f64::from(seconds)).fetch_one(&db.pool).await?)
}

/// Whether an edge has queried a key within these seconds, by the database's clock.
pub async fn has_edge_asked(db: &Db, seconds: u32) -> Result<bool, StoreError> {
    let sql = "select exists (select from edge_seen where seen_at > clock_timestamp() - make_interval(secs => $1))";
    Ok(sqlx::query_scalar(sql).bind(f64::from(seconds)).fetch_one(&db.pool).await?)
}
