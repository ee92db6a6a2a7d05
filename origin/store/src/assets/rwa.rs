//! Real-world assets: sources, their publications, the discovery queue, and the revisions of daily totals.

use crate::{At, StoreError, Tx};
use rds_shared::rules::rwa_totals::AumSnapshot;
use sqlx::types::Json;
use sqlx::{FromRow, PgExecutor};

/// A deployment of a real-world asset.
#[derive(Debug, Clone, FromRow)]
pub struct DeploymentRow {
    /// Number of the asset.
    pub number: i64,
    /// Slug of the asset.
    pub id: String,
    pub chain_id: i64,
    pub category: String,
    /// The product to which a source assigns the asset; not verified.
    pub product_candidate: Option<String>,
}

/// A statement of an enabled source about a deployment.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct ObservationRow {
    pub number: i64,
    pub asset: i64,
    pub source_id: String,
    pub priority: i32,
    pub effective_at: At,
    pub published_at: At,
    pub fund_aum_usd: Option<f64>,
    pub global_issued_value_usd: Option<f64>,
    pub deployment_circulating_value_usd: Option<f64>,
    pub apy_7d_pct: Option<f64>,
    pub apy_30d_pct: Option<f64>,
    pub duration_days: Option<f64>,
}

/// A source with counts of its publications.
#[derive(Debug, Clone, FromRow)]
pub struct SourceRow {
    pub id: String,
    pub name: String,
    pub source_type: String,
    pub is_enabled: bool,
    pub is_configured: bool,
    pub priority: i32,
    pub max_age_seconds: i64,
    pub last_attempt_at: Option<At>,
    pub last_attempt_ok: Option<bool>,
    pub publication_id: Option<String>,
    pub published_at: Option<At>,
    pub publications: i64,
    pub observations: i64,
}

/// A deployment that a source discovered.
#[derive(Debug, Clone, FromRow)]
pub struct CandidateRow {
    pub source_id: String,
    pub source_type: String,
    pub is_enabled: bool,
    pub chain_id: i64,
    pub address: String,
    pub symbol: Option<String>,
    pub name: Option<String>,
    pub state: String,
    pub evidence_url: Option<String>,
    pub discovered_at: At,
    pub observed_at: At,
    pub asset: Option<i64>,
}

/// A revision of one day's total.
#[derive(Debug, Clone, FromRow)]
pub struct SnapshotRow {
    /// Midnight UTC of the day.
    pub day: At,
    /// Starts at 1.
    pub revision: i32,
    /// When the revision was made.
    pub recorded_at: At,
    pub content: Json<AumSnapshot>,
}

/// Every deployment of these categories on a served chain, by number, ascending.
pub async fn deployments(db: impl PgExecutor<'_>, categories: &[&str]) -> Result<Vec<DeploymentRow>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT a.number, a.id, a.chain_id, a.category, a.product_candidate \
         FROM asset a JOIN chain c ON c.chain_id = a.chain_id AND c.is_served WHERE a.category = ANY($1) ORDER BY a.number",
    )
    .bind(categories)
    .fetch_all(db)
    .await?)
}

/// The statements of enabled sources that take effect at `from` or later. For every asset also the newest statement before `from`, if its
/// source is enabled.
pub async fn observations(db: impl PgExecutor<'_>, from: At) -> Result<Vec<ObservationRow>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT o.number, a.number AS asset, o.source_id, s.priority, o.effective_at, o.published_at, o.fund_aum_usd, o.global_issued_value_usd, \
                o.deployment_circulating_value_usd, o.apy_7d_pct, o.apy_30d_pct, o.duration_days \
         FROM rwa_observation o JOIN rwa_source s ON s.id = o.source_id AND s.is_enabled JOIN asset a ON a.id = o.asset_id \
         WHERE o.effective_at >= $1 OR o.number IN ( \
             SELECT DISTINCT ON (asset_id) number FROM rwa_observation WHERE effective_at < $1 \
             ORDER BY asset_id, effective_at DESC, number) \
         ORDER BY o.number",
    )
    .bind(from)
    .fetch_all(db)
    .await?)
}

/// All sources, by id. A market catalog states no figures; its deployments discovered at one instant count as one publication without an id.
pub async fn sources(db: impl PgExecutor<'_>) -> Result<Vec<SourceRow>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT s.id, s.name, s.source_type, s.is_enabled, s.is_configured, s.priority, s.max_age_seconds, s.last_attempt_at, \
                s.last_attempt_ok, newest.publication_id, greatest(newest.published_at, surfaced.published_at) AS published_at, \
                told.publications + surfaced.publications AS publications, told.observations \
         FROM rwa_source s \
         LEFT JOIN LATERAL (SELECT publication_id, published_at FROM rwa_observation o WHERE o.source_id = s.id \
                            ORDER BY published_at DESC, number DESC LIMIT 1) AS newest ON true, \
         LATERAL (SELECT count(DISTINCT publication_id) AS publications, count(*) AS observations \
                  FROM rwa_observation o WHERE o.source_id = s.id) AS told, \
         LATERAL (SELECT max(observed_at) AS published_at, count(DISTINCT observed_at) AS publications FROM rwa_candidate c \
                  WHERE c.source_id = s.id AND s.source_type = 'market_catalog') AS surfaced \
         ORDER BY s.id COLLATE \"C\"",
    )
    .fetch_all(db)
    .await?)
}

/// All discovered deployments, oldest first, without those on withheld chains.
pub async fn candidates(db: impl PgExecutor<'_>) -> Result<Vec<CandidateRow>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT c.source_id, s.source_type, s.is_enabled, c.chain_id, c.address, c.symbol, c.name, c.state, c.evidence_url, \
                c.discovered_at, c.observed_at, \
                (SELECT min(a.number) FROM asset a WHERE a.chain_id = c.chain_id AND a.address = c.address) AS asset \
         FROM rwa_candidate c JOIN rwa_source s ON s.id = c.source_id \
         WHERE NOT EXISTS (SELECT FROM chain WHERE chain.chain_id = c.chain_id AND NOT chain.is_served) ORDER BY c.discovered_at, c.id COLLATE \"C\"",
    )
    .fetch_all(db)
    .await?)
}

/// Finds stored statements that differ from a statement in `statements` with the same source, publication and asset. Returns the ids of
/// source, publication and asset.
pub async fn contradicted(
    tx: &mut Tx<'_>,
    statements: &serde_json::Value,
) -> Result<Vec<(String, String, String)>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT o.source_id, o.publication_id, o.asset_id \
         FROM jsonb_populate_recordset(NULL::rwa_observation, $1) AS n \
         JOIN rwa_observation o USING (source_id, publication_id, asset_id) \
         WHERE (o.published_at, o.effective_at, o.fund_aum_usd, o.global_issued_value_usd, o.deployment_circulating_value_usd, \
                o.apy_7d_pct, o.apy_30d_pct, o.duration_days) \
           IS DISTINCT FROM (n.published_at, n.effective_at, n.fund_aum_usd, n.global_issued_value_usd, \
                n.deployment_circulating_value_usd, n.apy_7d_pct, n.apy_30d_pct, n.duration_days)",
    )
    .bind(statements)
    .fetch_all(&mut **tx)
    .await?)
}

/// Number of the newest statement; 0 before the first.
pub async fn newest_number(db: impl PgExecutor<'_>) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar("SELECT coalesce(max(number), 0) FROM rwa_observation").fetch_one(db).await?)
}

/// The effective instants of the statements with a number above `number`.
pub async fn stated_since(db: impl PgExecutor<'_>, number: i64) -> Result<Vec<At>, StoreError> {
    let instants = "SELECT DISTINCT effective_at FROM rwa_observation WHERE number > $1 ORDER BY 1";
    Ok(sqlx::query_scalar(instants).bind(number).fetch_all(db).await?)
}

/// Midnight UTC of the newest day with a total.
pub async fn newest_day(db: impl PgExecutor<'_>) -> Result<Option<At>, StoreError> {
    let day = "SELECT max(snapshot_date)::timestamp AT TIME ZONE 'UTC' FROM rwa_aum_snapshot";
    Ok(sqlx::query_scalar(day).fetch_one(db).await?)
}

/// The newest revision of every day from `from` on, oldest day first.
pub async fn snapshots(db: impl PgExecutor<'_>, from: At) -> Result<Vec<SnapshotRow>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT DISTINCT ON (snapshot_date) snapshot_date::timestamp AT TIME ZONE 'UTC' AS day, revision, recorded_at, content \
         FROM rwa_aum_snapshot WHERE snapshot_date >= ($1 AT TIME ZONE 'UTC')::date ORDER BY snapshot_date, revision DESC",
    )
    .bind(from)
    .fetch_all(db)
    .await?)
}

/// Stores another revision of a day's total.
pub async fn revise(
    tx: &mut Tx<'_>,
    day: At,
    revision: i32,
    recorded_at: At,
    content: &AumSnapshot,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO rwa_aum_snapshot (snapshot_date, revision, recorded_at, content) \
         VALUES (($1 AT TIME ZONE 'UTC')::date, $2, $3, $4)",
    )
    .bind(day)
    .bind(revision)
    .bind(recorded_at)
    .bind(Json(content))
    .execute(&mut **tx)
    .await?;
    Ok(())
}
