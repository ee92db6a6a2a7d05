//! The simulated markets, feeds and holders: every state that no data set contains.

use crate::support::testapp::{TestApp, TestOptions};
use rds_engine::clock::Clock;
use rds_origin::catalog::refresh;
use rds_shared::wire::Timestamp;
use rds_simulate::{self as simulate, Options};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A service with a simulated market of 40 vaults and 40 hours, at the time at which the simulation ends.
async fn demo() -> TestApp {
    let test = TestApp::with(TestOptions::default()).await;
    let clock = Clock::held(Timestamp::parse("2026-11-21T02:10:00Z").unwrap());
    simulate::run(&test.app.db, &clock, Options { seed: 1, vaults: 40, hours: 40 }, None, &mut |_: &str| ())
        .await
        .unwrap();
    assert!(test.app.clock.set(Timestamp::parse("2026-11-21T02:10:00Z").unwrap()));
    refresh::refresh(&test.app).await.unwrap();
    test
}

fn words<'a>(rows: impl IntoIterator<Item = &'a Value>, field: &str) -> BTreeSet<String> {
    rows.into_iter().map(|row| row[field].as_str().unwrap_or("null").to_owned()).collect()
}

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[tokio::test]
async fn the_demo_shows_every_kind_of_market_and_every_state_of_a_reserve() {
    let test = demo().await;
    let list = test.json("/v1/markets?limit=100").await["data"].clone();
    let markets = list.as_array().unwrap();
    assert_eq!(words(markets, "shape"), set(&["pool", "spoke", "pair"]));
    assert_eq!(words(markets, "source"), set(&["protocol_api", "onchain_rpc"]));
    assert_eq!(words(markets, "totals_source"), set(&["members", "protocol_api"]));
    assert!(markets.iter().all(|market| market["is_protocol_listed"] == true || market["shape"] != "pair"));
    let mut reserves = Vec::new();
    for market in markets {
        let page = test.json(&format!("/v1/markets/{}", market["id"].as_str().unwrap())).await["data"].clone();
        assert_eq!(&page["market"], market);
        assert_eq!(market["borrow_observed_count"] == 0, market["total_borrowed_usd"].is_null(), "{market}");
        let counted =
            page["reserves"].as_array().unwrap().iter().filter(|reserve| reserve["is_shutdown"] == false).count();
        assert_eq!(market["reserve_count"], json!(counted), "{market}");
        reserves.extend(page["reserves"].as_array().unwrap().iter().cloned());
    }
    let open = words(&reserves, "borrow_status");
    assert_eq!(open, set(&["open", "disabled", "paused", "capped", "unknown", "not_applicable"]));
    let depositable: BTreeSet<String> = reserves.iter().map(|reserve| reserve["is_depositable"].to_string()).collect();
    assert_eq!(depositable, set(&["true", "false", "null"]));
    assert!(reserves.iter().any(|reserve| reserve["is_shutdown"] == true));
    assert!(
        markets.iter().any(|market| market["reserve_count"] == 0 && market["shape"] == "pool"),
        "one is shut down whole"
    );
}

#[tokio::test]
async fn the_demo_maps_every_type_and_shows_who_administers_a_market_and_where_a_spoke_draws() {
    let test = demo().await;
    let mapped: Vec<(String, bool, i64)> = sqlx::query_as(
        "SELECT DISTINCT mapping_type, verified, count(*) OVER (PARTITION BY mapping_type) FROM mapping WHERE applies_to <> '[]'",
    )
    .fetch_all(&test.app.db.pool)
    .await
    .unwrap();
    let types: BTreeSet<String> = mapped.iter().map(|(mapping_type, ..)| mapping_type.clone()).collect();
    assert_eq!(types, set(&["bridge", "signer_set", "oracle_vendor", "operator_cluster"]));
    assert!(mapped.iter().any(|(mapping_type, verified, _)| mapping_type == "bridge" && !verified));
    let spokes = test.json("/v1/markets?version=v4").await["data"].clone();
    let spoke = spokes.as_array().unwrap().iter().find(|market| market["shape"] == "spoke").unwrap();
    let page = test.json(&format!("/v1/markets/{}", spoke["id"].as_str().unwrap())).await["data"].clone();
    assert_eq!(page["hubs"][0]["address"], spoke["hub_address"]);
    assert!(page["hubs"][0]["assets"].as_array().unwrap().len() > 3);
    assert_eq!(words(page["signer_sets"].as_array().unwrap(), "form"), set(&["multisig", "timelock"]));
}

#[tokio::test]
async fn the_demo_has_feeds_of_every_kind_and_status() {
    let test = demo().await;
    let list = test.json("/v1/oracle?limit=100").await["data"].clone();
    let feeds = list.as_array().unwrap();
    assert_eq!(words(feeds, "status"), set(&["fresh", "stale", "unknown"]));
    assert_eq!(words(feeds, "kind"), set(&["price", "exchange_rate", "nav", "proof_of_reserves", "sequencer_uptime"]));
    assert!(words(feeds, "vendor").contains("null"));
}

#[tokio::test]
async fn the_demo_has_days_that_were_observed_and_days_that_are_derived() {
    let test = demo().await;
    let rows = test.json("/v1/assets").await["data"].clone();
    let symbol = rows[0]["asset_symbol"].as_str().unwrap();
    let days = test.json(&format!("/v1/assets/{symbol}/history")).await["data"].clone();
    let days = days.as_array().unwrap();
    assert_eq!(words(days, "source"), set(&["observed", "derived"]));
    assert_eq!(days.len(), 30, "a month is remembered");
    assert_eq!(days[28]["source"], "observed", "yesterday was kept by the run");
}

#[tokio::test]
async fn the_demo_has_holders() {
    let test = demo().await;
    // Two holders have positions in several vaults, including vaults whose holders were read only in part.
    let several =
        "SELECT holder FROM vault_position WHERE balance_raw <> '0' GROUP BY 1 HAVING count(*) > 1 ORDER BY 1";
    let holders: Vec<String> = sqlx::query_scalar(several).fetch_all(&test.app.db.pool).await.unwrap();
    assert_eq!(holders.len(), 2, "{holders:?}");
    for holder in &holders {
        let held = test.json(&format!("/v1/portfolio/{holder}")).await["data"].clone();
        assert!(held["positions"].as_array().unwrap().len() == 3 && !held["weighted_risk_score"].is_null(), "{held}");
    }
    // The portfolio of any vault's largest holder contains that vault.
    let vaults = test.json("/v1/vaults?limit=30").await["data"].clone();
    let mut complete = 0;
    for vault in vaults.as_array().unwrap() {
        let path = format!("/v1/vault/devnet/{}/holders?completeOnly=true", vault["address"].as_str().unwrap());
        let seen = test.json(&path).await["data"].clone();
        let Some(largest) = seen["top_holders"].get(0) else { continue };
        let held = test.json(&format!("/v1/portfolio/{}", largest["address"].as_str().unwrap())).await["data"].clone();
        let found =
            held["positions"].as_array().unwrap().iter().find(|it| it["vault_id"] == vault["id"]).unwrap().clone();
        assert_eq!(found["balance_raw"], largest["balance_raw"]);
        assert!((found["share"].as_f64().unwrap() - largest["pct"].as_f64().unwrap()).abs() < 1e-6, "{found}");
        complete += 1;
    }
    assert!(complete > 5, "{complete}");
}
