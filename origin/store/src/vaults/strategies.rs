//! Strategies of aggregators' vaults.

use crate::facts::YieldSource as StoredSource;
use crate::store::registry::catalog::{address, instant};
use crate::store::{At, Db, StoreError};
use rds_shared::model::strategy::{StrategyRow, YieldSource};
use rds_shared::scoring::Ppm;
use rds_shared::scoring::decimal::from_float;
use sqlx::Row;
use sqlx::postgres::PgRow;

/// All strategies ever observed for a vault: active ones first, then by share, largest first. `allocated_usd` is left empty.
pub async fn of_vault(db: &Db, vault_id: &str) -> Result<Vec<StrategyRow>, StoreError> {
    let rows = sqlx::query(
        "SELECT strategy_id, address, name, strategy_type, description, is_active, share, target_share, apr, apy, \
                performance_fee, last_report_at, yield_sources::text AS yield_sources, risk_flags, source, source_url, observed_at \
         FROM vault_strategy WHERE vault_id = $1 \
         ORDER BY is_active DESC, share DESC NULLS LAST, strategy_id COLLATE \"C\"",
    )
    .bind(vault_id)
    .fetch_all(&db.pool)
    .await?;
    rows.iter().map(strategy).collect()
}

fn strategy(row: &PgRow) -> Result<StrategyRow, StoreError> {
    let contract: Option<String> = row.try_get("address")?;
    let sources: Vec<StoredSource> = serde_json::from_str(row.try_get("yield_sources")?)
        .map_err(|error| StoreError::Corrupt { column: "vault_strategy.yield_sources", text: error.to_string() })?;
    let served = |source: StoredSource| YieldSource {
        name: source.name,
        kind: source.kind,
        protocol_id: source.protocol_id,
        apr: source.apr,
    };
    Ok(StrategyRow {
        strategy_id: row.try_get("strategy_id")?,
        address: contract.map(|text| address("vault_strategy.address", text)).transpose()?,
        name: row.try_get("name")?,
        strategy_type: row.try_get("strategy_type")?,
        description: row.try_get("description")?,
        is_active: row.try_get("is_active")?,
        share: share(row.try_get("share")?),
        target_share: share(row.try_get("target_share")?),
        allocated_usd: None,
        apr: row.try_get("apr")?,
        apy: row.try_get("apy")?,
        performance_fee: row.try_get("performance_fee")?,
        last_report_at: instant(row, "last_report_at")?,
        yield_sources: sources.into_iter().map(served).collect(),
        risk_flags: row.try_get("risk_flags")?,
        source: row.try_get("source")?,
        source_url: row.try_get("source_url")?,
        observed_at: row.try_get::<At, _>("observed_at")?.0,
    })
}

/// The table enforces that fractions are between 0 and 1.
fn share(fraction: Option<f64>) -> Option<Ppm> {
    fraction.and_then(|fraction| from_float(fraction, 6).ok()).map(Ppm)
}
