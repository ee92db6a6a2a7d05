//! Liquidity hubs, as shown in a market's detail.

use crate::store::registry::catalog::address;
use crate::store::{Db, StoreError};
use rds_shared::model::ids::{Address, ChainId};
use rds_shared::model::market::{HubAsset, LiquidityHub};
use sqlx::Row;
use sqlx::postgres::PgRow;

/// The hubs at these addresses of one chain, in order of address; unknown hubs are left out.
pub async fn at(db: &Db, chain: ChainId, addresses: &[Address]) -> Result<Vec<LiquidityHub>, StoreError> {
    if addresses.is_empty() {
        return Ok(Vec::new());
    }
    let contracts: Vec<String> = addresses.iter().map(|address| format!("{chain}:{address}")).collect();
    let rows = sqlx::query(
        "SELECT hub_address, hub_name, asset_symbol, asset_address, interest_rate_strategy, wrapper_address FROM hub_asset \
         WHERE hub = ANY($1) AND is_active ORDER BY hub COLLATE \"C\", asset_symbol COLLATE \"C\", asset_address COLLATE \"C\"",
    )
    .bind(contracts)
    .fetch_all(&db.pool)
    .await?;
    let mut hubs: Vec<LiquidityHub> = Vec::new();
    for row in &rows {
        let at = address("hub_asset.hub_address", row.try_get("hub_address")?)?;
        let asset = asset(row)?;
        match hubs.last_mut().filter(|hub| hub.address == at) {
            Some(hub) => hub.assets.push(asset),
            None => hubs.push(LiquidityHub { address: at, name: row.try_get("hub_name")?, assets: vec![asset] }),
        }
    }
    Ok(hubs)
}

fn asset(row: &PgRow) -> Result<HubAsset, StoreError> {
    let optional = |column: &'static str| {
        let text: Option<String> = row.try_get(column)?;
        text.map(|text| address(column, text)).transpose()
    };
    Ok(HubAsset {
        asset_symbol: row.try_get("asset_symbol")?,
        asset_address: address("hub_asset.asset_address", row.try_get("asset_address")?)?,
        interest_rate_strategy: optional("interest_rate_strategy")?,
        wrapper_address: optional("wrapper_address")?,
    })
}
