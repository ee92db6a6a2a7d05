//! What is stored of a chain's markets, to be compared with what is read on the chain.

use crate::{At, Db, StoreError};
use sqlx::FromRow;
use std::collections::BTreeMap;

/// A market with its reserves and efficiency modes.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownMarket {
    pub market: KnownIdentity,
    pub reserves: Vec<KnownReserve>,
    pub emodes: Vec<KnownEmode>,
}

/// Identity of a market.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct KnownIdentity {
    pub contract: String,
    pub shape: String,
    pub name: String,
    pub source: String,
    pub observed_at: At,
}

/// A reserve.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct KnownReserve {
    pub contract: String,
    pub reserve: String,
    pub asset_symbol: String,
    pub asset_address: String,
    pub token_address: Option<String>,
    pub hub_address: Option<String>,
    pub fee_rate: Option<f64>,
    pub borrow_status: Option<String>,
    pub deposit_status: Option<String>,
    pub is_active: bool,
    pub observed_at: At,
    /// Whether it was read on the chain.
    pub is_read: bool,
}

/// An efficiency mode.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct KnownEmode {
    pub contract: String,
    pub emode_id: i64,
    pub label: String,
    pub ltv: f64,
    pub liquidation_threshold: f64,
    pub liquidation_bonus: f64,
    pub collateral_assets: Vec<String>,
    pub borrowable_assets: Vec<String>,
    pub ltv_zero_assets: Vec<String>,
    pub is_active: bool,
    pub observed_at: At,
    /// Whether it was read on the chain.
    pub is_read: bool,
}

/// The markets with these contracts (`{chain_id}:{address}`), by contract. Reserves are in byte order of their names, modes in order of their
/// numbers; those that are not active any more are among them.
pub async fn at(db: &Db, contracts: &[String]) -> Result<BTreeMap<String, KnownMarket>, StoreError> {
    let markets = "SELECT contract, shape, name, source, observed_at FROM market WHERE contract = ANY($1)";
    let markets: Vec<KnownIdentity> = sqlx::query_as(markets).bind(contracts).fetch_all(&db.pool).await?;
    let reserves: Vec<KnownReserve> = sqlx::query_as(
        "SELECT contract, reserve, asset_symbol, asset_address, token_address, hub_address, fee_rate, borrow_status, deposit_status, \
                is_active, observed_at, evidence IS NOT NULL AS is_read \
         FROM market_reserve WHERE contract = ANY($1) ORDER BY contract COLLATE \"C\", reserve COLLATE \"C\"",
    )
    .bind(contracts)
    .fetch_all(&db.pool)
    .await?;
    let emodes: Vec<KnownEmode> = sqlx::query_as(
        "SELECT contract, emode_id, label, ltv, liquidation_threshold, liquidation_bonus, collateral_assets, borrowable_assets, \
                ltv_zero_assets, is_active, observed_at, evidence IS NOT NULL AS is_read \
         FROM market_emode WHERE contract = ANY($1) ORDER BY contract COLLATE \"C\", emode_id",
    )
    .bind(contracts)
    .fetch_all(&db.pool)
    .await?;
    let known = |market: KnownIdentity| {
        (market.contract.clone(), KnownMarket { market, reserves: Vec::new(), emodes: Vec::new() })
    };
    let mut known: BTreeMap<String, KnownMarket> = markets.into_iter().map(known).collect();
    for reserve in reserves {
        if let Some(market) = known.get_mut(&reserve.contract) {
            market.reserves.push(reserve);
        }
    }
    for emode in emodes {
        if let Some(market) = known.get_mut(&emode.contract) {
            market.emodes.push(emode);
        }
    }
    Ok(known)
}
