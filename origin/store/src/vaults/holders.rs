//! The holders of a vault's shares: the newest snapshot and the history.
//!
//! # Invariants
//!
//! - A complete holder snapshot implicitly closes every position that is not in it, so the order in which snapshots and balances arrive does not matter
//!   (`origin/tests/it/vaults/holders.rs`).

use crate::columns::{DbConcentration, DbList, DbPpm};
use crate::db_enum::DbEnum;
use crate::decode::{DbAddress, Nullable};
use crate::shared_row::{shared_row, structs};
use crate::{At, Db, StoreError};
use rds_facts::StoredHolder;
use rds_shared::model::holders::HolderFacts;
use rds_shared::model::status::CoverageStatus;
use rds_shared::wire::Timestamp;

/// The newest snapshot of a vault.
pub async fn latest(db: &Db, vault_id: &str) -> Result<Option<HolderFacts>, StoreError> {
    let newest = between(db, vault_id, Timestamp::from_micros(i64::MIN), Timestamp::from_micros(i64::MAX), 1).await?;
    Ok(newest.into_iter().next())
}

/// The newest `limit` snapshots from `from` to `to`, both included, newest first.
pub async fn between(
    db: &Db,
    vault_id: &str,
    from: Timestamp,
    to: Timestamp,
    limit: u32,
) -> Result<Vec<HolderFacts>, StoreError> {
    let rows = sqlx::query_as(
        "SELECT observed_at, token_address, holder_count, external_holder_count, \
                CASE WHEN num_nulls(top1, top5, top10, hhi) = 0 THEN ARRAY[top1, top5, top10, hhi] END AS concentration, \
                CASE WHEN num_nulls(external_top1, external_top5, external_top10, external_hhi) = 0 \
                     THEN ARRAY[external_top1, external_top5, external_top10, external_hhi] END AS external_concentration, \
                protocol_managed, top_holders, indexed_to_block, backfill_complete, coverage_status \
         FROM holder_snapshot WHERE vault_id = $1 AND observed_at BETWEEN $2 AND $3 ORDER BY observed_at DESC LIMIT $4",
    )
    .bind(vault_id)
    .bind(At(from))
    .bind(At(to))
    .bind(i64::from(limit))
    .fetch_all(&db.pool)
    .await?;
    Ok(structs(rows))
}

shared_row! { HolderFacts {
    token_address: Nullable<DbAddress>, holder_count: i64, external_holder_count: i64,
    all: Nullable<DbConcentration> = "concentration", external: Nullable<DbConcentration> = "external_concentration",
    protocol_managed: Nullable<DbPpm>, top_holders: DbList<StoredHolder>, indexed_to_block: Nullable<i64>,
    backfill_complete, coverage_status: DbEnum<CoverageStatus>, computed_at: At = "observed_at"
} }
