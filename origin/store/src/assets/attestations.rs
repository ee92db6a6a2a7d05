//! Reviewers, their attestations, and the data that a signature is verified against.

use crate::{At, StoreError};
use sqlx::types::Json;
use sqlx::{FromRow, PgExecutor};
use std::collections::HashMap;

use rds_facts::ReviewerKey;

/// The signed data of one review version.
#[derive(Debug, Clone, FromRow)]
pub struct Subject {
    /// The asset's slug.
    pub asset_id: String,
    pub chain_id: i64,
    pub address: Option<String>,
    /// `observed_at` of the review; identifies the version.
    pub recorded_at: At,
    pub review_status: String,
    /// `{dimension: milli-points or null}`
    pub dimensions: serde_json::Value,
}

/// An attestation with all data needed to verify it.
#[derive(Debug, Clone, FromRow)]
pub struct SignedRow {
    /// Number of the attestation.
    pub number: i64,
    /// Number of the review version.
    pub version_number: i64,
    #[sqlx(flatten)]
    pub subject: Subject,
    /// Product to which the reviewer maps the asset.
    pub product_id: Option<String>,
    pub reviewer_id: String,
    pub reviewer_name: String,
    /// The reviewer's keys.
    pub keys: Json<Vec<ReviewerKey>>,
    /// Id of the signing key.
    pub key_id: String,
    pub signed_at: At,
    /// Ed25519 signature in hex.
    pub signature: String,
}

/// A reviewer with a count of attestations.
#[derive(Debug, Clone, FromRow)]
pub struct ReviewerFacts {
    /// Slug of the reviewer.
    pub id: String,
    pub name: String,
    pub organisation: Option<String>,
    pub website_url: Option<String>,
    pub keys: Json<Vec<ReviewerKey>>,
    /// Number of attestations.
    pub attestations: i64,
    /// Time of the newest attestation.
    pub last_attested_at: Option<At>,
}

const SIGNED: &str = "SELECT t.number, v.number AS version_number, a.id AS asset_id, a.chain_id, a.address, v.observed_at AS recorded_at, \
            v.review_status, v.dimensions, t.product_id, t.reviewer_id, w.name AS reviewer_name, w.keys, t.key_id, t.signed_at, t.signature \
     FROM attestation t JOIN asset a ON a.id = t.asset_id JOIN reviewer w ON w.id = t.reviewer_id \
     JOIN asset_version v ON v.asset_id = t.asset_id AND v.observed_at = t.reviewed_at";

/// The newest attestations of one asset, newest first.
pub async fn of_asset(db: impl PgExecutor<'_>, asset_id: &str, limit: u32) -> Result<Vec<SignedRow>, StoreError> {
    let sql = format!("{SIGNED} WHERE t.asset_id = $1 ORDER BY t.signed_at DESC, t.number DESC LIMIT $2");
    Ok(sqlx::query_as(&sql).bind(asset_id).bind(i64::from(limit)).fetch_all(db).await?)
}

/// The newest attestation per asset and reviewer that maps the asset to a product.
pub async fn mappings(db: impl PgExecutor<'_>) -> Result<Vec<SignedRow>, StoreError> {
    let sql = format!(
        "{SIGNED} WHERE t.number IN (SELECT DISTINCT ON (asset_id, reviewer_id) number FROM attestation \
             WHERE product_id IS NOT NULL ORDER BY asset_id, reviewer_id, signed_at DESC, number DESC) \
         ORDER BY t.number"
    );
    Ok(sqlx::query_as(&sql).fetch_all(db).await?)
}

/// The existing review versions among the pairs of `asset_ids` and `recorded_at`.
pub async fn subjects(
    db: impl PgExecutor<'_>,
    asset_ids: &[&str],
    recorded_at: &[At],
) -> Result<HashMap<(String, At), Subject>, StoreError> {
    let rows: Vec<Subject> = sqlx::query_as(
        "SELECT a.id AS asset_id, a.chain_id, a.address, v.observed_at AS recorded_at, v.review_status, v.dimensions \
         FROM unnest($1::text[], $2::timestamptz[]) AS asked (asset_id, recorded_at) \
         JOIN asset_version v ON v.asset_id = asked.asset_id AND v.observed_at = asked.recorded_at \
         JOIN asset a ON a.id = v.asset_id",
    )
    .bind(asset_ids)
    .bind(recorded_at)
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| ((row.asset_id.clone(), row.recorded_at), row)).collect())
}

/// All reviewers by id. Only attestations of assets on served chains are counted.
pub async fn reviewers(db: impl PgExecutor<'_>) -> Result<Vec<ReviewerFacts>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT w.id, w.name, w.organisation, w.website_url, w.keys, count(t.number) AS attestations, \
                max(t.signed_at) AS last_attested_at \
         FROM reviewer w LEFT JOIN (attestation t JOIN asset a ON a.id = t.asset_id \
              JOIN chain c ON c.chain_id = a.chain_id AND c.is_served) ON t.reviewer_id = w.id GROUP BY w.id ORDER BY w.id COLLATE \"C\"",
    )
    .fetch_all(db)
    .await?)
}
