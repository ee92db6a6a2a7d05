//! Lending markets: their keys, and the data of their rows in the catalog.

pub mod hubs;
pub mod oracles;

use super::{At, Db, StoreError, Tx, decode_enum};
use crate::store::registry::catalog::{address, chain_id};
use rds_shared::model::ids::{Address, ChainId};
use rds_shared::model::market::{EfficiencyMode, MarketShape, MarketSource};
use rds_shared::model::status::{BorrowStatus, DepositStatus};
use rds_shared::rules::markets::{key_of, numbered_key};
use rds_shared::wire::Timestamp;
use sqlx::Row;
use sqlx::postgres::PgRow;
use std::collections::{HashMap, HashSet};

/// A market as observed, with its assigned key.
#[derive(Debug, Clone, PartialEq)]
pub struct MarketRecord {
    pub id: String,
    pub market_key: String,
    pub contract: String,
    pub protocol_id: String,
    pub protocol_version: String,
    pub protocol_name: String,
    pub chain_id: ChainId,
    pub chain_name: String,
    pub chain_slug: String,
    pub address: Address,
    pub name: String,
    pub shape: MarketShape,
    pub hub_address: Option<Address>,
    pub discovered_by: MarketSource,
    pub loan_asset_symbol: Option<String>,
    pub collateral_asset_symbol: Option<String>,
    pub lltv: Option<f64>,
    pub is_protocol_listed: bool,
    /// Time of the newest observation of identity or totals.
    pub observed_at: Timestamp,
    /// Supplied value as the protocol reports it; only for a pair.
    pub reported_supplied_usd: Option<f64>,
    /// Borrowed value as the protocol reports it; only for a pair.
    pub reported_borrowed_usd: Option<f64>,
}

/// A reserve as observed.
#[derive(Debug, Clone, PartialEq)]
pub struct ReserveRecord {
    pub asset_symbol: String,
    pub asset_address: Address,
    pub token_address: Option<Address>,
    pub hub_address: Option<Address>,
    pub fee_rate: Option<f64>,
    /// Status according to the gates, for a reserve without a vault row; null without gates. The same for the next two fields.
    pub borrow_status: Option<BorrowStatus>,
    pub deposit_status: Option<DepositStatus>,
    pub deposit_capacity_usd: Option<f64>,
    pub observed_at: Timestamp,
}

/// All markets and reserves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MarketFacts {
    /// In byte order of ids.
    pub markets: Vec<MarketRecord>,
    /// Active reserves by market contract, in byte order of their names.
    pub reserves: HashMap<String, Vec<ReserveRecord>>,
}

/// Joins the gates of a hub-and-spoke reserve to its vault `v`. A spoke's reserve has gates even if neither was observed; their statuses
/// are then `unknown`. An inactive reserve has none.
pub(super) const RESERVE_GATES: &str = "LEFT JOIN LATERAL ( \
         SELECT coalesce(r.borrow_status, 'unknown') AS borrow_status, coalesce(r.deposit_status, 'unknown') AS deposit_status, \
                r.deposit_capacity_usd, r.observed_at \
         FROM market_reserve r JOIN market m USING (contract) \
         WHERE r.chain_id = v.chain_id AND r.token_address = v.address AND r.is_active AND m.shape = 'spoke' \
         ORDER BY r.contract COLLATE \"C\", r.reserve COLLATE \"C\" LIMIT 1 \
     ) AS gate ON true";

/// Assigns keys to those contracts that have none. Only this function assigns market ids.
///
/// Of several new contracts with the same name, the first in byte order gets the key without a number. An assigned key never changes.
pub async fn give_keys(tx: &mut Tx<'_>, contracts: &[String]) -> Result<(), StoreError> {
    if contracts.is_empty() {
        return Ok(());
    }
    let unnamed = sqlx::query(
        "SELECT m.contract, m.protocol_id || '-' || m.protocol_version || '-' || c.slug || '-' AS prefix, \
                coalesce(m.key_hint, m.name) AS name \
         FROM market m JOIN chain c USING (chain_id) \
         WHERE m.contract = ANY($1) AND NOT EXISTS (SELECT FROM market_key k WHERE k.contract = m.contract) \
         ORDER BY m.contract COLLATE \"C\"",
    )
    .bind(contracts)
    .fetch_all(&mut **tx)
    .await?;
    if unnamed.is_empty() {
        return Ok(());
    }
    let ids: Vec<String> = sqlx::query_scalar("SELECT id FROM market_key").fetch_all(&mut **tx).await?;
    let mut taken: HashSet<String> = ids.into_iter().collect();
    // The next number to try per name, so that a thousand markets of one name take a thousand steps.
    let mut next: HashMap<String, u64> = HashMap::new();
    let (mut named, mut keys, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    for row in &unnamed {
        let (prefix, name): (String, String) = (row.try_get("prefix")?, row.try_get("name")?);
        let bare = key_of(&name);
        let number = next.entry(format!("{prefix}{bare}")).or_insert(1);
        let (key, id) = loop {
            let key = numbered_key(&bare, *number);
            let id = format!("{prefix}{key}");
            *number += 1;
            if taken.insert(id.clone()) {
                break (key, id);
            }
        };
        named.push(row.try_get::<String, _>("contract")?);
        keys.push(key);
        ids.push(id);
    }
    sqlx::query(
        "INSERT INTO market_key (contract, market_key, id) SELECT * FROM unnest($1::text[], $2::text[], $3::text[])",
    )
    .bind(named)
    .bind(keys)
    .bind(ids)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Ids of the vaults that are reserves of these markets.
pub async fn vaults_of(tx: &mut Tx<'_>, contracts: &[String]) -> Result<Vec<String>, StoreError> {
    if contracts.is_empty() {
        return Ok(Vec::new());
    }
    let ids = sqlx::query_scalar(
        "SELECT v.id FROM market_reserve r JOIN vault v ON v.chain_id = r.chain_id AND v.address = r.token_address \
         WHERE r.contract = ANY($1)",
    );
    Ok(ids.bind(contracts).fetch_all(&mut **tx).await?)
}

/// Loads all markets and their reserves.
pub async fn load(db: &Db) -> Result<MarketFacts, StoreError> {
    let markets = sqlx::query(
        "SELECT k.id, k.market_key, m.*, pr.name AS protocol_name, c.name AS chain_name, c.slug AS chain_slug, \
                s.total_supplied_usd, s.total_borrowed_usd, greatest(m.observed_at, s.observed_at) AS newest \
         FROM market m JOIN market_key k USING (contract) JOIN protocol pr ON pr.id = m.protocol_id \
         JOIN chain c ON c.chain_id = m.chain_id AND c.is_served LEFT JOIN market_state s ON s.contract = m.contract \
         ORDER BY k.id COLLATE \"C\"",
    );
    let markets = markets.fetch_all(&db.pool).await?.iter().map(market).collect::<Result<_, _>>()?;
    let rows = sqlx::query(
        "SELECT * FROM market_reserve WHERE is_active ORDER BY contract COLLATE \"C\", reserve COLLATE \"C\"",
    )
    .fetch_all(&db.pool)
    .await?;
    let mut reserves: HashMap<String, Vec<ReserveRecord>> = HashMap::new();
    for row in &rows {
        reserves.entry(row.try_get("contract")?).or_default().push(reserve(row)?);
    }
    Ok(MarketFacts { markets, reserves })
}

/// A market's efficiency modes, by id.
pub async fn emodes(db: &Db, contract: &str) -> Result<Vec<EfficiencyMode>, StoreError> {
    let rows = sqlx::query("SELECT * FROM market_emode WHERE contract = $1 AND is_active ORDER BY emode_id")
        .bind(contract)
        .fetch_all(&db.pool)
        .await?;
    let emode = |row: &PgRow| {
        Ok(EfficiencyMode {
            emode_id: row.try_get::<i64, _>("emode_id")?.unsigned_abs(),
            label: row.try_get("label")?,
            ltv: row.try_get("ltv")?,
            liquidation_threshold: row.try_get("liquidation_threshold")?,
            liquidation_bonus: row.try_get("liquidation_bonus")?,
            collateral_assets: row.try_get("collateral_assets")?,
            borrowable_assets: row.try_get("borrowable_assets")?,
            ltv_zero_assets: row.try_get("ltv_zero_assets")?,
        })
    };
    rows.iter().map(emode).collect()
}

fn market(row: &PgRow) -> Result<MarketRecord, StoreError> {
    Ok(MarketRecord {
        id: row.try_get("id")?,
        market_key: row.try_get("market_key")?,
        contract: row.try_get("contract")?,
        protocol_id: row.try_get("protocol_id")?,
        protocol_version: row.try_get("protocol_version")?,
        protocol_name: row.try_get("protocol_name")?,
        chain_id: chain_id(row)?,
        chain_name: row.try_get("chain_name")?,
        chain_slug: row.try_get("chain_slug")?,
        address: address("market.address", row.try_get("address")?)?,
        name: row.try_get("name")?,
        shape: decode_enum("market.shape", row.try_get("shape")?)?,
        hub_address: optional_address("market.hub_address", row.try_get("hub_address")?)?,
        discovered_by: decode_enum("market.discovered_by", row.try_get("discovered_by")?)?,
        loan_asset_symbol: row.try_get("loan_asset_symbol")?,
        collateral_asset_symbol: row.try_get("collateral_asset_symbol")?,
        lltv: row.try_get("lltv")?,
        is_protocol_listed: row.try_get("is_protocol_listed")?,
        observed_at: row.try_get::<At, _>("newest")?.0,
        reported_supplied_usd: row.try_get("total_supplied_usd")?,
        reported_borrowed_usd: row.try_get("total_borrowed_usd")?,
    })
}

fn reserve(row: &PgRow) -> Result<ReserveRecord, StoreError> {
    let borrow_status: Option<&str> = row.try_get("borrow_status")?;
    let deposit_status: Option<&str> = row.try_get("deposit_status")?;
    Ok(ReserveRecord {
        asset_symbol: row.try_get("asset_symbol")?,
        asset_address: address("market_reserve.asset_address", row.try_get("asset_address")?)?,
        token_address: optional_address("market_reserve.token_address", row.try_get("token_address")?)?,
        hub_address: optional_address("market_reserve.hub_address", row.try_get("hub_address")?)?,
        fee_rate: row.try_get("fee_rate")?,
        borrow_status: borrow_status.map(|text| decode_enum("market_reserve.borrow_status", text)).transpose()?,
        deposit_status: deposit_status.map(|text| decode_enum("market_reserve.deposit_status", text)).transpose()?,
        deposit_capacity_usd: row.try_get("deposit_capacity_usd")?,
        observed_at: row.try_get::<At, _>("observed_at")?.0,
    })
}

fn optional_address(column: &'static str, text: Option<String>) -> Result<Option<Address>, StoreError> {
    text.map(|text| address(column, text)).transpose()
}
