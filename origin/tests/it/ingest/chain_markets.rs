//! Markets, reserves and efficiency modes that were read on a chain, and what is left of them after a retraction.

use crate::ingest::market::{clock, faults, ingest, market, observed, text};
use crate::support::db::TestDb;
use rds_shared::route::Tag;
use serde_json::{Value, json};

const POOL: &str = "0x00000000000000000000000000000000000000d1";
const OTHER_POOL: &str = "0x00000000000000000000000000000000000000d2";

/// A fact of a market, read in block number `hours`.
fn read(kind: &str, hours: i64, mut fields: Value) -> Value {
    let call = json!({"method": "eth_call", "contract": POOL, "data": "0xd1946dbc", "answer": "0x00"});
    fields["evidence"] = json!({"chain_id": 31337, "block_number": hours, "block_hash": format!("0x{hours:064x}"), "calls": [call],
                                "agreed": 2, "asked": 3});
    observed(kind, hours, fields)
}

/// A market with one reserve and one mode.
fn pool(hours: i64, address: &str) -> Vec<Value> {
    let token = "0x00000000000000000000000000000000000000e1";
    let identity = json!({"protocol_id": "harbor", "protocol_version": "v3", "chain_id": 31337, "address": address, "name": address,
                          "shape": "pool", "discovered_by": "onchain_rpc"});
    let reserve = json!({"reserve": token, "chain_id": 31337, "market_address": address, "asset_symbol": "USDX", "asset_address": token,
                         "fee_rate": 0.1});
    let emode = json!({"emode_id": 1, "chain_id": 31337, "market_address": address, "label": "stable", "ltv": 0.9,
                       "liquidation_threshold": 0.95, "liquidation_bonus": 0.01, "collateral_assets": [token]});
    vec![read("market", hours, identity), read("market_reserve", hours, reserve), read("market_emode", hours, emode)]
}

async fn rows(test: &TestDb, sql: &str) -> Vec<String> {
    sqlx::query_scalar(sql).fetch_all(&test.db.pool).await.unwrap()
}

#[tokio::test]
async fn a_replaced_block_takes_back_the_reserves_and_modes_that_were_read_from_it_on() {
    let test = TestDb::new().await;
    ingest(&test, &clock(1), &market()).await;
    let report = ingest(&test, &clock(9), &[pool(2, POOL), pool(4, OTHER_POOL)].concat()).await;
    assert_eq!((report.changed["market"], report.changed["market_reserve"], report.changed["market_emode"]), (2, 2, 2));
    assert!(report.tags.contains(&Tag::Markets));
    let ids = "SELECT id FROM market_key WHERE contract LIKE '31337:0x%d_' ORDER BY id";
    let before = rows(&test, ids).await;
    assert_eq!(before.len(), 2);

    let hash = format!("0x{:064x}", 3);
    let fields = json!({"chain_id": 31337, "from_block": 3, "block_hash": hash, "reason": "a fork"});
    let halted = json!({"chain_id": 31337, "block_number": 2, "block_hash": hash, "halted": "a fork"});
    let report =
        ingest(&test, &clock(9), &[observed("chain_retraction", 5, fields), observed("chain_sync", 5, halted)]).await;
    assert!(report.tags.contains(&Tag::Markets));
    let left = |table: &str| format!("SELECT market_address FROM {table} WHERE evidence IS NOT NULL");
    assert_eq!(rows(&test, &left("market_reserve")).await, [POOL]);
    assert_eq!(rows(&test, &left("market_emode")).await, [POOL]);
    // The market keeps its id, and whatever is observed of it next is newer.
    assert_eq!(rows(&test, ids).await, before);
    let stale = "SELECT address FROM market WHERE observed_at = 'epoch' AND evidence IS NULL";
    assert_eq!(rows(&test, stale).await, [OTHER_POOL]);
    ingest(&test, &clock(9), &pool(1, OTHER_POOL)).await;
    assert_eq!(rows(&test, stale).await, [""; 0]);
    assert_eq!(rows(&test, &left("market_reserve")).await.len(), 2);
}

#[tokio::test]
async fn evidence_of_a_market_is_checked() {
    let test = TestDb::new().await;
    ingest(&test, &clock(1), &market()).await;
    for (place, line) in pool(2, POOL).into_iter().enumerate() {
        let mut lines = pool(2, POOL);
        lines[place] = line;
        lines[place]["evidence"]["agreed"] = json!(4);
        let found = faults(&test, &clock(9), &text(&lines)).await;
        assert_eq!(found.iter().map(|fault| fault.field.as_deref()).collect::<Vec<_>>(), [Some("evidence.agreed")]);
    }
}
