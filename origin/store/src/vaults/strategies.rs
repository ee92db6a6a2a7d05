//! The strategies to which an aggregator's vault allocates its deposits.

use crate::columns::{DbFraction, DbList};
use crate::decode::{DbAddress, Nullable};
use crate::shared_row::{shared_row, structs};
use crate::{At, Db, StoreError};
use rds_facts::YieldSource as StoredSource;
use rds_shared::model::strategy::StrategyRow;

/// All strategies ever observed for a vault: active ones first, then by share, largest first. `allocated_usd` is null; the route computes
/// it from the vault's TVL.
pub async fn of_vault(db: &Db, vault_id: &str) -> Result<Vec<StrategyRow>, StoreError> {
    let rows = sqlx::query_as(
        "SELECT strategy_id, address, name, strategy_type, description, is_active, share, target_share, \
                NULL::double precision AS allocated_usd, apr, apy, performance_fee, last_report_at, yield_sources, risk_flags, source, \
                source_url, observed_at \
         FROM vault_strategy WHERE vault_id = $1 \
         ORDER BY is_active DESC, share DESC NULLS LAST, strategy_id COLLATE \"C\"",
    );
    Ok(structs(rows.bind(vault_id).fetch_all(&db.pool).await?))
}

shared_row! { StrategyRow {
    strategy_id, address: Nullable<DbAddress>, name, strategy_type, description, is_active, share: Nullable<DbFraction>,
    target_share: Nullable<DbFraction>, allocated_usd, apr, apy, performance_fee, last_report_at: Nullable<At>,
    yield_sources: DbList<StoredSource>, risk_flags, source, source_url, observed_at: At
} }
