//! Assets as served: the catalog's data, and the histories of one asset.

pub mod answers;
pub mod attestations;
pub mod registry;
pub mod rwa;
pub mod scores;

use super::{At, Db, StoreError, Tx};
use serde_json::Value;
use sqlx::{FromRow, PgExecutor};

/// All data of a served asset.
#[derive(Debug, Clone, FromRow)]
pub struct AssetFacts {
    pub number: i64,
    pub id: String,
    pub chain_id: i64,
    pub chain_slug: String,
    pub address: Option<String>,
    pub symbol: String,
    pub name: Option<String>,
    pub category: String,
    pub underlying: Option<String>,
    pub dependency_chain: Vec<String>,
    pub lockup_days: i32,
    pub attestation_cadence: Option<String>,
    pub instrument_type: Option<String>,
    pub issuer: Option<Value>,
    pub product_candidate: Option<String>,
    pub source: String,
    pub discovered_at: At,
    pub last_seen_at: At,
    pub is_settlement: bool,
    pub bridge_centralization: Option<i32>,
    pub sequencer_centralization: Option<i32>,
    pub validator_set_size_score: Option<i32>,
    pub chain_age_score: Option<i32>,
    pub rationale: Option<String>,
    pub version_number: Option<i64>,
    pub recorded_at: Option<At>,
    pub review_status: Option<String>,
    pub dimensions: Option<Value>,
    pub backing_profile: Option<Value>,
    pub institutional: Option<Value>,
    pub data_provenance: Option<Value>,
    pub reviewed_by: Option<String>,
    pub reviewer: Option<String>,
    pub review_refreshed_at: Option<At>,
    pub refreshed_before: Option<At>,
    pub score: Option<i32>,
    pub tier: Option<String>,
    pub hard_fail_flags: Option<Vec<String>>,
    pub in_basket_a: bool,
    /// The breakdown's applied overlays, `[{id, kind, …}]`.
    pub overlays: Option<Value>,
    /// What the published score rests on; null values before the first run that computes them.
    #[sqlx(flatten)]
    pub evidence: scores::StoredEvidence,
}

/// One review version with the score published under it.
#[derive(Debug, Clone, FromRow)]
pub struct VersionRow {
    pub number: i64,
    pub recorded_at: At,
    pub review_status: String,
    pub score: Option<i32>,
    pub tier: Option<String>,
    pub aum_usd: Option<f64>,
    pub yield_pct: Option<f64>,
}

/// Every asset on a served chain, by number, ascending.
pub async fn load(db: impl PgExecutor<'_>) -> Result<Vec<AssetFacts>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT a.number, a.id, a.chain_id, c.slug AS chain_slug, a.address, a.symbol, a.name, a.category, a.underlying, \
                a.dependency_chain, a.lockup_days, a.attestation_cadence, a.instrument_type, a.issuer, a.product_candidate, \
                a.source, a.discovered_at, a.observed_at AS last_seen_at, \
                c.is_settlement, c.bridge_centralization, c.sequencer_centralization, c.validator_set_size_score, \
                c.chain_age_score, c.rationale, \
                r.number AS version_number, r.observed_at AS recorded_at, r.review_status, r.dimensions, r.backing_profile, \
                r.institutional, r.data_provenance, r.reviewed_by, r.reviewer, r.refreshed_at AS review_refreshed_at, \
                (SELECT max(coalesce(v.last_refresh_at, v.observed_at)) FROM asset_version v \
                 WHERE v.asset_id = a.id AND coalesce(v.last_refresh_at, v.observed_at) < r.refreshed_at) AS refreshed_before, \
                s.score, s.tier, s.hard_fail_flags, \
                EXISTS (SELECT FROM basket b JOIN basket_version w ON w.basket_id = b.id JOIN basket_constituent k USING (version_id) \
                        WHERE b.is_basket_a AND k.id = a.id \
                            AND w.number = (SELECT max(number) FROM basket_version n WHERE n.basket_id = b.id)) AS in_basket_a, \
                (s.breakdown->'overlays_applied')::jsonb AS overlays, \
                s.basis, s.coverage, s.lowest, s.highest, s.dimensions AS scored_dimensions, \
                s.review_status AS scored_review_status, s.refreshed_at, s.cadence_seconds \
         FROM asset a JOIN chain c ON c.chain_id = a.chain_id AND c.is_served \
         LEFT JOIN LATERAL (SELECT v.*, coalesce(v.last_refresh_at, v.observed_at) AS refreshed_at FROM asset_version v \
                            WHERE v.asset_id = a.id ORDER BY v.observed_at DESC LIMIT 1) AS r ON true \
         LEFT JOIN asset_score s ON s.asset_id = a.id ORDER BY a.number",
    )
    .fetch_all(db)
    .await?)
}

/// The newest versions of one asset, newest first.
pub async fn versions(db: &Db, asset_id: &str, limit: u32) -> Result<Vec<VersionRow>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT v.number, v.observed_at AS recorded_at, v.review_status, s.score, s.tier, \
                (v.institutional->>'aum_usd')::double precision AS aum_usd, \
                (v.institutional->>'yield_pct')::double precision AS yield_pct \
         FROM asset_version v LEFT JOIN asset_version_score s USING (asset_id, observed_at) \
         WHERE v.asset_id = $1 ORDER BY v.observed_at DESC LIMIT $2",
    )
    .bind(asset_id)
    .bind(i64::from(limit))
    .fetch_all(&db.pool)
    .await?)
}

/// The stored breakdown of one asset's score, as JSON text.
pub async fn breakdown(db: &Db, asset_id: &str) -> Result<Option<String>, StoreError> {
    let text: Option<Option<String>> =
        sqlx::query_scalar("SELECT breakdown::text FROM asset_score WHERE asset_id = $1")
            .bind(asset_id)
            .fetch_optional(&db.pool)
            .await?;
    Ok(text.flatten())
}

/// The data version in which served asset data last changed.
pub async fn changed_version(db: impl PgExecutor<'_>) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar("SELECT version FROM asset_registry").fetch_one(db).await?)
}

/// Records that served asset data changes with `version`.
pub async fn mark_changed(tx: &mut Tx<'_>, version: i64) -> Result<(), StoreError> {
    sqlx::query("UPDATE asset_registry SET version = $1").bind(version).execute(&mut **tx).await?;
    Ok(())
}

/// Records the current published score under the newest version of each asset; returns how many rows changed.
pub async fn note_version_scores(tx: &mut Tx<'_>) -> Result<u64, StoreError> {
    let noted = sqlx::query(
        "INSERT INTO asset_version_score AS t (asset_id, observed_at, score, tier) \
         SELECT DISTINCT ON (v.asset_id) v.asset_id, v.observed_at, s.score, s.tier \
         FROM asset_version v JOIN asset_score s USING (asset_id) ORDER BY v.asset_id, v.observed_at DESC \
         ON CONFLICT (asset_id, observed_at) DO UPDATE SET score = EXCLUDED.score, tier = EXCLUDED.tier \
         WHERE (t.score, t.tier) IS DISTINCT FROM (EXCLUDED.score, EXCLUDED.tier)",
    )
    .execute(&mut **tx)
    .await?;
    Ok(noted.rows_affected())
}
