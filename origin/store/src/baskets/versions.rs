//! Writes of a rebalance: a new version, or the reason why there is none. Also the later support status of versions.

use crate::db_enum::DbEnum;
use crate::decode::Nullable;
use crate::ingest::facts::json_array;
use crate::{At, StoreError, Tx};
use rds_shared::model::basket::{BasketVersionRow, ConstituentType};
use rds_shared::rules::baskets::weights::Constituent;
use rds_shared::wire::Timestamp;
use sqlx::FromRow;

/// A basket locked for a rebalance.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct LockedBasket {
    pub name: String,
    /// Kind of constituents.
    #[sqlx(try_from = "DbEnum<ConstituentType>")]
    pub constituent_type: ConstituentType,
    /// Whether `in_basket_a` of an asset refers to this basket.
    pub is_basket_a: bool,
    /// When the due rebalance first failed; `None` if it does not fail.
    #[sqlx(try_from = "Nullable<At>")]
    pub halted_since: Option<Timestamp>,
}

/// Locks a basket until the transaction ends, so that a second rebalance sees the version that the first one made.
pub async fn lock(tx: &mut Tx<'_>, basket_id: &str) -> Result<Option<LockedBasket>, StoreError> {
    let sql = "SELECT name, constituent_type, is_basket_a, halted_since FROM basket WHERE id = $1 FOR UPDATE";
    Ok(sqlx::query_as(sql).bind(basket_id).fetch_optional(&mut **tx).await?)
}

/// Inserts a version with its constituents. `name` is the basket's name at this time.
pub async fn insert(
    tx: &mut Tx<'_>,
    (name, number): (&str, i32),
    version: &BasketVersionRow,
    constituents: &[Constituent],
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO basket_version (version_id, basket_id, number, prior_version_id, effective_from, trigger_reason, \
             methodology_version, content_hash, signing_key_id, signature, created_at, basket_name) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, decode($8, 'hex'), $9, $10, $11, $12)",
    )
    .bind(&version.version_id)
    .bind(&version.basket_id)
    .bind(number)
    .bind(&version.prior_version_id)
    .bind(At(version.effective_from.0))
    .bind(version.trigger_reason.as_str())
    .bind(&version.methodology_version)
    .bind(version.content_hash.to_hex())
    .bind(&version.signed.signing_key_id)
    .bind(&version.signed.signature)
    .bind(At(version.created_at))
    .bind(name) // $12 basket_name
    .execute(&mut **tx)
    .await?;
    let rows: Vec<_> = constituents
        .iter()
        .map(|it| serde_json::json!({ "id": it.id, "issuer": it.issuer, "score": it.score.get(), "weight": it.weight.0 }))
        .collect();
    sqlx::query(
        "INSERT INTO basket_constituent (version_id, id, issuer, score, weight) \
         SELECT $1, r.id, r.issuer, r.score, r.weight FROM json_populate_recordset(NULL::basket_constituent, $2::json) AS r",
    )
    .bind(&version.version_id)
    .bind(json_array(&rows)?)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Records that a rebalance by methodology version `rules` reproduced the version in force.
pub async fn confirm(tx: &mut Tx<'_>, version_id: &str, rules: &str, now: Timestamp) -> Result<(), StoreError> {
    let sql = "INSERT INTO basket_version_confirmed (version_id, confirmed_at, methodology_version) VALUES ($1, $2, $3) \
               ON CONFLICT (version_id) DO UPDATE SET confirmed_at = excluded.confirmed_at, methodology_version = excluded.methodology_version";
    sqlx::query(sql).bind(version_id).bind(At(now)).bind(rules).execute(&mut **tx).await?;
    Ok(())
}

/// The chains of these vaults and assets, ascending.
pub async fn chains_of(tx: &mut Tx<'_>, ids: &[&str]) -> Result<Vec<i64>, StoreError> {
    let sql =
        "SELECT chain_id FROM vault WHERE id = ANY($1) UNION SELECT chain_id FROM asset WHERE id = ANY($1) ORDER BY 1";
    Ok(sqlx::query_scalar(sql).bind(ids).fetch_all(&mut **tx).await?)
}

/// Records why the due rebalance cannot be carried out; `None` clears the record.
pub async fn note_halt(tx: &mut Tx<'_>, basket_id: &str, halt: Option<(Timestamp, &str)>) -> Result<(), StoreError> {
    sqlx::query("UPDATE basket SET halted_since = $2, halt_reason = $3 WHERE id = $1")
        .bind(basket_id)
        .bind(halt.map(|(since, _)| At(since)))
        .bind(halt.map(|(_, reason)| reason))
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Records a version's deprecation, its retirement if `retired_at` is given, and its successor. An existing row keeps its deprecation
/// time, and its successor unless a new one is given.
pub async fn note_support(
    tx: &mut Tx<'_>,
    version_id: &str,
    deprecated_at: Timestamp,
    retired_at: Option<Timestamp>,
    successor: Option<&str>,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO basket_version_support (version_id, deprecated_at, retired_at, successor_id) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (version_id) DO UPDATE SET retired_at = excluded.retired_at, \
             successor_id = coalesce(excluded.successor_id, basket_version_support.successor_id)",
    )
    .bind(version_id)
    .bind(At(deprecated_at))
    .bind(retired_at.map(At))
    .bind(successor) // $4 successor_id
    .execute(&mut **tx)
    .await?;
    Ok(())
}
