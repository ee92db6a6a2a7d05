//! Tag versions: raised with the facts, and which of them the edge has acknowledged.

use crate::decode::{DbTagVersions, Nullable};
use crate::scoring::fail_safe;
use crate::{At, Db, StoreError, Tx};
use rds_shared::route::{Tag, TagVersions};
use rds_shared::wire::Timestamp;
use sqlx::FromRow;
use std::time::Duration;

/// The notification channel for raised tags. A lost notification only delays a reader, because polling finds every version.
pub const CHANNEL: &str = "data_tags";

/// Raises the versions of these tags in this transaction, because their facts change; returns the new versions.
///
/// Called last in a transaction, after the writers' lock if the transaction takes it: until the commit no other transaction can raise these
/// tags, so a version covers everything committed before. Rows are locked in a fixed order, so that callers with overlapping tags do not
/// deadlock. A second call in a transaction is harmless. [`Tag::FailSafe`] is skipped; only [`crate::scoring::fail_safe`] raises it.
pub async fn touch(tx: &mut Tx<'_>, tags: &[Tag]) -> Result<TagVersions, StoreError> {
    let names: Vec<&str> = tags.iter().filter(|tag| **tag != Tag::FailSafe).map(|tag| tag.as_str()).collect();
    // Uses Postgres' clock. Versions are only compared with versions, also of other databases, never with an instant.
    let sql = "
        -- touch_tags
        WITH held AS (SELECT tag FROM data_tag WHERE tag = ANY($1) ORDER BY tag FOR UPDATE)
        UPDATE data_tag t SET version = greatest(t.version + 1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
        FROM held WHERE t.tag = held.tag RETURNING t.tag, t.version";
    let rows: Vec<(String, i64)> = sqlx::query_as(sql).bind(names).fetch_all(&mut **tx).await?;
    if !rows.is_empty() {
        sqlx::query("SELECT pg_notify($1, '')").bind(CHANNEL).execute(&mut **tx).await?;
    }
    let mut versions = TagVersions::default();
    for (tag, version) in rows {
        // Tags that only newer releases know are skipped.
        if let Some(tag) = Tag::parse(&tag) {
            versions.raise(tag, version);
        }
    }
    Ok(versions)
}

/// Raises all tags, because any fact may have changed, and encodes the fail-safe mode again. Afterwards every version seen from another
/// timeline of this database is lower. `known` are the versions that the edge has seen. The new versions are raised above them, because the
/// database's clock may have been set back. Called last in a transaction, like [`touch`].
pub async fn raise_all(tx: &mut Tx<'_>, known: &TagVersions) -> Result<(), StoreError> {
    let mode = fail_safe::lock(tx).await?.mode;
    let (names, versions): (Vec<&str>, Vec<i64>) = known.iter().map(|(tag, version)| (tag.as_str(), version)).unzip();
    let sql = "
        -- raise_tags_to
        WITH held AS (SELECT tag FROM data_tag WHERE tag = ANY($1) ORDER BY tag FOR UPDATE)
        UPDATE data_tag t SET version = greatest(t.version, k.version)
        FROM held, unnest($1::text[], $2::bigint[]) AS k (tag, version) WHERE t.tag = held.tag AND k.tag = t.tag";
    sqlx::query(sql).bind(names).bind(versions).execute(&mut **tx).await?;
    touch(tx, &Tag::ALL).await?;
    fail_safe::spell(tx, mode).await
}

/// The newest data version and all tag versions, in one snapshot.
pub async fn newest(db: &Db) -> Result<(i64, TagVersions), StoreError> {
    let sql =
        "SELECT version, (SELECT coalesce(string_agg(tag || '=' || version, ';'), '') FROM data_tag) FROM data_version";
    let newest: Option<(i64, DbTagVersions)> = sqlx::query_as(sql).fetch_optional(&db.pool).await?;
    Ok(newest.map(|(version, DbTagVersions(tags))| (version, tags)).unwrap_or_default())
}

/// A message with tag versions for the edge, leased to this sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claimed {
    /// All versions that the edge has not acknowledged.
    pub versions: TagVersions,
    /// Time of the claim, by the database's clock. The message covers everything committed before.
    pub at: Timestamp,
    /// Number of the attempt; the fencing token against a sender whose lease has ended.
    pub attempt: i64,
    /// Number of consecutive failures before this attempt.
    pub failures: i32,
}

/// Leases the message for the duration `lease` if there is something to send and no other lease is active. All times are read from the
/// database's clock, so a process with a wrong clock does not delay other senders.
pub async fn claim(db: &Db, lease: Duration) -> Result<Option<Claimed>, StoreError> {
    // Usually there is nothing to send, and then nothing is written.
    if progress(db).await?.waiting.is_empty() {
        return Ok(None);
    }
    let sql = "
        -- claim_tag_message
        UPDATE edge_tag_message
        SET not_before = clock_timestamp() + make_interval(secs => $1), attempt = attempt + 1
        WHERE not_before <= clock_timestamp() RETURNING attempt, failures, clock_timestamp()";
    let ours = sqlx::query_as(sql).bind(lease.as_secs_f64()).fetch_optional(&db.pool).await?;
    let Some((attempt, failures, At(at))) = ours else { return Ok(None) };
    // The versions are read after the claim, so that they include everything committed before it.
    let versions = progress(db).await?.waiting;
    Ok(Some(Claimed { versions, at, attempt, failures }))
}

/// Which tag versions the edge has acknowledged, and which not.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct EdgeProgress {
    /// Versions that the edge has acknowledged.
    #[sqlx(try_from = "DbTagVersions")]
    pub acknowledged: TagVersions,
    /// Newer versions that the edge has not acknowledged.
    #[sqlx(try_from = "DbTagVersions")]
    pub waiting: TagVersions,
    /// When the latest acknowledged message was claimed.
    #[sqlx(try_from = "Nullable<At>")]
    pub told_at: Option<Timestamp>,
    /// Error of the latest message, if it was not acknowledged.
    pub last_error: Option<String>,
}

pub async fn progress(db: &Db) -> Result<EdgeProgress, StoreError> {
    let sql = "
        -- edge_progress
        SELECT m.told_at, m.last_error,
               (SELECT coalesce(string_agg(tag || '=' || version, ';'), '') FROM edge_tag) AS acknowledged,
               (SELECT coalesce(string_agg(t.tag || '=' || t.version, ';'), '') FROM data_tag t LEFT JOIN edge_tag e ON e.tag = t.tag
                WHERE t.version > coalesce(e.version, 0)) AS waiting
        FROM edge_tag_message m";
    Ok(sqlx::query_as(sql).fetch_one(&db.pool).await?)
}

/// Records that the edge has acknowledged the message; the next one can be sent.
pub async fn acknowledged(db: &Db, claimed: &Claimed) -> Result<(), StoreError> {
    let (tags, versions): (Vec<&str>, Vec<i64>) =
        claimed.versions.iter().map(|(tag, version)| (tag.as_str(), version)).unzip();
    let sql = "
        -- tags_acknowledged
        WITH told AS (
            INSERT INTO edge_tag (tag, version)
            SELECT tag, version FROM unnest($1::text[], $2::bigint[]) AS told (tag, version) ORDER BY tag
            ON CONFLICT (tag) DO UPDATE SET version = greatest(edge_tag.version, excluded.version)
        )
        UPDATE edge_tag_message SET told_at = greatest(told_at, $4), failures = 0, last_error = NULL,
               not_before = CASE WHEN attempt = $3 THEN to_timestamp(0) ELSE not_before END";
    let (attempt, told_at) = (claimed.attempt, At(claimed.at));
    sqlx::query(sql).bind(tags).bind(versions).bind(attempt).bind(told_at).execute(&db.pool).await?;
    Ok(())
}

/// Schedules the next attempt after `pause`, unless another sender has claimed the message since.
pub async fn failed(db: &Db, attempt: i64, pause: Duration, why: &str) -> Result<(), StoreError> {
    let sql = "
        -- tags_not_acknowledged
        UPDATE edge_tag_message
        SET not_before = clock_timestamp() + make_interval(secs => $2), failures = failures + 1, last_error = $3
        WHERE attempt = $1";
    sqlx::query(sql).bind(attempt).bind(pause.as_secs_f64()).bind(why).execute(&db.pool).await?;
    Ok(())
}
