//! The inputs of asset scores, and the published scores.

use crate::ingest::facts::json_array;
use crate::{At, StoreError, Tx};
use serde::Serialize;
use serde_json::value::RawValue;
use sqlx::FromRow;

/// An asset with its chain's profile, its newest review and its published score.
#[derive(Debug, Clone, FromRow)]
pub struct AssetRow {
    pub id: String,
    pub category: String,
    pub underlying: Option<String>,
    pub dependency_chain: Vec<String>,
    pub lockup_days: i32,
    pub attestation_cadence: Option<String>,
    pub is_settlement: bool,
    pub bridge_centralization: Option<i32>,
    pub sequencer_centralization: Option<i32>,
    pub validator_set_size_score: Option<i32>,
    pub chain_age_score: Option<i32>,
    pub reviewed_at: Option<At>,
    pub review_status: Option<String>,
    pub dimensions: Option<serde_json::Value>,
    pub hard_fail_events: Option<serde_json::Value>,
    pub hard_fail_overrides: Option<serde_json::Value>,
    pub last_refresh_at: Option<At>,
    pub has_score: bool,
    pub score: Option<i32>,
    pub hard_fail_flags: Option<Vec<String>>,
    pub breakdown: Option<String>,
    /// Whether the newest review is signed.
    pub is_attested: bool,
    #[sqlx(flatten)]
    pub evidence: StoredEvidence,
}

/// What a published score rests on, as stored.
#[derive(Debug, Clone, Default, PartialEq, FromRow, Serialize)]
pub struct StoredEvidence {
    pub basis: Option<String>,
    /// Parts per million.
    pub coverage: Option<i32>,
    /// Milli-points.
    pub lowest: Option<i32>,
    /// Milli-points.
    pub highest: Option<i32>,
    /// `{dimension: milli-points}`.
    #[sqlx(rename = "scored_dimensions")]
    pub dimensions: Option<serde_json::Value>,
    #[sqlx(rename = "scored_review_status")]
    pub review_status: Option<String>,
    pub refreshed_at: Option<At>,
    pub cadence_seconds: Option<i64>,
}

/// A row of `asset_score`.
#[derive(Debug, Serialize)]
pub struct AssetScoreRow {
    pub asset_id: String,
    pub score: Option<i32>,
    pub tier: Option<&'static str>,
    pub hard_fail_flags: Vec<&'static str>,
    pub hard_fail_cap: Option<i32>,
    pub breakdown: Option<Box<RawValue>>,
    pub updated_at: At,
    #[serde(flatten)]
    pub evidence: StoredEvidence,
}

impl AssetScoreRow {
    /// Whether publishing this row would change nothing.
    pub fn same_as(&self, stored: &AssetRow) -> bool {
        self.reads_as(stored)
            && self.evidence == stored.evidence
            && self.breakdown.as_ref().map(|it| it.get()) == stored.breakdown.as_deref()
    }

    /// Whether the values that vault scores depend on (score, range, hard-fail flags) are unchanged.
    pub fn reads_as(&self, stored: &AssetRow) -> bool {
        let flags = stored.hard_fail_flags.iter().flatten().map(String::as_str);
        let range = |it: &StoredEvidence| (it.coverage, it.lowest, it.highest);
        stored.has_score
            && self.score == stored.score
            && range(&self.evidence) == range(&stored.evidence)
            && self.hard_fail_flags.iter().copied().eq(flags)
    }
}

/// All assets.
///
/// The query joins whole tables instead of looking rows up. In the transaction of a first large batch the tables have no statistics yet, so
/// each look-up may become a scan.
pub async fn load(tx: &mut Tx<'_>) -> Result<Vec<AssetRow>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT a.id, a.category, a.underlying, a.dependency_chain, a.lockup_days, a.attestation_cadence, \
                c.is_settlement, c.bridge_centralization, c.sequencer_centralization, c.validator_set_size_score, \
                c.chain_age_score, r.observed_at AS reviewed_at, r.review_status, r.dimensions, r.hard_fail_events, r.hard_fail_overrides, \
                r.last_refresh_at, s.asset_id IS NOT NULL AS has_score, s.score, s.hard_fail_flags, s.breakdown::text, \
                t.asset_id IS NOT NULL AS is_attested, s.basis, s.coverage, s.lowest, s.highest, \
                s.dimensions AS scored_dimensions, s.review_status AS scored_review_status, s.refreshed_at, s.cadence_seconds \
         FROM asset a JOIN chain c USING (chain_id) \
         LEFT JOIN (SELECT DISTINCT ON (asset_id) * FROM asset_version ORDER BY asset_id, observed_at DESC) AS r ON r.asset_id = a.id \
         LEFT JOIN (SELECT DISTINCT asset_id, reviewed_at FROM attestation) AS t \
                   ON t.asset_id = a.id AND t.reviewed_at = r.observed_at \
         LEFT JOIN asset_score s ON s.asset_id = a.id",
    )
    .fetch_all(&mut **tx)
    .await?)
}

/// Replaces published scores.
pub async fn write(tx: &mut Tx<'_>, rows: &[AssetScoreRow]) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO asset_score SELECT s.* FROM json_populate_recordset(NULL::asset_score, $1::json) AS s \
         ON CONFLICT (asset_id) DO UPDATE SET \
             score = EXCLUDED.score, tier = EXCLUDED.tier, hard_fail_flags = EXCLUDED.hard_fail_flags, \
             hard_fail_cap = EXCLUDED.hard_fail_cap, breakdown = EXCLUDED.breakdown, updated_at = EXCLUDED.updated_at, \
             basis = EXCLUDED.basis, coverage = EXCLUDED.coverage, lowest = EXCLUDED.lowest, highest = EXCLUDED.highest, \
             dimensions = EXCLUDED.dimensions, review_status = EXCLUDED.review_status, \
             refreshed_at = EXCLUDED.refreshed_at, cadence_seconds = EXCLUDED.cadence_seconds",
    )
    .bind(json_array(rows)?)
    .execute(&mut **tx)
    .await?;
    Ok(())
}
