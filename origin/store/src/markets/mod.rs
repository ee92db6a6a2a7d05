//! Lending markets: their keys, and the data of their rows in the catalog.

pub mod hubs;
pub mod known;
pub mod oracles;

use super::{At, Db, StoreError, Tx};
use crate::db_enum::DbEnum;
use crate::decode::{DbAddress, DbChainId, Nullable};
use crate::shared_row::{shared_row, structs};
use rds_shared::model::ids::{Address, ChainId};
use rds_shared::model::market::{EfficiencyMode, MarketShape, MarketSource};
use rds_shared::model::status::{BorrowStatus, DepositStatus};
use rds_shared::rules::markets::{key_of, numbered_key};
use rds_shared::wire::Timestamp;
use sqlx::FromRow;
use std::collections::{HashMap, HashSet};

/// A market as observed, with its assigned key.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct MarketRecord {
    pub id: String,
    pub market_key: String,
    pub contract: String,
    pub protocol_id: String,
    pub protocol_version: String,
    pub protocol_name: String,
    #[sqlx(try_from = "DbChainId")]
    pub chain_id: ChainId,
    pub chain_name: String,
    pub chain_slug: String,
    #[sqlx(try_from = "DbAddress")]
    pub address: Address,
    pub name: String,
    #[sqlx(try_from = "DbEnum<MarketShape>")]
    pub shape: MarketShape,
    #[sqlx(try_from = "Nullable<DbAddress>")]
    pub hub_address: Option<Address>,
    #[sqlx(try_from = "DbEnum<MarketSource>")]
    pub discovered_by: MarketSource,
    pub loan_asset_symbol: Option<String>,
    pub collateral_asset_symbol: Option<String>,
    pub lltv: Option<f64>,
    pub is_protocol_listed: bool,
    /// Time of the newest observation of identity or totals.
    #[sqlx(rename = "newest", try_from = "At")]
    pub observed_at: Timestamp,
    /// Supplied value as the protocol reports it; only for a pair.
    pub reported_supplied_usd: Option<f64>,
    /// Borrowed value as the protocol reports it; only for a pair.
    pub reported_borrowed_usd: Option<f64>,
}

/// A reserve as observed.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct ReserveRecord {
    pub asset_symbol: String,
    #[sqlx(try_from = "DbAddress")]
    pub asset_address: Address,
    #[sqlx(try_from = "Nullable<DbAddress>")]
    pub token_address: Option<Address>,
    #[sqlx(try_from = "Nullable<DbAddress>")]
    pub hub_address: Option<Address>,
    pub fee_rate: Option<f64>,
    /// Whether the reserve accepts new borrows, as observed at the market; null if not observed. Used if no vault row states it.
    #[sqlx(try_from = "Nullable<DbEnum<BorrowStatus>>")]
    pub borrow_status: Option<BorrowStatus>,
    /// Whether the reserve accepts deposits, as observed at the market; null if not observed. Used if no vault row states it.
    #[sqlx(try_from = "Nullable<DbEnum<DepositStatus>>")]
    pub deposit_status: Option<DepositStatus>,
    /// Deposits that the reserve still accepts, in USD; null if not observed. Used if no vault row states it.
    pub deposit_capacity_usd: Option<f64>,
    #[sqlx(try_from = "At")]
    pub observed_at: Timestamp,
}

/// A reserve with the contract of its market.
#[derive(FromRow)]
struct ReserveRow {
    contract: String,
    #[sqlx(flatten)]
    reserve: ReserveRecord,
}

shared_row! { EfficiencyMode {
    emode_id: i64, label, ltv, liquidation_threshold, liquidation_bonus, collateral_assets, borrowable_assets,
    ltv_zero_assets
} }

/// All markets and reserves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MarketFacts {
    /// In byte order of ids.
    pub markets: Vec<MarketRecord>,
    /// Active reserves by market contract, in byte order of their names.
    pub reserves: HashMap<String, Vec<ReserveRecord>>,
}

/// Joins, as `gate`, the borrow and deposit gates of the spoke reserve that vault `v` represents. A gate that was not
/// observed has status `unknown`. All columns are null if the vault represents no active spoke reserve.
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
    let unnamed: Vec<(String, String, String)> = sqlx::query_as(
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
    // The next number to try for each name. Without it, n new markets of one name would take about n²/2 steps.
    let mut next: HashMap<String, u64> = HashMap::new();
    let (mut named, mut keys, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    for (contract, prefix, name) in unnamed {
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
        named.push(contract);
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
    let markets = sqlx::query_as(
        "SELECT k.id, k.market_key, m.*, pr.name AS protocol_name, c.name AS chain_name, c.slug AS chain_slug, \
                s.total_supplied_usd AS reported_supplied_usd, s.total_borrowed_usd AS reported_borrowed_usd, \
                greatest(m.observed_at, s.observed_at) AS newest \
         FROM market m JOIN market_key k USING (contract) JOIN protocol pr ON pr.id = m.protocol_id \
         JOIN chain c ON c.chain_id = m.chain_id AND c.is_served LEFT JOIN market_state s ON s.contract = m.contract \
         ORDER BY k.id COLLATE \"C\"",
    );
    let markets = markets.fetch_all(&db.pool).await?;
    let rows: Vec<ReserveRow> = sqlx::query_as(
        "SELECT contract, asset_symbol, asset_address, token_address, hub_address, fee_rate, borrow_status, deposit_status, \
                deposit_capacity_usd, observed_at \
         FROM market_reserve WHERE is_active ORDER BY contract COLLATE \"C\", reserve COLLATE \"C\"",
    )
    .fetch_all(&db.pool)
    .await?;
    let mut reserves: HashMap<String, Vec<ReserveRecord>> = HashMap::new();
    for ReserveRow { contract, reserve } in rows {
        reserves.entry(contract).or_default().push(reserve);
    }
    Ok(MarketFacts { markets, reserves })
}

/// A market's efficiency modes, by id.
pub async fn emodes(db: &Db, contract: &str) -> Result<Vec<EfficiencyMode>, StoreError> {
    let emodes = sqlx::query_as(
        "SELECT emode_id, label, ltv, liquidation_threshold, liquidation_bonus, collateral_assets, borrowable_assets, ltv_zero_assets \
         FROM market_emode WHERE contract = $1 AND is_active ORDER BY emode_id",
    );
    Ok(structs(emodes.bind(contract).fetch_all(&db.pool).await?))
}
