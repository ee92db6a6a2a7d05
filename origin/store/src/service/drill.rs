//! What a restored database must contain, for the drill that verifies a backup. Everything is read; nothing is changed.

use crate::{At, StoreError};
use rds_shared::model::content_hash::ContentHash;
use rds_shared::wire::Timestamp;
use sqlx::{FromRow, PgConnection, PgExecutor};
use std::collections::BTreeMap;

/// Rows of the tables that a backup must not have lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRow)]
pub struct Counts {
    pub chains: i64,
    pub vaults: i64,
    /// Rows of `vault_score`: one a vault.
    pub scores: i64,
    /// Vaults with a newest state but without any reading in the history.
    pub without_history: i64,
    pub decisions: i64,
    pub keys: i64,
}

/// Counts the rows.
pub async fn counts(db: impl PgExecutor<'_>) -> Result<Counts, StoreError> {
    let sql = "
        -- drill_counts
        SELECT (SELECT count(*) FROM chain) AS chains, (SELECT count(*) FROM vault) AS vaults,
               (SELECT count(*) FROM vault_score) AS scores,
               (SELECT count(*) FROM vault_state s WHERE NOT EXISTS (
                   SELECT FROM vault_snapshot h WHERE h.vault_id = s.vault_id)) AS without_history,
               (SELECT count(*) FROM decision) AS decisions, (SELECT count(*) FROM api_key) AS keys";
    Ok(sqlx::query_as(sql).fetch_one(db).await?)
}

/// Faults of the journal's numbering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRow)]
pub struct JournalFaults {
    pub head: i64,
    /// Whether a number above the head was given.
    pub is_ahead: bool,
    /// Numbers that are missing, and that no step explains.
    pub missing: i64,
    /// Operations with more than one number.
    pub twice: i64,
    /// Numbers that were given earlier than their predecessor.
    pub out_of_order: i64,
}

/// Examines the whole journal.
pub async fn journal_faults(db: impl PgExecutor<'_>) -> Result<JournalFaults, StoreError> {
    let sql = "
        -- drill_journal
        SELECT s.head, coalesce((SELECT max(seq) FROM journal) > s.head, false) AS is_ahead, found.*,
               (SELECT count(*) FROM (SELECT FROM journal GROUP BY operation_id, recorded_at HAVING count(*) > 1) AS more) AS twice
        FROM journal_state s CROSS JOIN (
            SELECT count(*) FILTER (WHERE seq <> before + 1 AND NOT EXISTS (
                       SELECT FROM incarnation i WHERE i.from_seq >= before AND i.to_seq < seq)) AS missing,
                   count(*) FILTER (WHERE at < at_before) AS out_of_order
            FROM (SELECT seq, at, lag(seq) OVER (ORDER BY seq) AS before, lag(at) OVER (ORDER BY seq) AS at_before
                  FROM journal) AS j) AS found";
    Ok(sqlx::query_as(sql).fetch_one(db).await?)
}

/// The published result of one vault, and the hash of its documents.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Published {
    pub score: Option<i32>,
    pub tier: Option<String>,
    pub document_hash: Vec<u8>,
}

/// The instant of the newest score run that a vault's row shows, and the published results of its vaults.
pub async fn newest_scores(
    connection: &mut PgConnection,
) -> Result<Option<(Timestamp, BTreeMap<String, Published>)>, StoreError> {
    let newest = "SELECT max(computed_at) FROM vault_score";
    let Some(at) = sqlx::query_scalar::<_, Option<At>>(newest).fetch_one(&mut *connection).await? else {
        return Ok(None);
    };
    let sql = "SELECT vault_id FROM vault_score WHERE computed_at = $1";
    let ids: Vec<String> = sqlx::query_scalar(sql).bind(at).fetch_all(&mut *connection).await?;
    Ok(Some((at.into(), scores_of(connection, &ids).await?)))
}

/// The published results of these vaults.
pub async fn scores_of(
    connection: &mut PgConnection,
    ids: &[String],
) -> Result<BTreeMap<String, Published>, StoreError> {
    #[derive(FromRow)]
    struct Row {
        vault_id: String,
        #[sqlx(flatten)]
        published: Published,
    }
    let sql = "SELECT vault_id, score, tier, document_hash FROM vault_score WHERE vault_id = ANY($1)";
    let rows: Vec<Row> = sqlx::query_as(sql).bind(ids).fetch_all(connection).await?;
    Ok(rows.into_iter().map(|row| (row.vault_id, row.published)).collect())
}

/// The ids of the newest decisions.
pub async fn newest_decisions(db: impl PgExecutor<'_>, limit: u32) -> Result<Vec<ContentHash>, StoreError> {
    let sql = "SELECT decision_id FROM decision ORDER BY created_at DESC, decision_id LIMIT $1";
    let ids: Vec<String> = sqlx::query_scalar(sql).bind(i64::from(limit)).fetch_all(db).await?;
    ids.into_iter()
        .map(|text| ContentHash::parse(&text).ok_or(StoreError::Corrupt { column: "decision.decision_id", text }))
        .collect()
}

/// Creates an empty database on the server of `connection`; the name must consist of lower-case letters, digits and underscores.
pub async fn create_database(connection: &mut PgConnection, name: &str) -> Result<(), StoreError> {
    sqlx::raw_sql(&format!("CREATE DATABASE {name}")).execute(connection).await?;
    Ok(())
}

/// Drops a database that [`create_database`] created, with every connection to it.
pub async fn drop_database(connection: &mut PgConnection, name: &str) -> Result<(), StoreError> {
    sqlx::raw_sql(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).execute(connection).await?;
    Ok(())
}

/// Computes the statistics that a restore leaves out.
pub async fn analyze(connection: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::raw_sql("ANALYZE").execute(connection).await?;
    Ok(())
}
