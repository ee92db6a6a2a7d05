//! The results of a score run: published scores, their history, and the run itself.

use crate::ingest::facts::json_array;
use crate::{At, StoreError, Tx};
use serde::Serialize;
use sqlx::PgExecutor;

/// A row of `vault_score` to write. A score that a run only confirms is updated by [`confirm_scores`] instead.
#[derive(Debug)]
pub struct ScoreRow {
    pub vault_id: String,
    pub score: Option<i32>,
    pub tier: Option<&'static str>,
    pub anchor: Option<i32>,
    pub core_above: Option<bool>,
    pub core_since: Option<At>,
    pub prime_above: Option<bool>,
    pub prime_since: Option<At>,
    pub raw: Option<i32>,
    pub updated_at: Option<At>,
    /// Whether this run changed the published score or tier.
    pub published: bool,
    pub vectors: String,
    pub provenance: String,
    pub document_hash: [u8; 32],
    pub basis: &'static str,
    /// Parts per million.
    pub coverage: i32,
    pub lowest: i32,
    pub highest: i32,
}

/// Identifies the run in the rows that it writes or confirms.
#[derive(Debug, Clone, Copy)]
pub struct RunStamp<'a> {
    pub run_id: &'a str,
    pub methodology_version: &'static str,
    pub computed_at: At,
    pub version: i64,
}

/// Writes scores. Rows are passed as arrays per column, so that their large documents are not embedded in, and parsed from, another JSON text.
pub async fn write_scores(tx: &mut Tx<'_>, run: RunStamp<'_>, rows: &[ScoreRow]) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    fn column<'r, T>(rows: &'r [ScoreRow], read: impl Fn(&'r ScoreRow) -> T) -> Vec<T> {
        rows.iter().map(read).collect()
    }
    sqlx::query(
        "INSERT INTO vault_score (vault_id, score, tier, anchor, core_above, core_since, prime_above, prime_since, raw, \
                                  updated_at, vectors, provenance, document_hash, \
                                  run_id, methodology_version, computed_at, changed_version, \
                                  published_version, synced_version, synced_at, basis, coverage, lowest, highest) \
         SELECT r.vault_id, r.score, r.tier, r.anchor, r.core_above, r.core_since, r.prime_above, r.prime_since, r.raw, \
                r.updated_at, r.vectors::json, r.provenance::json, r.document_hash, $14, $15, $16, $17, \
                CASE WHEN r.published THEN $17::bigint END, $17, greatest(s.observed_at, s.read_at), \
                r.basis, r.coverage, r.lowest, r.highest \
         FROM unnest($1::text[], $2::int[], $3::text[], $4::int[], $5::bool[], $6::timestamptz[], $7::bool[], $8::timestamptz[], \
                     $9::int[], $10::timestamptz[], $11::text[], $12::text[], $13::bytea[], $18::bool[], \
                     $19::text[], $20::int[], $21::int[], $22::int[]) \
              AS r (vault_id, score, tier, anchor, core_above, core_since, prime_above, prime_since, raw, updated_at, \
                    vectors, provenance, document_hash, published, basis, coverage, lowest, highest) \
              LEFT JOIN vault_state s USING (vault_id) \
         ON CONFLICT (vault_id) DO UPDATE SET \
             score = EXCLUDED.score, tier = EXCLUDED.tier, anchor = EXCLUDED.anchor, core_above = EXCLUDED.core_above, \
             core_since = EXCLUDED.core_since, prime_above = EXCLUDED.prime_above, prime_since = EXCLUDED.prime_since, \
             raw = EXCLUDED.raw, updated_at = EXCLUDED.updated_at, vectors = EXCLUDED.vectors, \
             provenance = EXCLUDED.provenance, document_hash = EXCLUDED.document_hash, run_id = EXCLUDED.run_id, \
             methodology_version = EXCLUDED.methodology_version, computed_at = EXCLUDED.computed_at, \
             changed_version = EXCLUDED.changed_version, basis = EXCLUDED.basis, coverage = EXCLUDED.coverage, \
             lowest = EXCLUDED.lowest, highest = EXCLUDED.highest, \
             published_version = coalesce(EXCLUDED.published_version, vault_score.published_version), \
             synced_version = CASE WHEN EXCLUDED.synced_at IS DISTINCT FROM vault_score.synced_at \
                                   THEN EXCLUDED.synced_version ELSE vault_score.synced_version END, \
             synced_at = EXCLUDED.synced_at",
    )
    .bind(column(rows, |row| row.vault_id.as_str()))
    .bind(column(rows, |row| row.score))
    .bind(column(rows, |row| row.tier))
    .bind(column(rows, |row| row.anchor))
    .bind(column(rows, |row| row.core_above))
    .bind(column(rows, |row| row.core_since))
    .bind(column(rows, |row| row.prime_above))
    .bind(column(rows, |row| row.prime_since))
    .bind(column(rows, |row| row.raw))
    .bind(column(rows, |row| row.updated_at))
    .bind(column(rows, |row| row.vectors.as_str()))
    .bind(column(rows, |row| row.provenance.as_str()))
    .bind(column(rows, |row| &row.document_hash[..]))
    .bind(run.run_id)
    .bind(run.methodology_version)
    .bind(run.computed_at)
    .bind(run.version) // $17 changed_version
    .bind(column(rows, |row| row.published))
    .bind(column(rows, |row| row.basis))
    .bind(column(rows, |row| row.coverage))
    .bind(column(rows, |row| row.lowest))
    .bind(column(rows, |row| row.highest))
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Number of vaults with a published tier.
pub async fn published_tiers(tx: &mut Tx<'_>) -> Result<u64, StoreError> {
    let published: i64 =
        sqlx::query_scalar("SELECT count(*) FROM vault_score WHERE tier IS NOT NULL").fetch_one(&mut **tx).await?;
    Ok(published.unsigned_abs())
}

/// Marks unchanged scores as confirmed by a run.
pub async fn confirm_scores(tx: &mut Tx<'_>, run: RunStamp<'_>, ids: &[String]) -> Result<(), StoreError> {
    if ids.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "UPDATE vault_score p SET run_id = $2, computed_at = $3, changed_version = $4, synced_at = read.at, \
             synced_version = CASE WHEN read.at IS DISTINCT FROM p.synced_at THEN $4 ELSE p.synced_version END \
         FROM (SELECT asked.vault_id, greatest(s.observed_at, s.read_at) AS at \
               FROM unnest($1::text[]) AS asked (vault_id) LEFT JOIN vault_state s USING (vault_id)) AS read \
         WHERE p.vault_id = read.vault_id",
    )
    .bind(ids)
    .bind(run.run_id)
    .bind(run.computed_at)
    .bind(run.version) // $4 changed_version
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Marks vaults whose facts changed while no run was published. They keep their scores and the run that made them.
pub async fn mark_unscored_change(tx: &mut Tx<'_>, version: i64, ids: &[String]) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE vault_score p SET changed_version = $2, synced_at = read.at, \
             synced_version = CASE WHEN read.at IS DISTINCT FROM p.synced_at THEN $2 ELSE p.synced_version END \
         FROM (SELECT asked.vault_id, greatest(s.observed_at, s.read_at) AS at \
               FROM unnest($1::text[]) AS asked (vault_id) LEFT JOIN vault_state s USING (vault_id)) AS read \
         WHERE p.vault_id = read.vault_id",
    )
    .bind(ids)
    .bind(version)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The ids without a row in `vault_score`.
pub async fn without_score(tx: &mut Tx<'_>, ids: &[String]) -> Result<Vec<String>, StoreError> {
    let new = sqlx::query_scalar(
        "SELECT asked.id FROM unnest($1::text[]) AS asked (id) \
         WHERE NOT EXISTS (SELECT FROM vault_score p WHERE p.vault_id = asked.id)",
    );
    Ok(new.bind(ids).fetch_all(&mut **tx).await?)
}

/// Moves `vaults`, and all vaults on `chains`, to the end of both change feeds (state observations and published scores) without changing
/// their timestamps. Readers may have passed the old positions while a vault was hidden or shown differently.
pub async fn move_to_feed_end(
    tx: &mut Tx<'_>,
    version: i64,
    chains: &[i64],
    vaults: &[&str],
) -> Result<(), StoreError> {
    if chains.is_empty() && vaults.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "UPDATE vault_score p SET changed_version = $1, synced_version = $1, \
             published_version = CASE WHEN p.published_version IS NOT NULL THEN $1::bigint END \
         FROM vault v WHERE v.id = p.vault_id AND (v.chain_id = ANY($2) OR v.id = ANY($3))",
    )
    .bind(version)
    .bind(chains)
    .bind(vaults)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// A row of `score_history`.
#[derive(Debug, Serialize)]
pub struct HistoryRow {
    pub vault_id: String,
    pub observed_at: At,
    pub version: i64,
    pub change_type: &'static str,
    pub prev_score: Option<i32>,
    pub new_score: Option<i32>,
    pub prev_tier: Option<&'static str>,
    pub new_tier: Option<&'static str>,
    pub methodology_version: &'static str,
}

/// Appends changes to the score history.
pub async fn append_history(tx: &mut Tx<'_>, rows: &[HistoryRow]) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO score_history SELECT h.* FROM json_populate_recordset(NULL::score_history, $1::json) AS h",
    )
    .bind(json_array(rows)?)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// A row of `score_run`.
#[derive(Debug)]
pub struct RunRow<'a> {
    pub id: &'a str,
    pub version: i64,
    pub scope: &'static str,
    pub methodology_version: &'static str,
    pub input_hash: [u8; 32],
    pub mode: &'static str,
    pub vaults: u64,
    pub changes: usize,
    pub started_at: At,
    pub completed_at: At,
}

/// Completion time of the newest published run over all vaults; before there is one, of the first run of any scope.
pub async fn last_whole_run(executor: impl PgExecutor<'_>) -> Result<Option<At>, StoreError> {
    let at = sqlx::query_scalar(
        "SELECT coalesce((SELECT completed_at FROM score_run WHERE scope = 'all' AND mode = 'normal' ORDER BY version DESC LIMIT 1), \
                         (SELECT completed_at FROM score_run ORDER BY version LIMIT 1))",
    );
    Ok(at.fetch_one(executor).await?)
}

/// Records a completed run.
pub async fn record_run(tx: &mut Tx<'_>, run: &RunRow<'_>) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO score_run (id, version, scope, methodology_version, input_hash, mode, vaults, changes, started_at, completed_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(run.id)
    .bind(run.version)
    .bind(run.scope)
    .bind(run.methodology_version)
    .bind(&run.input_hash[..])
    .bind(run.mode)
    .bind(i64::try_from(run.vaults).unwrap_or(i64::MAX))
    .bind(i64::try_from(run.changes).unwrap_or(i64::MAX))
    .bind(run.started_at)
    .bind(run.completed_at)
    .execute(&mut **tx)
    .await?;
    Ok(())
}
