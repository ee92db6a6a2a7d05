//! The registry of the keys that sign decisions and basket versions.

use crate::decode::Nullable;
use crate::shared_row::{shared_row, structs};
use crate::{At, StoreError, Tx};
use rds_shared::graph::evidence::Signer;
use rds_shared::wire::Timestamp;
use sqlx::PgExecutor;

/// All signers, in order of activation.
pub async fn list(db: impl PgExecutor<'_>) -> Result<Vec<Signer>, StoreError> {
    let sql = "/* list_signers */ SELECT key_id, address, activated_at, retired_at FROM decision_signer ORDER BY activated_at, key_id";
    Ok(structs(sqlx::query_as(sql).fetch_all(db).await?))
}

shared_row! { Signer { address, key_id, activated_at: At, retired_at: Nullable<At> } }

/// The id of the key at `address` if it may sign at `instant`. Locks the key: it cannot be retired until this transaction ends.
pub async fn lock_active(tx: &mut Tx<'_>, address: &str, instant: Timestamp) -> Result<Option<String>, StoreError> {
    let sql = "
        -- lock_active_signer
        SELECT key_id FROM decision_signer
        WHERE address = $1 AND activated_at <= $2 AND (retired_at IS NULL OR $2 < retired_at)
        FOR SHARE";
    Ok(sqlx::query_scalar(sql).bind(address).bind(At(instant)).fetch_optional(&mut **tx).await?)
}

/// Locks the registry: other changes wait until this transaction ends.
pub async fn lock_registry(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    sqlx::query("LOCK TABLE decision_signer IN SHARE ROW EXCLUSIVE MODE").execute(&mut **tx).await?;
    Ok(())
}

/// Locks a key row: waits for transactions that are signing with the key, then prevents signing until this transaction ends.
pub async fn lock_key(tx: &mut Tx<'_>, key_id: &str) -> Result<(), StoreError> {
    let sql = "/* lock_signer_key */ SELECT FROM decision_signer WHERE key_id = $1 FOR NO KEY UPDATE";
    sqlx::query(sql).bind(key_id).execute(&mut **tx).await?;
    Ok(())
}

/// When the key last signed a decision or a basket version.
pub async fn signed_last(tx: &mut Tx<'_>, key_id: &str) -> Result<Option<Timestamp>, StoreError> {
    let sql = "
        -- signer_signed_last
        SELECT greatest(
            (SELECT max(created_at) FROM decision WHERE key_id = $1),
            (SELECT max(created_at) FROM basket_version WHERE signing_key_id = $1))";
    let last: Option<At> = sqlx::query_scalar(sql).bind(key_id).fetch_one(&mut **tx).await?;
    Ok(last.map(|at| at.0))
}

pub async fn insert(tx: &mut Tx<'_>, key_id: &str, address: &str, activated_at: Timestamp) -> Result<(), StoreError> {
    let sql = "/* insert_signer */ INSERT INTO decision_signer (key_id, address, activated_at) VALUES ($1, $2, $3)";
    sqlx::query(sql).bind(key_id).bind(address).bind(At(activated_at)).execute(&mut **tx).await?;
    Ok(())
}

/// Sets the end of a signer's validity.
pub async fn retire(tx: &mut Tx<'_>, key_id: &str, retired_at: Timestamp) -> Result<(), StoreError> {
    let sql = "/* retire_signer */ UPDATE decision_signer SET retired_at = $2 WHERE key_id = $1";
    sqlx::query(sql).bind(key_id).bind(At(retired_at)).execute(&mut **tx).await?;
    Ok(())
}
