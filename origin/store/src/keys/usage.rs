//! Requests per key, as counted by the edge.

use crate::decode::Nullable;
use crate::keys::{RECORD, RecordRow};
use crate::shared_row::{shared_row, structs};
use crate::{At, Db, StoreError, Tx};
use rds_shared::access::{KeyDigest, KeyRecord};
use rds_shared::model::key::EndpointUsage;
use rds_shared::wire::Timestamp;
use rds_shared::wire::time::Day;
use sqlx::FromRow;

/// A counter at the edge that counts one key's requests, and how far its batches are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// The key whose requests the counter counts.
    pub key: i64,
    /// Sequence number of the last applied batch; 0 before the first.
    pub last_sequence: i64,
}

/// Finds the key and the source of a batch, and locks the source until the transaction ends. `None` if the key does not exist.
pub async fn lock_source(
    tx: &mut Tx<'_>,
    digest: &KeyDigest,
    source: &str,
    through: Timestamp,
) -> Result<Option<Source>, StoreError> {
    let key: Option<i64> = sqlx::query_scalar("SELECT id FROM api_key WHERE digest = $1")
        .bind(digest.as_bytes().as_slice())
        .fetch_optional(&mut **tx)
        .await?;
    let Some(key) = key else { return Ok(None) };
    let sql = "
        -- lock_source
        INSERT INTO usage_source (key_id, source, last_sequence, through) VALUES ($1, $2, 0, $3)
        ON CONFLICT (key_id, source) DO UPDATE SET source = excluded.source
        RETURNING last_sequence";
    let query = sqlx::query_scalar(sql).bind(key).bind(source).bind(At(through));
    Ok(Some(Source { key, last_sequence: query.fetch_one(&mut **tx).await? }))
}

/// Counts of one endpoint on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// UTC day.
    pub day: Day,
    /// The route's path template.
    pub endpoint: String,
    /// Number of requests served.
    pub served: u32,
    /// Number of requests answered with 429.
    pub throttled: u32,
    /// Time of the latest request.
    pub last_seen: Timestamp,
}

/// Adds counts to a key's days and totals, and updates its last use.
pub async fn add(tx: &mut Tx<'_>, key: i64, rows: &[Counted]) -> Result<(), StoreError> {
    fn column<'r, T>(rows: &'r [Counted], read: impl Fn(&'r Counted) -> T) -> Vec<T> {
        rows.iter().map(read).collect()
    }
    let sql = "
        -- add_usage
        WITH counted AS (
            SELECT date '1970-01-01' + day AS day, endpoint, sum(served)::bigint AS served,
                   sum(throttled)::bigint AS throttled, max(last_seen) AS last_seen
            FROM unnest($2::integer[], $3::text[], $4::bigint[], $5::bigint[], $6::timestamptz[])
                 AS r (day, endpoint, served, throttled, last_seen)
            GROUP BY 1, 2
        ), days AS (
            INSERT INTO key_usage AS u (key_id, day, endpoint, served, throttled, last_seen)
            SELECT $1, day, endpoint, served, throttled, last_seen FROM counted
            ON CONFLICT (key_id, day, endpoint) DO UPDATE
            SET served = u.served + excluded.served, throttled = u.throttled + excluded.throttled,
                last_seen = greatest(u.last_seen, excluded.last_seen)
        ), total AS (
            INSERT INTO key_usage_total AS t (key_id, served, throttled)
            SELECT $1, coalesce(sum(served), 0)::bigint, coalesce(sum(throttled), 0)::bigint FROM counted
            ON CONFLICT (key_id) DO UPDATE
            SET served = t.served + excluded.served, throttled = t.throttled + excluded.throttled
        )
        UPDATE api_key SET last_used_at = greatest(last_used_at, (SELECT max(last_seen) FROM counted)) WHERE id = $1";
    sqlx::query(sql)
        .bind(key)
        .bind(column(rows, |row| i32::try_from(row.day.number()).unwrap_or(i32::MAX)))
        .bind(column(rows, |row| row.endpoint.as_str()))
        .bind(column(rows, |row| i64::from(row.served)))
        .bind(column(rows, |row| i64::from(row.throttled)))
        .bind(column(rows, |row| At(row.last_seen)))
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Records that a source's counts up to `last_sequence` and `through` are applied.
pub async fn advance(
    tx: &mut Tx<'_>,
    key: i64,
    source: &str,
    last_sequence: i64,
    through: Timestamp,
) -> Result<(), StoreError> {
    let sql = "
        -- advance_source
        UPDATE usage_source SET last_sequence = $3, through = greatest(through, $4) WHERE key_id = $1 AND source = $2";
    let query = sqlx::query(sql).bind(key).bind(source).bind(last_sequence).bind(At(through));
    query.execute(&mut **tx).await?;
    Ok(())
}

/// A key with its usage totals, without the daily figures.
#[derive(Debug, Clone, FromRow)]
pub struct Described {
    #[sqlx(flatten, try_from = "RecordRow")]
    pub record: KeyRecord,
    /// First characters of the key.
    pub prefix: String,
    /// Name of the organisation.
    pub org: String,
    #[sqlx(try_from = "At")]
    pub created_at: Timestamp,
    /// Time of the key's latest counted request.
    #[sqlx(try_from = "Nullable<At>")]
    pub last_used_at: Option<Timestamp>,
    /// Total number of requests served.
    #[sqlx(try_from = "i64")]
    pub served: u64,
    /// Total number of requests answered with 429.
    #[sqlx(try_from = "i64")]
    pub throttled: u64,
    /// All requests before this instant are counted; `None` before the first batch.
    #[sqlx(try_from = "Nullable<At>")]
    pub through: Option<Timestamp>,
}

/// The key with this id.
pub async fn describe(db: &Db, key: i64) -> Result<Option<Described>, StoreError> {
    let sql = format!(
        "/* describe_key */ SELECT {RECORD}, k.prefix, k.created_at, k.last_used_at, o.name AS org, \
                coalesce(t.served, 0) AS served, coalesce(t.throttled, 0) AS throttled, \
                (SELECT max(s.through) FROM usage_source s WHERE s.key_id = k.id) AS through \
         FROM api_key k JOIN organisation o ON o.id = k.org_id LEFT JOIN key_usage_total t ON t.key_id = k.id WHERE k.id = $1"
    );
    Ok(sqlx::query_as(&sql).bind(key).fetch_optional(&db.pool).await?)
}

shared_row! { EndpointUsage { endpoint, count: i64 = "served", last_seen: At } }

/// A key's served requests on `day`, busiest endpoint first.
pub async fn of_day(db: &Db, key: i64, day: Day) -> Result<Vec<EndpointUsage>, StoreError> {
    let sql = "
        -- usage_of_day
        SELECT endpoint, served, last_seen FROM key_usage
        WHERE key_id = $1 AND day = date '1970-01-01' + $2::int AND served > 0
        ORDER BY served DESC, endpoint";
    let day = i32::try_from(day.number()).unwrap_or(i32::MAX);
    Ok(structs(sqlx::query_as(sql).bind(key).bind(day).fetch_all(&db.pool).await?))
}
