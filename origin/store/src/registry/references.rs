//! Look-ups of existing rows that a batch refers to.

use crate::db_enum::DbEnum;
use crate::{At, StoreError, Tx};
use rds_shared::model::market::MarketShape;
use rds_shared::scoring::asset::AssetCategory;
use std::collections::{HashMap, HashSet};

/// A chain's name in paths and its address format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownChain {
    /// Name of the chain in paths; unique.
    pub slug: String,
    /// `evm` or `svm`.
    pub namespace: String,
}

/// All chains, by id.
pub async fn chains(tx: &mut Tx<'_>) -> Result<HashMap<i64, KnownChain>, StoreError> {
    let rows: Vec<(i64, String, String)> =
        sqlx::query_as("SELECT chain_id, slug, namespace FROM chain").fetch_all(&mut **tx).await?;
    Ok(rows.into_iter().map(|(id, slug, namespace)| (id, KnownChain { slug, namespace })).collect())
}

/// Ids of all protocols.
pub async fn protocols(tx: &mut Tx<'_>) -> Result<HashSet<String>, StoreError> {
    let ids: Vec<String> = sqlx::query_scalar("SELECT id FROM protocol").fetch_all(&mut **tx).await?;
    Ok(ids.into_iter().collect())
}

/// Ids of all curators.
pub async fn curators(tx: &mut Tx<'_>) -> Result<HashSet<String>, StoreError> {
    let ids: Vec<String> = sqlx::query_scalar("SELECT id FROM curator").fetch_all(&mut **tx).await?;
    Ok(ids.into_iter().collect())
}

/// Ids of all sources of real-world assets.
pub async fn rwa_sources(tx: &mut Tx<'_>) -> Result<HashSet<String>, StoreError> {
    let ids: Vec<String> = sqlx::query_scalar("SELECT id FROM rwa_source").fetch_all(&mut **tx).await?;
    Ok(ids.into_iter().collect())
}

/// All assets with their categories.
pub async fn assets(tx: &mut Tx<'_>) -> Result<HashMap<String, AssetCategory>, StoreError> {
    let rows: Vec<(String, DbEnum<AssetCategory>)> =
        sqlx::query_as("SELECT id, category FROM asset").fetch_all(&mut **tx).await?;
    Ok(rows.into_iter().map(|(id, DbEnum(category))| (id, category)).collect())
}

/// Those of `ids` that are ids of vaults.
pub async fn vaults(tx: &mut Tx<'_>, ids: &[&str]) -> Result<HashSet<String>, StoreError> {
    let known: Vec<String> =
        sqlx::query_scalar("SELECT id FROM vault WHERE id = ANY($1)").bind(ids).fetch_all(&mut **tx).await?;
    Ok(known.into_iter().collect())
}

/// The vaults at these pairs of chain and address.
pub async fn vaults_at(
    tx: &mut Tx<'_>,
    chain_ids: &[i64],
    addresses: &[&str],
) -> Result<HashMap<(i64, String), String>, StoreError> {
    let rows: Vec<(i64, String, String)> = sqlx::query_as(
        "SELECT chain_id, address, id FROM vault JOIN unnest($1::bigint[], $2::text[]) AS asked (chain_id, address) \
         USING (chain_id, address)",
    )
    .bind(chain_ids)
    .bind(addresses)
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(|(chain_id, address, id)| ((chain_id, address), id)).collect())
}

/// The shapes of all markets, by contract.
pub async fn markets(tx: &mut Tx<'_>) -> Result<HashMap<String, MarketShape>, StoreError> {
    let rows: Vec<(String, DbEnum<MarketShape>)> =
        sqlx::query_as("SELECT contract, shape FROM market").fetch_all(&mut **tx).await?;
    Ok(rows.into_iter().map(|(contract, DbEnum(shape))| (contract, shape)).collect())
}

/// Those of `contracts` that are price feeds.
pub async fn feeds(tx: &mut Tx<'_>, contracts: &[&str]) -> Result<HashSet<String>, StoreError> {
    let known: Vec<String> = sqlx::query_scalar("SELECT contract FROM oracle_feed WHERE contract = ANY($1)")
        .bind(contracts)
        .fetch_all(&mut **tx)
        .await?;
    Ok(known.into_iter().collect())
}

/// The data of the stored review against which the next review is checked.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredReview {
    pub observed_at: At,
    /// `{dimension: milli-points or null}`
    pub dimensions: serde_json::Value,
}

/// The stored reviews of these assets, each asset's in order of time.
pub async fn reviews(tx: &mut Tx<'_>, asset_ids: &[&str]) -> Result<HashMap<String, Vec<StoredReview>>, StoreError> {
    let rows: Vec<(String, At, serde_json::Value)> = sqlx::query_as(
        "SELECT asset_id, observed_at, dimensions FROM asset_version WHERE asset_id = ANY($1) ORDER BY asset_id, observed_at",
    )
    .bind(asset_ids)
    .fetch_all(&mut **tx)
    .await?;
    let mut reviews: HashMap<String, Vec<StoredReview>> = HashMap::new();
    for (asset_id, observed_at, dimensions) in rows {
        reviews.entry(asset_id).or_default().push(StoredReview { observed_at, dimensions });
    }
    Ok(reviews)
}
