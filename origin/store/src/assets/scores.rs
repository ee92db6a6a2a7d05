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
}

impl AssetScoreRow {
    /// Whether publishing this row would change nothing.
    pub fn same_as(&self, stored: &AssetRow) -> bool {
        self.reads_as(stored) && self.breakdown.as_ref().map(|it| it.get()) == stored.breakdown.as_deref()
    }

    /// Whether the values that vault scores depend on (score, hard-fail flags) are unchanged.
    pub fn reads_as(&self, stored: &AssetRow) -> bool {
        let flags = stored.hard_fail_flags.iter().flatten().map(String::as_str);
        stored.has_score && self.score == stored.score && self.hard_fail_flags.iter().copied().eq(flags)
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
                r.last_refresh_at, s.asset_id IS NOT NULL AS has_score, s.score, s.hard_fail_flags, s.breakdown::text \
         FROM asset a JOIN chain c USING (chain_id) \
         LEFT JOIN (SELECT DISTINCT ON (asset_id) * FROM asset_version ORDER BY asset_id, observed_at DESC) AS r ON r.asset_id = a.id \
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
             hard_fail_cap = EXCLUDED.hard_fail_cap, breakdown = EXCLUDED.breakdown, updated_at = EXCLUDED.updated_at",
    )
    .bind(json_array(rows)?)
    .execute(&mut **tx)
    .await?;
    Ok(())
}
