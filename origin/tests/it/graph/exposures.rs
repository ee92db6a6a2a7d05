//! Wrappers, feeds and bridges that exposures state, from ingest to the verdict.

use crate::graph::decisions_world::World;
use crate::graph::world::{SEEN, build, built, key, opened};
use crate::support::market::{VAULTS, address, line};
use crate::support::testapp::TestApp;
use axum::http::StatusCode;
use serde_json::{Value, json};

fn contract(number: u32) -> String {
    format!("1:{}", address(number))
}

/// The exposures of a vault outside every market.
fn holding(place: usize, parts: Value) -> String {
    line("exposure", SEEN, json!({"vault_id": VAULTS[place].id(), "status": "observed", "parts": parts}))
}

/// A feed that no market uses.
fn feed(number: u32) -> String {
    line(
        "oracle_feed",
        SEEN,
        json!({"chain_id": 1, "address": address(number), "feed_kind": "price", "vendor": "said"}),
    )
}

fn limited(place: usize, field: &str, limit: f64) -> Value {
    json!({"portfolioRef": "book", "positions": [{"vaultKey": key(place), "amountUsd": 100}], "limits": {field: limit}})
}

#[tokio::test]
async fn a_vault_outside_every_market_says_what_prices_wraps_and_carried_what_it_holds() {
    let world = World::new().await;
    let one_feed = contract(0xfc).replace("fc", "FC");
    let parts = json!([
        {"asset_id": "coin", "share": 0.6, "oracles": [one_feed], "wrappers": [contract(0xab)],
         "bridges": [{"id": "ferry/deep", "verified": true, "confidence": 0.9}, {"id": "ferry/coin", "verified": false, "confidence": 0.1}]},
        {"asset_id": "dollar", "share": 0.4, "oracles": [one_feed]},
    ]);
    let batch = [feed(0xfc), holding(8, parts)].concat();
    let report = world.test.ingest(&batch).await.json();
    assert_eq!(report["data"]["changed"], json!({"exposure": 1, "oracle_feed": 1}));
    assert_eq!(world.test.ingest(&batch).await.json()["data"]["changed"], json!({}), "told again, it is the same");
    build(&world.test).await;

    let looked = opened(&world.test, &key(8)).await;
    assert_eq!(
        looked["assets"][0],
        json!({
            "assetKey": "coin", "symbol": "COIN", "share": 0.6, "usdExposure": "3600000",
            "wrappers": [{"id": contract(0xab), "share": 0.6}],
            "oracles": [{"id": contract(0xfc), "vendor": "said", "share": 0.6}],
            // A registered mapping of the same bridge counts if it is more certain.
            "bridges": [{"id": "ferry/coin", "verified": false, "confidence": 0.5, "share": 0.6},
                        {"id": "ferry/deep", "verified": true, "confidence": 0.9, "share": 0.6}],
        })
    );
    for (field, limit, verdict) in [
        ("maxSharePerOracle", 0.5, "reject"),
        ("maxSharePerOracleVendor", 0.5, "reject"),
        ("maxSharePerBridge", 0.59, "reject"),
        ("maxSharePerBridge", 0.61, "caution"),
        ("maxSharePerBridge", 0.9, "approve"),
    ] {
        let checked = world.check(&limited(8, field, limit)).await;
        assert_eq!(
            (&checked["verdict"], &checked["unresolvedVaults"]),
            (&json!(verdict), &json!([])),
            "{field} {limit}"
        );
    }
}

#[tokio::test]
async fn a_contract_on_a_withheld_chain_is_not_named_and_a_feed_there_is_unknown() {
    let test = built().await;
    let chain = json!({"chain_id": 8453, "slug": "base", "name": "Base", "namespace": "evm", "is_settlement": true, "is_served": false});
    let far = |number: u32| format!("8453:{}", address(number));
    let away = json!({"chain_id": 8453, "address": address(0xfc), "feed_kind": "price"});
    let parts =
        json!([{"asset_id": "coin", "share": 1, "oracles": [far(0xfc)], "wrappers": [far(0xab), contract(0xab)]}]);
    test.ingest(&[line("oracle_feed", SEEN, away), holding(8, parts), line("chain", SEEN, chain)].concat()).await;
    build(&test).await;
    let coin = opened(&test, &key(8)).await["assets"][0].clone();
    assert_eq!((&coin["oracles"], &coin["wrappers"]), (&json!([]), &json!([{"id": contract(0xab), "share": 1}])));
}

#[tokio::test]
async fn an_exposure_that_makes_no_sense_is_refused_by_field() {
    let test = TestApp::with_market().await;
    let of = |more: Value| {
        let mut part = json!({"asset_id": "dollar", "share": 0.5});
        part.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!([part])
    };
    let bridge = |id: &str| json!({"id": id, "verified": true, "confidence": 1});
    let crowd = |many: usize| Value::Array(vec![json!({"asset_id": "dollar", "share": 0.000_001}); many]);
    let inner = |more: Value| {
        let mut parts = of(more);
        parts[0]["asset_id"] = Value::Null;
        parts[0]["vault_id"] = json!(VAULTS[0].id());
        parts
    };
    for (parts, field) in [
        (crowd(1_001), "parts"),
        (of(json!({"oracles": ["0x12"]})), "parts[0].oracles[0]"),
        (of(json!({"oracles": [contract(0xfc)]})), "parts[0].oracles[0]"),
        (of(json!({"wrappers": [contract(0xab), contract(0xab)]})), "parts[0].wrappers[1]"),
        (of(json!({"wrappers": vec![contract(0xab); 51]})), "parts[0].wrappers"),
        (of(json!({"bridges": [bridge("a b")]})), "parts[0].bridges[0].id"),
        (of(json!({"bridges": [bridge("a"), bridge("a")]})), "parts[0].bridges[1].id"),
        (of(json!({"bridges": [{"id": "a", "verified": true, "confidence": 1.1}]})), "parts[0].bridges[0].confidence"),
        (of(json!({"bridges": [{"id": "a"}]})), "parts[0].bridges[0]"),
        (of(json!({"feeds": []})), "parts[0]"),
        (inner(json!({"oracles": [contract(0xfc)]})), "parts[0].oracles"),
        (inner(json!({"bridges": [bridge("a")]})), "parts[0].bridges"),
    ] {
        let reply = test.admin("POST", "/ingest", &holding(8, parts)).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{field}: {}", reply.text());
        assert!(reply.text().contains(&format!("line 1, {field}")), "{field}: {}", reply.text());
    }
    test.ingest(&holding(8, crowd(1_000))).await;
}

/// A market with this name and a reserve of the dollar, represented by the vault with the number `token`, if given.
fn market(chain_id: u32, number: u32, name: &str, token: Option<usize>) -> String {
    let market = json!({"protocol_id": "harbor", "protocol_version": "v4", "chain_id": chain_id, "address": address(number), "name": name,
        "shape": "spoke", "discovered_by": "onchain_rpc"});
    let reserve = json!({"chain_id": chain_id, "market_address": address(number), "reserve": "USDX", "asset_symbol": "USDXe",
        "asset_address": crate::support::market::DOLLAR, "token_address": token.map(|place| VAULTS[place].address())});
    [line("market", SEEN, market), line("market_reserve", SEEN, reserve)].concat()
}

#[tokio::test]
async fn a_feed_of_a_market_whose_name_another_has_too_prices_nothing() {
    let world = World::new().await;
    let oracles = async || opened(&world.test, &key(0)).await["assets"][1]["oracles"].clone();
    let ask = async || world.check(&limited(0, "maxSharePerOracle", 1.0)).await["unresolvedVaults"].clone();
    let known = json!([{"id": contract(0xfe), "vendor": "lamp", "share": 0.7}]);
    // A market of the same name on another chain is a different market.
    world.test.ingest(&market(8453, 0xc5, "Prime Pool", None)).await;
    build(&world.test).await;
    assert_eq!(oracles().await, known);

    let other = holding(8, json!([{"asset_id": "dollar", "share": 1}]));
    world.test.ingest(&[market(1, 0xc6, "Prime:Pool", Some(8)), other].concat()).await;
    build(&world.test).await;
    assert_eq!(oracles().await, json!([]), "which of the two uses the feed nobody says");
    assert_eq!(ask().await, json!([key(0)]));
    assert_eq!(opened(&world.test, &key(8)).await["assets"][0]["oracles"], json!([]), "nor does the other have it");

    // Feeds that the exposure itself states still count.
    let parts = json!([{"asset_id": "dollar", "share": 1, "oracles": [contract(0xfe)]}]);
    world
        .test
        .ingest(&line(
            "exposure",
            "2026-11-20T23:56:00Z",
            json!({"vault_id": VAULTS[0].id(), "status": "observed", "parts": parts}),
        ))
        .await;
    build(&world.test).await;
    assert_eq!(opened(&world.test, &key(0)).await["assets"][0]["oracles"][0]["id"], contract(0xfe));
    assert_eq!(ask().await, json!([]));
}

#[tokio::test]
async fn half_of_what_prices_a_holding_does_not_pass_for_all_of_it() {
    let world = World::new().await;
    // The first vault also belongs to another market, with a unique name.
    let used = json!({"chain_id": 1, "address": address(0xf9), "feed_kind": "price", "used_by": ["Clear"], "reserve_symbols": ["USDXe"]});
    world.test.ingest(&[market(1, 0xc8, "Clear", Some(0)), line("oracle_feed", SEEN, used)].concat()).await;
    build(&world.test).await;
    let priced = async || opened(&world.test, &key(0)).await["assets"][1]["oracles"].as_array().unwrap().len();
    assert_eq!(priced().await, 2);
    world.test.ingest(&market(1, 0xc6, "Prime Pool", None)).await;
    build(&world.test).await;
    assert_eq!(priced().await, 0);
    let unresolved = world.check(&limited(0, "maxSharePerOracle", 1.0)).await["unresolvedVaults"].clone();
    assert_eq!(unresolved, json!([key(0)]));
}

#[tokio::test]
async fn a_feed_of_a_symbol_that_two_tokens_of_a_market_have_prices_neither() {
    let world = World::new().await;
    let twin = json!({"chain_id": 1, "market_address": address(0xc0), "reserve": "USDX-2", "asset_symbol": "USDXe", "asset_address": address(0xd7)});
    world.test.ingest(&line("market_reserve", SEEN, twin)).await;
    build(&world.test).await;
    assert_eq!(opened(&world.test, &key(0)).await["assets"][1]["oracles"], json!([]));
    let unresolved = world.check(&limited(0, "maxSharePerOracle", 1.0)).await["unresolvedVaults"].clone();
    assert_eq!(unresolved, json!([key(0)]));
}
