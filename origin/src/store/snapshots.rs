//! Frozen snapshots of the exposure graph: kept under the hash of what they say, and which of them is answered from.

use super::{At, Db, StoreError, Tx, tags};
use rds_shared::graph::snapshot::Manifest;
use rds_shared::route::Tag;
use rds_shared::wire::Timestamp;
use sqlx::types::Json;

/// The channel on which another current snapshot is announced. A hint: polling is the truth.
pub const CHANNEL: &str = "graph";

/// Snapshots whose bodies are kept: the one answered from, and those that a slow reader may still be loading.
const KEPT_WHOLE: i64 = 3;

/// What a build puts in place.
#[derive(Debug)]
pub struct Frozen<'a> {
    /// What it is made of.
    pub manifest: &'a Manifest,
    /// The bodies of its publications, in the manifest's order.
    pub bodies: &'a [String],
    /// The facts that it was read from.
    pub data_version: i64,
    /// Chains that are not in it because they were withheld.
    pub withheld: &'a [i64],
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Nobody had frozen these facts before.
    pub is_new: bool,
    /// It is what answers are made from now; false when somebody built from newer facts meanwhile.
    pub is_current: bool,
}

/// Keeps a snapshot and makes it the current one, unless that was read from newer facts.
pub async fn keep(tx: &mut Tx<'_>, frozen: &Frozen<'_>, now: Timestamp) -> Result<Kept, StoreError> {
    let Frozen { manifest, bodies, data_version, withheld } = frozen;
    // One keeper at a time: they would lock the same bodies in any order.
    let before: Option<String> =
        sqlx::query_scalar("SELECT snapshot_id FROM graph_current FOR UPDATE").fetch_one(&mut **tx).await?;
    let hashes: Vec<String> = manifest.publications.iter().map(|it| it.content_hash.to_hex()).collect();
    // Bodies without rows are one body.
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
    .bind(&id)
    .bind(data_version)
    .bind(At(now))
    .bind(withheld)
    .execute(&mut **tx)
    .await?;
    let kept = Kept { is_new: inserted.rows_affected() > 0, is_current: taken.rows_affected() > 0 };
    forget_old_bodies(tx).await?;
    if kept.is_current && before.as_ref() != Some(&id) {
        tags::touch(tx, &[Tag::Graph]).await?;
    }
    sqlx::query("SELECT pg_notify($1, '')").bind(CHANNEL).execute(&mut **tx).await?;
    Ok(kept)
}

/// Drops bodies that belong neither to the current snapshot nor to one of the latest.
async fn forget_old_bodies(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let sql = "
        -- forget_old_bodies
        WITH kept AS (
            (SELECT manifest FROM graph_snapshot ORDER BY built_at DESC, snapshot_id LIMIT $1)
            UNION ALL SELECT manifest FROM graph_snapshot JOIN graph_current USING (snapshot_id)
        )
        DELETE FROM graph_publication WHERE content_hash NOT IN (
            SELECT publication->>'contentHash' FROM kept, json_array_elements(manifest->'publications') AS publication)";
    sqlx::query(sql).bind(KEPT_WHOLE).execute(&mut **tx).await?;
    Ok(())
}

/// The snapshot to answer from; null before the first build, and while a chain is withheld that is in it.
const CURRENT: &str = "SELECT snapshot_id FROM graph_current g WHERE NOT EXISTS ( \
     SELECT FROM chain c WHERE NOT c.is_served AND c.chain_id <> ALL (g.withheld))";

/// The id of the snapshot to answer from.
pub async fn current(db: &Db) -> Result<Option<String>, StoreError> {
    Ok(sqlx::query_scalar::<_, Option<String>>(CURRENT).fetch_optional(&db.pool).await?.flatten())
}

/// A manifest as it is served; null for an id that nothing was frozen under.
pub async fn manifest(db: &Db, id: &str) -> Result<Option<String>, StoreError> {
    let sql = "SELECT manifest::text FROM graph_snapshot WHERE snapshot_id = $1";
    Ok(sqlx::query_scalar(sql).bind(id).fetch_optional(&db.pool).await?)
}

/// The body under this hash; null when it was dropped.
pub async fn body(db: &Db, content_hash: &str) -> Result<Option<String>, StoreError> {
    let sql = "SELECT body FROM graph_publication WHERE content_hash = $1";
    Ok(sqlx::query_scalar(sql).bind(content_hash).fetch_optional(&db.pool).await?)
}

/// Takes the turn to build, if one is due: of several processes one does.
///
/// Due is what was last begun `every` seconds ago; ten seconds ago where there is nothing to answer from.
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
