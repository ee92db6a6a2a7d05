//! The value that depends on the evidence about each asset and protocol.

use crate::StoreError;
use sqlx::{FromRow, PgExecutor};

/// A subject of evidence with the value that depends on it.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct DependentValue {
    /// Id of the asset or protocol.
    pub id: String,
    /// Observed TVL of the active vaults that depend on it, in USD.
    pub tvl_usd: f64,
    /// Number of these vaults.
    pub vaults: i64,
    /// Number of these vaults without a score.
    pub unscored: i64,
}

/// The assets that active vaults accept or hold, with the value of these vaults. A vault counts once for each of its assets.
pub async fn of_assets(db: impl PgExecutor<'_>) -> Result<Vec<DependentValue>, StoreError> {
    Ok(sqlx::query_as(
        "WITH uses AS ( \
             SELECT v.id AS vault_id, a.id FROM vault v JOIN asset a ON a.chain_id = v.chain_id AND a.address = v.asset_address \
             UNION SELECT e.vault_id, part->>'asset_id' FROM exposure e, jsonb_array_elements(e.parts) AS part \
                   WHERE part->>'asset_id' IS NOT NULL) \
         SELECT u.id, coalesce(sum(s.tvl_usd), 0) AS tvl_usd, count(*) AS vaults, count(*) FILTER (WHERE p.score IS NULL) AS unscored \
         FROM uses u JOIN vault v ON v.id = u.vault_id AND v.is_active JOIN vault_score p ON p.vault_id = v.id \
         LEFT JOIN vault_state s ON s.vault_id = v.id GROUP BY u.id ORDER BY 2 DESC, 3 DESC, u.id COLLATE \"C\"",
    )
    .fetch_all(db)
    .await?)
}

/// The protocols of active vaults, with the value of these vaults.
pub async fn of_protocols(db: impl PgExecutor<'_>) -> Result<Vec<DependentValue>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT v.protocol_id AS id, coalesce(sum(s.tvl_usd), 0) AS tvl_usd, count(*) AS vaults, \
                count(*) FILTER (WHERE p.score IS NULL) AS unscored \
         FROM vault v JOIN vault_score p ON p.vault_id = v.id LEFT JOIN vault_state s ON s.vault_id = v.id \
         WHERE v.is_active GROUP BY v.protocol_id ORDER BY 2 DESC, 3 DESC, v.protocol_id COLLATE \"C\"",
    )
    .fetch_all(db)
    .await?)
}
