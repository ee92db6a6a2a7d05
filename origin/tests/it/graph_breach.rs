//! The breach preview: made of what was read, silent about what was not, and never adding the one to the other.

use crate::graph_world::{build, built, get};
use crate::market::{DOLLAR, VAULTS, address, line};
use crate::testapp::TestApp;
use serde_json::{Value, json};

const SEEN: &str = "2026-11-20T23:56:00Z";

async fn preview(test: &TestApp) -> Value {
    let reply = get(test, "/v1/graph/breach").await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["data"].clone()
}

/// A mode of the market in which the first vault stands.
fn mode(collateral: &[String]) -> String {
    let fields = json!({"emode_id": 1, "chain_id": 1, "market_address": address(0xc0), "label": "Dollars", "ltv": 0.85, "liquidation_threshold": 0.9,
        "liquidation_bonus": 0.05, "collateral_assets": collateral, "borrowable_assets": [], "ltv_zero_assets": []});
    line("market_emode", SEEN, fields)
}

#[tokio::test]
async fn debt_is_unpriced_until_modes_readings_and_feeds_value_what_stands_against_it() {
    let test = built().await;
    let before = preview(&test).await;
    let entry = &before["protocols"][0];
    assert_eq!((&entry["protocolId"], &entry["source"]), (&json!("harbor"), &json!("onchain_rpc")));
    // Five million supplied, four fifths of it lent out.
    assert_eq!((&entry["pricedDebtUsd"], &entry["unpricedDebtUsd"]), (&json!(0.0), &json!(4_000_000.0)));
    assert_eq!(entry["shocks"][4]["projectedLossUsd"], 0.0, "what is unknown is in no projection");
    assert_eq!(entry["coverage"]["pricedCount"], 0);

    test.ingest(&mode(&[DOLLAR.to_owned()])).await;
    build(&test).await;
    let priced = preview(&test).await["protocols"][0].clone();
    assert_eq!((&priced["pricedDebtUsd"], &priced["unpricedDebtUsd"]), (&json!(4_000_000.0), &json!(0.0)));
    assert_eq!(
        priced["shocks"][2],
        json!({"shockPct": 20, "projectedLossUsd": 190_476.2, "liquidatableDebtMinUsd": 400_000.0, "liquidatableDebtMaxUsd": 4_000_000.0})
    );
    let market = &priced["topMarkets"][0];
    assert_eq!(
        (&market["marketId"], &market["collateralUsd"], &market["liquidationThreshold"]),
        (&json!("harbor-v4-ethereum-prime-pool"), &json!(5_000_000.0), &json!(0.9))
    );
    assert_eq!(
        test.json("/v1/markets/harbor-v4-ethereum-prime-pool").await["data"]["market"]["total_borrowed_usd"],
        4_000_000.0
    );

    // Accepted too, but without a feed: the whole valuation is incomplete.
    let coin = json!({"chain_id": 1, "market_address": address(0xc0), "reserve": "COIN", "asset_symbol": "XCOIN", "asset_address": address(0xd1)});
    test.ingest(
        &[
            line("market_reserve", SEEN, coin),
            mode(&[DOLLAR.to_owned(), address(0xd1)]).replace(SEEN, "2026-11-20T23:57:00Z"),
        ]
        .concat(),
    )
    .await;
    build(&test).await;
    assert_eq!(preview(&test).await["protocols"][0]["unpricedDebtUsd"], 4_000_000.0);
}

#[tokio::test]
async fn a_pair_reports_no_collateral_and_vaults_report_bad_debt_of_their_own() {
    let test = built().await;
    let pair = json!({"protocol_id": "lantern", "protocol_version": "v1", "chain_id": 8453, "address": address(0xe0), "name": "Pair", "shape": "pair",
        "discovered_by": "protocol_api", "loan_asset_symbol": "USDX", "collateral_asset_symbol": "COIN", "lltv": 0.8, "is_protocol_listed": true});
    let totals =
        json!({"chain_id": 8453, "address": address(0xe0), "total_supplied_usd": 900, "total_borrowed_usd": 700});
    let state = VAULTS[0].state(SEEN, json!({"bad_debt_usd": 1234.5}));
    test.ingest(&[line("market", SEEN, pair), line("market_state", SEEN, totals), state].concat()).await;
    build(&test).await;
    let data = preview(&test).await;
    let names: Vec<&str> =
        data["protocols"].as_array().unwrap().iter().map(|it| it["protocolId"].as_str().unwrap()).collect();
    assert_eq!(names, ["harbor", "lantern"], "the greatest debt first");
    let (harbor, lantern) = (&data["protocols"][0], &data["protocols"][1]);
    assert_eq!((&lantern["source"], &lantern["unpricedDebtUsd"]), (&json!("protocol_api"), &json!(700.0)));
    assert_eq!(lantern["chains"][0]["chainId"], 8453);
    let first = format!("1:{}", VAULTS[0].address());
    assert_eq!(
        harbor["vaultBadDebt"],
        json!([{"vaultKey": first, "marketId": "harbor-v4-ethereum-prime-pool", "badDebtUsd": 1234.5}])
    );
    assert_eq!(
        harbor["topVaultExposures"][0],
        json!({"vaultKey": first, "marketId": "harbor-v4-ethereum-prime-pool", "suppliedUsd": 5_000_000.0})
    );
}

#[tokio::test]
async fn the_answer_states_its_schema_maturity_coverage_and_when_it_was_read() {
    let test = built().await;
    let data = preview(&test).await;
    assert_eq!(
        (&data["schemaVersion"], &data["maturity"], &data["shockPcts"]),
        (&json!(2), &json!("preview"), &json!([5, 10, 20, 30, 50]))
    );
    let entry = &data["protocols"][0];
    assert_eq!(entry["coverage"]["status"], "interval_sampled");
    assert!(["methodology", "reason"].iter().all(|name| entry["coverage"][name].as_str().unwrap().len() > 20));
    assert_eq!(
        (&entry["sweepStartedAt"], &entry["sweepCompletedAt"]),
        (&json!("2026-11-20T23:55:00.000Z"), &json!("2026-11-20T23:55:00.000Z"))
    );
    for member in ["observedAt", "protocolId", "source", "maturity", "shockPcts", "chains", "topMarkets"] {
        assert_eq!(data[member], entry[member], "the deprecated {member} repeats the first protocol");
    }
    assert_eq!(test.get("/v1/graph/breach").await.status, 401);
}
