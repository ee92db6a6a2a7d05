//! A database is restored while the service runs: afterwards the service shows nothing of the lost state.

use crate::http::tags::{newest, raised};
use crate::support::market;
use crate::support::streaming::{draw, eventually};
use crate::support::testapp::TestApp;
use rds_engine::fail_safe;
use rds_origin::catalog::refresh;
use rds_shared::model::health::FailSafeMode;
use rds_shared::route::Tag;
use rds_store::push::journal::{self, Cause};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

const VAULT_INDEX: usize = 0;

/// The vault's state with this value, some minutes after the market's own.
fn state(minute: u32, tvl: f64) -> String {
    market::VAULTS[VAULT_INDEX].state(&format!("2026-11-20T23:{minute}:00Z"), json!({ "tvl_usd": tvl }))
}

/// The vault's TVL in the list, its TVL on the detail page, and the TVL of each of its readings.
async fn shown(test: &TestApp) -> (f64, f64, Vec<f64>) {
    let id = market::VAULTS[VAULT_INDEX].id();
    let list = test.json("/v1/vaults?limit=100").await;
    let row = list["data"].as_array().unwrap().iter().find(|row| row["id"] == json!(id)).unwrap().clone();
    let page = test.json(&format!("/v1/vaults/{id}?points=2000")).await;
    let tvl = |value: &Value| value["tvl_usd"].as_f64().unwrap();
    let readings = page["data"]["snapshots"].as_array().unwrap().iter().map(tvl).collect();
    (tvl(&row), tvl(&page["data"]["vault"]), readings)
}

/// Refreshes the service; retries until the pool has replaced the broken connections.
async fn refreshed(test: &TestApp) {
    eventually("the database is read again", async || refresh::refresh(&test.app).await.is_ok()).await;
}

#[tokio::test]
async fn a_running_process_serves_what_the_restored_database_says() {
    let test = TestApp::with_market().await;
    let before = shown(&test).await;
    let backup = test.facts.back_up().await;
    refreshed(&test).await;
    test.ingest(&state(51, 7e6)).await;
    test.ingest(&state(52, 8e6)).await;
    assert_eq!(shown(&test).await.0, 8e6);

    backup.restore().await;
    refreshed(&test).await;
    assert_eq!(shown(&test).await, before);
}

#[tokio::test]
async fn versions_that_are_given_again_are_not_taken_for_those_that_are_gone() {
    let test = TestApp::with_market().await;
    let backup = test.facts.back_up().await;
    refreshed(&test).await;
    let before = shown(&test).await;
    test.ingest(&state(51, 7e6)).await;
    assert_eq!(shown(&test).await.0, 7e6);
    let lost = test.app.catalog.current().unwrap().version;

    // Before this process refreshes, another writer raises the data version of the restored database above the lost one.
    backup.restore().await;
    let mut other = PgConnection::connect(&test.facts.url).await.unwrap();
    journal::step(&mut other, Cause::Operator("a test"), test.app.clock.now(), draw()).await.unwrap().unwrap();
    let elsewhere = TestApp::over(
        crate::support::db::TestDb::guest(&test.facts).await,
        crate::support::testapp::TestOptions::default(),
    )
    .await;
    elsewhere.ingest(&state(52, 9e6)).await;
    assert!(elsewhere.app.catalog.current().unwrap().version > lost, "no version is given in two pasts");
    refreshed(&test).await;
    let (listed, page, readings) = shown(&test).await;
    assert_eq!((listed, page), (9e6, 9e6));
    assert_eq!(readings, [before.2, vec![9e6]].concat(), "and no reading of what is gone");
}

#[tokio::test]
async fn a_step_over_lost_numbers_puts_every_copy_behind_and_says_the_mode_again() {
    let test = TestApp::with_market().await;
    fail_safe::set_operator_mode(&test.app.db, &test.app.clock, FailSafeMode::Degraded, "a test", "ada").await.unwrap();
    let before = newest(&test).await;
    let mut one = PgConnection::connect(&test.facts.url).await.unwrap();
    journal::step(&mut one, Cause::Operator("a test"), test.app.clock.now(), draw()).await.unwrap().unwrap();
    let after = newest(&test).await;
    assert_eq!(raised(&before, &after), Tag::ALL, "what the edge has seen of another past is older");
    assert_eq!(after.fail_safe(), Some(FailSafeMode::Degraded));
    assert_eq!(journal::step(&mut one, Cause::Moved, test.app.clock.now(), draw()).await.unwrap(), None);
    assert_eq!(newest(&test).await, after, "and nothing without a step");
}
