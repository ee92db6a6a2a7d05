//! The past changes of one vault's published score.

use crate::db_enum::DbEnum;
use crate::decode::{DbMilliPoints, Nullable};
use crate::shared_row::{shared_row, structs};
use crate::{At, Db, StoreError};
use rds_shared::model::vault_history::ScoreHistoryPoint;
use rds_shared::rules::dwell::ChangeType;
use rds_shared::rules::tiers::Tier;
use rds_shared::wire::Timestamp;

/// The newest `limit` published changes from `from` to `to`, both included, newest first.
pub async fn between(
    db: &Db,
    id: &str,
    from: Timestamp,
    to: Timestamp,
    limit: u32,
) -> Result<Vec<ScoreHistoryPoint>, StoreError> {
    let rows = sqlx::query_as(
        "SELECT observed_at, change_type, prev_score, new_score, prev_tier, new_tier, methodology_version FROM score_history \
         WHERE vault_id = $1 AND observed_at BETWEEN $2 AND $3 ORDER BY observed_at DESC, version DESC LIMIT $4",
    )
    .bind(id) // $1 vault_id
    .bind(At(from))
    .bind(At(to))
    .bind(i64::from(limit))
    .fetch_all(&db.pool)
    .await?;
    Ok(structs(rows))
}

shared_row! { ScoreHistoryPoint {
    observed_at: At, change_type: DbEnum<ChangeType>, prev_score: Nullable<DbMilliPoints>,
    new_score: Nullable<DbMilliPoints>, prev_tier: Nullable<DbEnum<Tier>>, new_tier: Nullable<DbEnum<Tier>>,
    methodology_version
} }
