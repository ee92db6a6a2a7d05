//! The holders of a vault's shares: the newest snapshot and the history.
//!
//! # Invariants
//!
//! - A complete holder snapshot implicitly closes every position that is not in it, so the order in which snapshots and balances arrive does not matter
//!   (`origin/tests/it/vaults/holders.rs`).

use crate::facts::StoredHolder;
use crate::store::registry::catalog::address;
use crate::store::{At, Db, StoreError, decode_enum};
use rds_shared::model::holders::{HolderFacts, TopHolder};
use rds_shared::rules::holders::Concentration;
use rds_shared::scoring::Ppm;
use rds_shared::wire::Timestamp;
use sqlx::Row;
use sqlx::postgres::PgRow;

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
    let rows = sqlx::query(
        "SELECT observed_at, token_address, holder_count, external_holder_count, top1, top5, top10, hhi, \
                external_top1, external_top5, external_top10, external_hhi, protocol_managed, \
                top_holders::text AS top_holders, indexed_to_block, backfill_complete, coverage_status \
         FROM holder_snapshot WHERE vault_id = $1 AND observed_at BETWEEN $2 AND $3 ORDER BY observed_at DESC LIMIT $4",
    )
    .bind(vault_id)
    .bind(At(from))
    .bind(At(to))
    .bind(i64::from(limit))
    .fetch_all(&db.pool)
    .await?;
    rows.iter().map(facts).collect()
}

fn facts(row: &PgRow) -> Result<HolderFacts, StoreError> {
    let token: Option<String> = row.try_get("token_address")?;
    let block: Option<i64> = row.try_get("indexed_to_block")?;
    Ok(HolderFacts {
        token_address: token.map(|text| address("holder_snapshot.token_address", text)).transpose()?,
        holder_count: row.try_get::<i64, _>("holder_count")?.unsigned_abs(),
        external_holder_count: row.try_get::<i64, _>("external_holder_count")?.unsigned_abs(),
        all: concentration(row, ["top1", "top5", "top10", "hhi"])?,
        external: concentration(row, ["external_top1", "external_top5", "external_top10", "external_hhi"])?,
        protocol_managed: share(row, "protocol_managed")?,
        top_holders: top_holders(row.try_get("top_holders")?)?,
        indexed_to_block: block.map(i64::unsigned_abs),
        backfill_complete: row.try_get("backfill_complete")?,
        coverage_status: decode_enum("holder_snapshot.coverage_status", row.try_get("coverage_status")?)?,
        computed_at: row.try_get::<At, _>("observed_at")?.0,
    })
}

fn share(row: &PgRow, column: &str) -> Result<Option<Ppm>, StoreError> {
    Ok(row.try_get::<Option<i32>, _>(column)?.map(|ppm| Ppm(ppm.into())))
}

fn concentration(row: &PgRow, columns: [&str; 4]) -> Result<Option<Concentration>, StoreError> {
    let [top1, top5, top10, hhi] = columns.map(|column| share(row, column));
    let figures = (top1?, top5?, top10?, hhi?);
    Ok(match figures {
        (Some(top1), Some(top5), Some(top10), Some(hhi)) => Some(Concentration { top1, top5, top10, hhi }),
        _ => None,
    })
}

fn top_holders(text: &str) -> Result<Vec<TopHolder>, StoreError> {
    const COLUMN: &str = "holder_snapshot.top_holders";
    let stored: Vec<StoredHolder> =
        serde_json::from_str(text).map_err(|error| StoreError::Corrupt { column: COLUMN, text: error.to_string() })?;
    let served = |holder: StoredHolder| {
        Ok(TopHolder {
            address: address(COLUMN, holder.address)?,
            balance_raw: holder.balance_raw,
            pct: Ppm(holder.share),
            label: holder.label,
            category: holder.category,
            method: holder.method,
        })
    };
    stored.into_iter().map(served).collect()
}
