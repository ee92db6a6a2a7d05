//! Earlier readings of chains: which of them the store has, and the newest ones with their evidence.

use crate::{At, Db, StoreError};
use serde_json::Value;
use sqlx::FromRow;
use std::collections::BTreeMap;

/// When each vault of the chain was deployed, where that is known.
pub async fn deployment_times(db: &Db, chain_id: i64) -> Result<BTreeMap<String, At>, StoreError> {
    let sql = "SELECT id, deployed_at FROM vault WHERE chain_id = $1 AND deployed_at IS NOT NULL";
    let rows: Vec<(String, At)> = sqlx::query_as(sql).bind(chain_id).fetch_all(&db.pool).await?;
    Ok(rows.into_iter().collect())
}

/// Those of `vaults` whose price per share was read at a block from `from` on and before `to`.
pub async fn priced_between(db: &Db, vaults: &[&str], from: At, to: At) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT id FROM unnest($1::text[]) AS id WHERE EXISTS ( \
                   SELECT FROM chain_reading r WHERE r.vault_id = id AND r.field = 'price_per_share' \
                       AND r.observed_at >= $2 AND r.observed_at < $3)";
    Ok(sqlx::query_scalar(sql).bind(vaults).bind(from).bind(to).fetch_all(&db.pool).await?)
}

/// A block that was read, with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRow)]
pub struct SeenBlock {
    pub block_number: i64,
    pub observed_at: At,
}

/// The last block of each UTC day at which a price per share was read on the chain.
pub async fn last_blocks_of_days(db: &Db, chain_id: i64) -> Result<Vec<SeenBlock>, StoreError> {
    let sql = "SELECT max(block_number) AS block_number, max(observed_at) AS observed_at FROM chain_reading \
               WHERE chain_id = $1 AND field = 'price_per_share' GROUP BY (observed_at AT TIME ZONE 'UTC')::date";
    Ok(sqlx::query_as(sql).bind(chain_id).fetch_all(&db.pool).await?)
}

/// What was read of a vault or an asset, with its evidence.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct WithEvidence {
    /// Id of the vault, or of the asset.
    pub vault_id: String,
    /// A column that can be read, `exposures`, or `dimension.question` of an asset.
    pub field: String,
    pub value: Value,
    pub block_number: i64,
    pub block_hash: String,
    pub calls: Value,
}

/// The newest reading of every field of the chain's vaults, their exposures that were read, and the newest read answers about the chain's
/// assets; of one vault or asset if `vault_id` names it. By block, so that one header serves neighbouring rows.
pub async fn newest_with_evidence(
    db: &Db,
    chain_id: i64,
    vault_id: Option<&str>,
) -> Result<Vec<WithEvidence>, StoreError> {
    let sql = "SELECT * FROM ( \
                   SELECT DISTINCT ON (vault_id, field) vault_id, field, coalesce(value, 'null') AS value, block_number, block_hash, calls \
                   FROM chain_reading WHERE chain_id = $1 AND vault_id = coalesce($2, vault_id) ORDER BY vault_id, field, observed_at DESC) AS r \
               UNION ALL \
               SELECT vault_id, 'exposures', parts, (evidence->>'block_number')::bigint, evidence->>'block_hash', evidence->'calls' \
               FROM exposure WHERE (evidence->>'chain_id')::bigint = $1 AND vault_id = coalesce($2, vault_id) \
               UNION ALL \
               SELECT * FROM ( \
                   SELECT DISTINCT ON (asset_id, dimension, question) asset_id, dimension || '.' || question, to_jsonb(answer), \
                          (evidence->>'block_number')::bigint, evidence->>'block_hash', evidence->'calls' \
                   FROM asset_answer WHERE (evidence->>'chain_id')::bigint = $1 AND asset_id = coalesce($2, asset_id) AND NOT withdrawn \
                   ORDER BY asset_id, dimension, question, as_of DESC) AS a \
               ORDER BY block_number, vault_id, field";
    Ok(sqlx::query_as(sql).bind(chain_id).bind(vault_id).fetch_all(&db.pool).await?)
}

/// The chains of which something was read, ascending.
pub async fn read_chains(db: &Db) -> Result<Vec<i64>, StoreError> {
    let sql = "SELECT chain_id FROM chain c WHERE EXISTS (SELECT FROM chain_reading r WHERE r.chain_id = c.chain_id) \
                   OR EXISTS (SELECT FROM exposure e WHERE (e.evidence->>'chain_id')::bigint = c.chain_id) \
                   OR EXISTS (SELECT FROM asset_answer a WHERE (a.evidence->>'chain_id')::bigint = c.chain_id) ORDER BY chain_id";
    Ok(sqlx::query_scalar(sql).fetch_all(&db.pool).await?)
}
