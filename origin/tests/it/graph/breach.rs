//! The breach preview: computed from observed values only, with unknown values left out of the sums and reported separately.

use crate::graph::world::{build, built, get};
use crate::support::market::{DOLLAR, VAULTS, address, line};
use crate::support::testapp::TestApp;
use serde_json::{Value, json};

const SEEN: &str = "2026-11-20T23:56:00Z";

async fn preview(test: &TestApp) -> Value {
    let reply = get(test, "/v1/graph/breach").await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["data"].clone()
}

/// An efficiency mode of the first vault's market.
fn mode(collateral: &[String]) -> String {
    let fields = json!({"emode_id": 1, "chain_id": 1, "market_address": address(0xc0), "label": "Dollars", "ltv": 0.85, "liquidation_threshold": 0.9,
        "liquidation_bonus": 0.05, "collateral_assets": collateral, "borrowable_assets": [], "ltv_zero_assets": []});
    line("market_emode", SEEN, fields)
}

#[tokio::test]
async fn debt_is_priced_where_readings_and_feeds_value_what_may_stand_against_it_and_closer_with_modes() {
    let test = built().await;
    let before = preview(&test).await;
    let entry = &before["protocols"][0];
    assert_eq!((&entry["protocolId"], &entry["source"]), (&json!("harbor"), &json!("onchain_rpc")));
    // Five million supplied, of which four fifths are borrowed.
    assert_eq!((&entry["pricedDebtUsd"], &entry["unpricedDebtUsd"]), (&json!(4_000_000.0), &json!(0.0)));
    assert_eq!(entry["coverage"]["pricedCount"], 1);
    assert_eq!(
        entry["shocks"][4],
        json!({"shockPct": 50, "projectedLossUsd": 1_500_000.0, "liquidatableDebtMinUsd": 1_500_000.0, "liquidatableDebtMaxUsd": 4_000_000.0}),
        "what half of all that is supplied could not cover"
    );

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

    // The coin is accepted as collateral and its supply is observed, but it has no feed, so the whole market counts as unpriced.
    let accepted = later(&mode(&[DOLLAR.to_owned(), address(0xd1)]), 57);
    test.ingest(&[coin(SEEN, "XCOIN", 2), accepted].concat()).await;
    assert_eq!(debts(&test).await, json!([0.0, 6_000_000.0, 1, 0]));
}

/// A reserve of the coin in that market, represented by the vault with this number.
fn coin(observed_at: &str, symbol: &str, vault: usize) -> String {
    let fields = json!({"chain_id": 1, "market_address": address(0xc0), "reserve": "COIN", "asset_symbol": symbol, "asset_address": address(0xd1),
        "token_address": VAULTS[vault].address()});
    line("market_reserve", observed_at, fields)
}

/// The same lines, observed at this minute.
fn later(lines: &str, minute: u32) -> String {
    lines.replace(SEEN, &format!("2026-11-20T23:{minute}:00Z"))
}

/// Builds a snapshot and returns four figures of its first protocol: priced and unpriced debt, number of markets with complete debt, and
/// number of priced markets.
async fn debts(test: &TestApp) -> Value {
    build(test).await;
    let entry = preview(test).await["protocols"][0].clone();
    let coverage = &entry["coverage"];
    json!([entry["pricedDebtUsd"], entry["unpricedDebtUsd"], coverage["debtReadCount"], coverage["pricedCount"]])
}

#[tokio::test]
async fn every_supply_may_be_collateral_with_or_without_a_mode() {
    let test = built().await;
    // The third vault: two million of coins, all borrowed, with unknown collateral and threshold.
    test.ingest(&[mode(&[DOLLAR.to_owned()]), coin(SEEN, "COIN", 2)].concat()).await;
    assert_eq!(debts(&test).await, json!([6_000_000.0, 0.0, 1, 1]));
    let in_no_mode = preview(&test).await["protocols"][0].clone();
    assert_eq!(
        in_no_mode["shocks"][2],
        json!({"shockPct": 20, "projectedLossUsd": 400_000.0, "liquidatableDebtMinUsd": 400_000.0, "liquidatableDebtMaxUsd": 6_000_000.0}),
        "against all seven millions, and no more than they cannot cover"
    );
    assert_eq!(in_no_mode["topMarkets"][0]["liquidationThreshold"], Value::Null);
    test.ingest(&later(&mode(&[DOLLAR.to_owned(), address(0xd1)]), 57)).await;
    assert_eq!(debts(&test).await, json!([6_000_000.0, 0.0, 1, 1]));
    let shut_down = VAULTS[2].identity().replace("2026-11-01T00:00:00Z", SEEN);
    test.ingest(&shut_down.replace("\"is_shutdown\":false", "\"is_shutdown\":true")).await;
    assert_eq!(debts(&test).await, json!([6_000_000.0, 0.0, 1, 1]), "what was supplied before is still there");
    let market = preview(&test).await["protocols"][0]["topMarkets"][0].clone();
    assert_eq!((&market["collateralUsd"], &market["liquidationThreshold"]), (&json!(7_000_000.0), &json!(0.9)));
    test.ingest(&later(&mode(&[DOLLAR.to_owned(), address(0xd1), address(0xd9)]), 58)).await;
    assert_eq!(debts(&test).await, json!([0.0, 6_000_000.0, 1, 0]), "an asset that is accepted and no reserve");
    // A reserve with no supply that is in no efficiency mode offers no collateral.
    test.ingest(&[VAULTS[2].state(SEEN, json!({"tvl_usd": 0})), later(&mode(&[DOLLAR.to_owned()]), 59)].concat()).await;
    assert_eq!(debts(&test).await, json!([4_000_000.0, 0.0, 1, 1]));
}

#[tokio::test]
async fn partly_read_debt_counts_as_unpriced() {
    let test = built().await;
    // A coin reserve whose vault has unknown borrows, then one whose vault is gone.
    for (minute, vault) in [(57, 8), (58, 11)] {
        let lines = [mode(&[DOLLAR.to_owned(), address(0xd1)]), coin(SEEN, "COIN", vault)].concat();
        test.ingest(&later(&lines, minute)).await;
        assert_eq!(debts(&test).await, json!([0.0, 4_000_000.0, 0, 0]));
    }
    assert_eq!(preview(&test).await["protocols"][0]["shocks"][4]["liquidatableDebtMaxUsd"], 0.0);
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
