//! The value that depends on the evidence about each asset and protocol.

use crate::StoreError;
use rds_shared::scoring::ScoreBasis;
use sqlx::{FromRow, PgExecutor};

/// A subject of evidence with the value that depends on it.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct DependentValue {
    /// Id of the asset or protocol.
    pub id: String,
    /// Observed TVL of the active vaults that depend on it, in USD.
    pub tvl_usd: f64,
    /// The part of `tvl_usd` in vaults without a score, or whose score rests on an assumption or a bound.
    pub unlockable_tvl_usd: f64,
    /// Number of the vaults that depend on it.
    pub vaults: i64,
    /// Number of these vaults without a score.
    pub unscored: i64,
}

/// What a vault's score rests on where evidence is missing most. `$1` in the statements.
const WEAK: [&str; 2] = [ScoreBasis::Assumed.as_str(), ScoreBasis::Bound.as_str()];

/// The columns of [`DependentValue`] after the id, for active vaults `v` with their scores `p` and states `s`.
const VALUE: &str = "coalesce(sum(s.tvl_usd), 0) AS tvl_usd, \
                     coalesce(sum(s.tvl_usd) FILTER (WHERE p.score IS NULL OR p.basis = ANY($1)), 0) AS unlockable_tvl_usd, \
                     count(*) AS vaults, count(*) FILTER (WHERE p.score IS NULL) AS unscored";

/// The assets that active vaults accept or hold, with the value of these vaults. A vault counts once for each of its assets.
pub async fn of_assets(db: impl PgExecutor<'_>) -> Result<Vec<DependentValue>, StoreError> {
    let sql = format!(
        "WITH uses AS ( \
             SELECT v.id AS vault_id, a.id FROM vault v JOIN asset a ON a.chain_id = v.chain_id AND a.address = v.asset_address \
             UNION SELECT e.vault_id, part->>'asset_id' FROM exposure e, jsonb_array_elements(e.parts) AS part \
                   WHERE part->>'asset_id' IS NOT NULL) \
         SELECT u.id, {VALUE} \
         FROM uses u JOIN vault v ON v.id = u.vault_id AND v.is_active LEFT JOIN vault_score p ON p.vault_id = v.id \
         LEFT JOIN vault_state s ON s.vault_id = v.id GROUP BY u.id ORDER BY u.id COLLATE \"C\""
    );
    Ok(sqlx::query_as(&sql).bind(&WEAK[..]).fetch_all(db).await?)
}

/// The protocols of active vaults, with the value of these vaults.
pub async fn of_protocols(db: impl PgExecutor<'_>) -> Result<Vec<DependentValue>, StoreError> {
    let sql = format!(
        "SELECT v.protocol_id AS id, {VALUE} \
         FROM vault v LEFT JOIN vault_score p ON p.vault_id = v.id LEFT JOIN vault_state s ON s.vault_id = v.id \
         WHERE v.is_active GROUP BY v.protocol_id ORDER BY v.protocol_id COLLATE \"C\""
    );
    Ok(sqlx::query_as(&sql).bind(&WEAK[..]).fetch_all(db).await?)
}

/// Ids of the active vaults, in byte order.
pub async fn active_vaults(db: impl PgExecutor<'_>) -> Result<Vec<String>, StoreError> {
    Ok(sqlx::query_scalar("SELECT id FROM vault WHERE is_active ORDER BY id COLLATE \"C\"").fetch_all(db).await?)
}
