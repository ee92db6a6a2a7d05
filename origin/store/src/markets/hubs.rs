//! Liquidity hubs, as shown in a market's detail.

use crate::decode::{DbAddress, Nullable};
use crate::shared_row::{Shared, shared_row};
use crate::{Db, StoreError};
use rds_shared::model::ids::{Address, ChainId};
use rds_shared::model::market::{HubAsset, LiquidityHub};
use sqlx::FromRow;

/// An asset with its hub.
#[derive(FromRow)]
struct HubAssetRow {
    hub_address: DbAddress,
    hub_name: String,
    #[sqlx(flatten)]
    asset: Shared<HubAsset>,
}

shared_row! { HubAsset {
    asset_symbol, asset_address: DbAddress, interest_rate_strategy: Nullable<DbAddress>,
    wrapper_address: Nullable<DbAddress>
} }

/// The hubs at these addresses of one chain, in order of address; unknown hubs are left out.
pub async fn at(db: &Db, chain: ChainId, addresses: &[Address]) -> Result<Vec<LiquidityHub>, StoreError> {
    if addresses.is_empty() {
        return Ok(Vec::new());
    }
    let contracts: Vec<String> = addresses.iter().map(|address| format!("{chain}:{address}")).collect();
    let rows: Vec<HubAssetRow> = sqlx::query_as(
        "SELECT hub_address, hub_name, asset_symbol, asset_address, interest_rate_strategy, wrapper_address FROM hub_asset \
         WHERE hub = ANY($1) AND is_active ORDER BY hub COLLATE \"C\", asset_symbol COLLATE \"C\", asset_address COLLATE \"C\"",
    )
    .bind(contracts)
    .fetch_all(&db.pool)
    .await?;
    let mut hubs: Vec<LiquidityHub> = Vec::new();
    for HubAssetRow { hub_address: DbAddress(address), hub_name: name, asset: Shared(asset) } in rows {
        match hubs.last_mut().filter(|hub| hub.address == address) {
            Some(hub) => hub.assets.push(asset),
            None => hubs.push(LiquidityHub { address, name, assets: vec![asset] }),
        }
    }
    Ok(hubs)
}
