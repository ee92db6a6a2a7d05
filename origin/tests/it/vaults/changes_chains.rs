//! What the service reads from a chain moves the sync time of the chain's vaults, and the change feed tells it.

use crate::support::market::{VAULTS, address, line};
use crate::support::testapp::TestApp;
use crate::vaults::changes::{BEGINNING, drain, keys, page};
use serde_json::{Value, json};

fn hash(block: u32) -> String {
    format!("0x{block:064x}")
}

fn reading(at: &str, block: u32, value: f64) -> String {
    let call = json!({"method": "eth_call", "contract": address(0xa1), "data": "0x01e1d114", "answer": "0x00"});
    let fields = json!({"vault_id": VAULTS[0].id(), "field": "deposit_capacity_usd", "value": value, "chain_id": 1, "block_number": block,
        "block_hash": hash(block), "calls": [call], "agreed": 2, "asked": 2});
    line("chain_reading", at, fields)
}

fn sync(at: &str, block: u32) -> String {
    line("chain_sync", at, json!({"chain_id": 1, "block_number": block, "block_hash": hash(block)}))
}

/// The vault's row in the list.
async fn row(test: &TestApp, id: &str) -> Value {
    let listed = test.json("/v1/vaults?limit=100").await;
    listed["data"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap().clone()
}

#[tokio::test]
async fn a_vault_is_as_fresh_as_the_newest_block_at_which_it_was_read() {
    let test = TestApp::with_market().await;
    let id = VAULTS[0].id();
    let (_, since) = drain(&test, BEGINNING, "").await;
    test.ingest(&format!("{}{}", reading("2026-11-20T23:51:00Z", 5, 1.5), sync("2026-11-20T23:51:00Z", 5))).await;
    let read = page(&test, &format!("since={since}")).await;
    assert_eq!(keys(&read.rows, "last_synced_at"), [(id.clone(), "2026-11-20T23:51:00.000Z".to_owned())]);
    let row = row(&test, &id).await;
    assert_eq!((&row["last_synced_at"], &row["freshness_seconds"]), (&json!("2026-11-20T23:51:00.000Z"), &json!(540)));
}

#[tokio::test]
async fn a_block_at_which_nothing_changed_confirms_what_was_read_six_hours_before() {
    let test = TestApp::with_market().await;
    let id = VAULTS[0].id();
    test.ingest(&format!("{}{}", reading("2026-11-20T17:51:00Z", 5, 1.5), sync("2026-11-20T17:51:00Z", 5))).await;
    let (_, since) = drain(&test, BEGINNING, "").await;
    test.ingest(&sync("2026-11-20T23:50:59Z", 6)).await;
    assert_eq!(page(&test, &format!("since={since}")).await.rows, [Value::Null; 0]);
    test.ingest(&sync("2026-11-20T23:57:00Z", 7)).await;
    let confirmed = page(&test, &format!("since={since}")).await;
    assert_eq!(keys(&confirmed.rows, "last_synced_at"), [(id.clone(), "2026-11-20T23:57:00.000Z".to_owned())]);
    let row = row(&test, &id).await;
    assert_eq!((&row["last_synced_at"], &row["freshness_seconds"]), (&json!("2026-11-20T23:57:00.000Z"), &json!(180)));
}

#[tokio::test]
async fn a_block_confirms_no_vault_that_was_never_read_or_whose_chain_is_halted() {
    let test = TestApp::with_market().await;
    let other = VAULTS.iter().find(|vault| vault.id() != VAULTS[0].id() && vault.id().contains("-1-")).unwrap().id();
    test.ingest(&format!("{}{}", reading("2026-11-20T17:51:00Z", 5, 1.5), sync("2026-11-20T17:51:00Z", 5))).await;
    test.ingest(&sync("2026-11-20T23:58:00Z", 6)).await;
    let synced = row(&test, &other).await["last_synced_at"].clone();
    assert!(synced.is_null() || synced.as_str() <= Some("2026-11-20T23:50:00.000Z"), "{synced}");

    let halted = json!({"chain_id": 1, "block_number": 6, "block_hash": hash(6), "halted": "a fork"});
    test.ingest(&line("chain_sync", "2026-11-20T23:59:00Z", halted)).await;
    let read_at: String = sqlx::query_scalar("SELECT read_at::text FROM vault_state WHERE vault_id = $1")
        .bind(VAULTS[0].id())
        .fetch_one(&test.app.db.pool)
        .await
        .unwrap();
    assert!(read_at.starts_with("2026-11-20 23:58:00"), "{read_at}");
}
