//! Positions of addresses in vaults.

use crate::decode::DbVaultId;
use crate::{At, Db, StoreError};
use rds_shared::model::ids::{Address, VaultId};
use rds_shared::wire::Timestamp;
use sqlx::FromRow;

/// An open position.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct PositionRecord {
    #[sqlx(try_from = "DbVaultId")]
    pub vault_id: VaultId,
    /// Balance in the share token's smallest unit, as decimal digits.
    pub balance_raw: String,
    /// Part of the vault's supply, as a fraction.
    pub share: Option<f64>,
    #[sqlx(try_from = "At")]
    pub observed_at: Timestamp,
}

/// The open positions of `holder`, at most one per vault.
///
/// A position is closed if a newer, complete holder snapshot of the vault exists that did not update it.
pub async fn of(db: &Db, holder: &Address) -> Result<Vec<PositionRecord>, StoreError> {
    let positions = sqlx::query_as(
        "SELECT vault_id, balance_raw, share, observed_at FROM vault_position p \
         WHERE holder = $1 AND balance_raw ~ '[1-9]' AND NOT EXISTS ( \
             SELECT FROM holder_snapshot h WHERE h.vault_id = p.vault_id AND h.observed_at > p.observed_at \
               AND h.coverage_status = 'complete')",
    );
    Ok(positions.bind(holder.as_str()).fetch_all(&db.pool).await?)
}
