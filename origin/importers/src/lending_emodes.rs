//! lending_emodes.jsonl: efficiency modes of the lending pools.

use super::adapter::{Adapter, Known, Observed};
use super::lending_reserves::AS_OF;
use rds_engine::ingest::Observation;
use rds_facts::MarketEmode;
use rds_facts::fact::Kind;
use rds_store::At;
use serde::Deserialize;

pub struct LendingEmodes;

/// An efficiency mode of a lending pool.
#[derive(Deserialize)]
pub struct Row {
    market: String,
    chain_id: i64,
    emode_id: i64,
    label: String,
    ltv: f64,
    liquidation_threshold: f64,
    liquidation_bonus: f64,
    collateral_assets: Vec<String>,
    borrowable_assets: Vec<String>,
    ltv_zero_assets: Vec<String>,
    source: String,
}

impl Adapter for LendingEmodes {
    const FILE: &'static str = "lending_emodes.jsonl";
    type Row = Row;

    fn observe(&self, row: Row, known: &Known) -> Observed {
        let Some(pool) = known.pools.get(&(row.chain_id, row.market)) else {
            return Observed::Skipped("the pool is not in the list of reserves");
        };
        Observed::As(vec![Observation::MarketEmode(Box::new(MarketEmode {
            kind: Kind,
            observed_at: At(AS_OF),
            source: row.source,
            contract: String::new(),
            emode_id: row.emode_id,
            chain_id: row.chain_id,
            market_address: pool.clone(),
            label: row.label,
            ltv: row.ltv,
            liquidation_threshold: row.liquidation_threshold,
            liquidation_bonus: row.liquidation_bonus,
            collateral_assets: row.collateral_assets,
            borrowable_assets: row.borrowable_assets,
            ltv_zero_assets: row.ltv_zero_assets,
            is_active: true,
            evidence: None,
        }))])
    }
}
