//! What addresses are known to hold of vaults.

use super::{At, Db, StoreError};
use rds_shared::model::ids::{Address, VaultId};
use rds_shared::wire::Timestamp;
use sqlx::Row;

/// A position that has not been left.
#[derive(Debug, Clone, PartialEq)]
pub struct PositionRecord {
    /// The vault.
    pub vault_id: VaultId,
    /// Share tokens in their smallest unit.
    pub balance_raw: String,
    /// Part of the vault's supply.
    pub share: Option<f64>,
    /// When it was read.
    pub observed_at: Timestamp,
}

/// The positions of `holder`, at most `limit` of them, in byte order of their vaults.
pub async fn of(db: &Db, holder: &Address, limit: u32) -> Result<Vec<PositionRecord>, StoreError> {
    let rows = sqlx::query(
        "SELECT vault_id, balance_raw, share, observed_at FROM vault_position \
         WHERE holder = $1 AND balance_raw ~ '[1-9]' ORDER BY vault_id COLLATE \"C\" LIMIT $2",
    )
    .bind(holder.as_str())
    .bind(i64::from(limit))
    .fetch_all(&db.pool)
    .await?;
    let position = |row: &sqlx::postgres::PgRow| {
        let text: String = row.try_get("vault_id")?;
        let vault_id = VaultId::parse(&text).ok_or(StoreError::Corrupt { column: "vault_position.vault_id", text })?;
        Ok(PositionRecord {
            vault_id,
            balance_raw: row.try_get("balance_raw")?,
            share: row.try_get("share")?,
            observed_at: row.try_get::<At, _>("observed_at")?.0,
        })
    };
    rows.iter().map(position).collect()
}
