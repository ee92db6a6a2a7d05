//! Frozen snapshots of the exposure graph, stored under their content hash, and the id of the current one.

use crate::service::tags;
use crate::{At, Db, StoreError, Tx};
use rds_shared::graph::snapshot::Manifest;
use rds_shared::route::Tag;
use rds_shared::wire::Timestamp;
use sqlx::types::Json;

/// The notification channel for a new current snapshot. A lost notification only delays a reader, because polling finds every snapshot.
pub const CHANNEL: &str = "graph";

/// Number of newest snapshots whose bodies are kept, because a slow reader may still be loading them.
const KEPT_SNAPSHOTS: i64 = 3;

/// A snapshot to be stored.
#[derive(Debug)]
pub struct NewSnapshot<'a> {
    pub manifest: &'a Manifest,
    /// The bodies of the publications, in the manifest's order.
    pub bodies: &'a [String],
    /// Data version of the facts it was built from.
    pub data_version: i64,
    /// Chains left out because they were withheld.
    pub withheld: &'a [i64],
}

/// The result of storing a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreResult {
    /// Whether the same snapshot had not been stored before.
    pub is_new: bool,
    /// Whether the stored snapshot is the current one; false if another process has stored one that was built from newer facts.
    pub is_current: bool,
}

/// Stores a snapshot and makes it current, unless the current one was built from newer facts.
pub async fn store(tx: &mut Tx<'_>, frozen: &NewSnapshot<'_>, now: Timestamp) -> Result<StoreResult, StoreError> {
    let NewSnapshot { manifest, bodies, data_version, withheld } = frozen;
    // Only one process stores at a time; several could lock the same bodies in different orders and deadlock.
    let before: Option<String> =
        sqlx::query_scalar("SELECT snapshot_id FROM graph_current FOR UPDATE").fetch_one(&mut **tx).await?;
    let hashes: Vec<String> = manifest.publications.iter().map(|it| it.content_hash.to_hex()).collect();
    // DISTINCT, because publications without rows all share one body.
    sqlx::query(
        "INSERT INTO graph_publication AS kept (content_hash, body) SELECT DISTINCT * FROM unnest($1::text[], $2::text[]) \
         ON CONFLICT (content_hash) DO UPDATE SET body = excluded.body WHERE kept.body <> excluded.body",
    )
    .bind(&hashes)
    .bind(bodies)
    .execute(&mut **tx)
    .await?;
    let id = manifest.snapshot_id.to_hex();
    let inserted = sqlx::query(
        "INSERT INTO graph_snapshot (snapshot_id, built_at, manifest) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
    )
    .bind(&id)
    .bind(At(manifest.built_at))
    .bind(Json(manifest))
    .execute(&mut **tx)
    .await?;
    let taken = sqlx::query(
        "UPDATE graph_current SET snapshot_id = $1, data_version = $2, confirmed_at = $3, withheld = $4 WHERE data_version <= $2",
    )
    .bind(&id) // $1 snapshot_id
    .bind(data_version)
    .bind(At(now)) // $3 confirmed_at
    .bind(withheld)
    .execute(&mut **tx)
    .await?;
    let kept = StoreResult { is_new: inserted.rows_affected() > 0, is_current: taken.rows_affected() > 0 };
    forget_old_bodies(tx).await?;
    if kept.is_current && before.as_ref() != Some(&id) {
        tags::touch(tx, &[Tag::Graph]).await?;
    }
    sqlx::query("SELECT pg_notify($1, '')").bind(CHANNEL).execute(&mut **tx).await?;
    Ok(kept)
}

/// Deletes bodies that belong neither to the current snapshot nor to one of the [`KEPT_SNAPSHOTS`] newest.
async fn forget_old_bodies(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let sql = "
        -- forget_old_bodies
        WITH kept AS (
            (SELECT manifest FROM graph_snapshot ORDER BY built_at DESC, snapshot_id LIMIT $1)
            UNION ALL SELECT manifest FROM graph_snapshot JOIN graph_current USING (snapshot_id)
        )
        DELETE FROM graph_publication WHERE content_hash NOT IN (
            SELECT publication->>'contentHash' FROM kept, json_array_elements(manifest->'publications') AS publication)";
    sqlx::query(sql).bind(KEPT_SNAPSHOTS).execute(&mut **tx).await?;
    Ok(())
}

/// Id of the current snapshot: null before the first build; no row while the snapshot contains a chain that is withheld now.
const CURRENT: &str = "SELECT snapshot_id FROM graph_current g WHERE NOT EXISTS ( \
     SELECT FROM chain c WHERE NOT c.is_served AND c.chain_id <> ALL (g.withheld))";

/// The id of the current snapshot.
pub async fn current(db: &Db) -> Result<Option<String>, StoreError> {
    Ok(sqlx::query_scalar::<_, Option<String>>(CURRENT).fetch_optional(&db.pool).await?.flatten())
}

/// A manifest as served; `None` if the id is unknown.
pub async fn manifest(db: &Db, id: &str) -> Result<Option<String>, StoreError> {
    let sql = "SELECT manifest::text FROM graph_snapshot WHERE snapshot_id = $1";
    Ok(sqlx::query_scalar(sql).bind(id).fetch_optional(&db.pool).await?)
}

/// The body with this hash; `None` if it was deleted.
pub async fn body(db: &Db, content_hash: &str) -> Result<Option<String>, StoreError> {
    let sql = "SELECT body FROM graph_publication WHERE content_hash = $1";
    Ok(sqlx::query_scalar(sql).bind(content_hash).fetch_optional(&db.pool).await?)
}

/// Claims the next build if it is due, so that only one process builds.
///
/// A build is due `every` seconds after the last claim, or after at most ten seconds if there is no current snapshot. A claim in the future
/// is ignored.
pub async fn claim_build(db: &Db, now: Timestamp, every: i64) -> Result<bool, StoreError> {
    let sql = format!(
        "UPDATE graph_current SET claimed_at = $1 \
         WHERE claimed_at <= $2 OR claimed_at > $1 \
            OR (claimed_at <= $3 AND NOT EXISTS (SELECT FROM ({CURRENT}) AS it WHERE it.snapshot_id IS NOT NULL))"
    );
    let claimed = sqlx::query(&sql)
        .bind(At(now))
        .bind(At(now.plus_seconds(-every)))
        .bind(At(now.plus_seconds(-every.min(10))))
        .execute(&db.pool)
        .await?;
    Ok(claimed.rows_affected() > 0)
}
