//! Strategies of vaults: lending markets, several strategies, or a single one, depending on the protocol.

use crate::support::market::{VAULTS, address, line};
use crate::support::testapp::{TestApp, holder};
use axum::http::StatusCode;
use rds_shared::access::Plan;
use serde_json::{Value, json};

const SEEN: &str = "2026-11-20T23:50:00Z";

/// A protocol of the market, with the route that shows its vaults' strategies.
fn protocol(id: &str, breakdown: Value) -> String {
    let fields = json!({ "id": id, "name": id, "dependencies": [], "audits": 1, "strategy": "curated_lending", "breakdown": breakdown });
    line("protocol", SEEN, fields)
}

fn vault(number: usize, route: &str) -> String {
    format!("/v1/vault/{}/{}/{route}", VAULTS[number].chain, VAULTS[number].address())
}

fn strategy(number: usize, id: &str, changed: Value) -> String {
    let mut fields = json!({ "vault_id": VAULTS[number].id(), "strategy_id": id, "name": format!("Strategy {id}") });
    fields.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
    line("strategy", SEEN, fields)
}

async fn ask(test: &TestApp, target: &str) -> Value {
    let reply = test.get_as(&holder(Plan::Data), target).await;
    assert_eq!(reply.status, StatusCode::OK, "{target}: {}", reply.text());
    reply.json()["data"].clone()
}

#[tokio::test]
async fn each_route_is_for_the_vaults_of_its_protocols() {
    let test = TestApp::with_market().await;
    for route in ["markets", "strategies", "strategy"] {
        for number in [0, 4, 8] {
            assert_eq!(test.get_as(&holder(Plan::Data), &vault(number, route)).await.code(), "NOT_FOUND", "{route}");
        }
    }
    let all = [("harbor", "markets"), ("lantern", "strategies"), ("driftwood", "strategy")];
    test.ingest(&all.map(|(id, breakdown)| protocol(id, json!(breakdown))).concat()).await;
    for (number, own) in [(0, "markets"), (4, "strategies"), (8, "strategy")] {
        for route in ["markets", "strategies", "strategy"] {
            let reply = test.get_as(&holder(Plan::Data), &vault(number, route)).await;
            let expected = if route == own { StatusCode::OK } else { StatusCode::NOT_FOUND };
            assert_eq!(reply.status, expected, "{number} {route}: {}", reply.text());
        }
        assert_eq!(ask(&test, &vault(number, own)).await["vault_id"], VAULTS[number].id());
    }
    assert_eq!(test.get(&vault(0, "markets")).await.code(), "UNAUTHORIZED");
    assert_eq!(test.get("/v1/vault/ethereum/0x12/strategies").await.code(), "INVALID_ADDRESS");
    assert_eq!(test.get(&format!("/v1/vault/atlantis/{}/strategy", address(1))).await.code(), "NOT_FOUND");
}

#[tokio::test]
async fn an_allocation_shows_every_market_and_the_risk_of_its_collateral() {
    let test = TestApp::with_market().await;
    let parts = json!([
        { "asset_id": "pebble", "share": 0.25, "oracle": "twap", "lltv": 0.915 },
        { "asset_id": "dollar", "share": 0.6, "oracle": "attested_push", "lltv": 0.86, "same_peg": true },
    ]);
    let lines = [
        protocol("harbor", json!("markets")),
        line(
            "asset",
            SEEN,
            json!({ "id": "pebble", "chain_id": 1, "address": address(500), "symbol": "PBL", "name": "Pebble" }),
        ),
        line(
            "exposure",
            "2026-11-20T23:55:00Z",
            json!({ "vault_id": VAULTS[0].id(), "status": "observed", "parts": parts }),
        ),
    ];
    test.ingest(&lines.concat()).await;
    let data = ask(&test, &vault(0, "markets")).await;
    for (field, expected) in [
        ("status", json!("observed")),
        ("loan_asset_symbol", json!("USDX")),
        ("tvl_usd", json!(5e6)),
        ("market_count", json!(2)),
        ("allocated_share", json!(0.85)),
        ("idle_share", json!(0.15)),
        ("idle_usd", json!(750_000.0)),
        ("observed_at", json!("2026-11-20T23:55:00.000Z")),
    ] {
        assert_eq!(data[field], expected, "{field}");
    }
    let [first, second] = [&data["markets"][0], &data["markets"][1]];
    assert_eq!(
        (&first["collateral"]["asset_id"], &first["share"], &first["allocated_usd"]),
        (&json!("dollar"), &json!(0.6), &json!(3e6))
    );
    assert_eq!(
        (&first["lltv"], &first["oracle"], &first["same_peg"]),
        (&json!(0.86), &json!("attested_push"), &json!(true))
    );
    let collateral = &first["collateral"];
    assert_eq!((&collateral["review_status"], &collateral["risk_tier"]), (&json!("reviewed"), &json!("Prime")));
    assert!(collateral["risk_score"].as_f64().unwrap() > 8.0);
    assert_eq!((&second["collateral"]["symbol"], &second["collateral"]["risk_score"]), (&json!("PBL"), &Value::Null));
    assert_eq!(data["collateral"]["weighted_score"], collateral["risk_score"], "of what is scored");
    assert_eq!(
        (&data["collateral"]["scored_share"], &data["collateral"]["unscored_share"]),
        (&json!(0.6), &json!(0.25))
    );
    assert_eq!(
        (&data["collateral"]["highest_lltv"], &data["collateral"]["same_peg_share"]),
        (&json!(0.915), &json!(0.6))
    );

    test.ingest(&line(
        "exposure",
        "2026-11-20T23:56:00Z",
        json!({ "vault_id": VAULTS[0].id(), "status": "unavailable" }),
    ))
    .await;
    let lost = ask(&test, &vault(0, "markets")).await;
    assert_eq!(
        (&lost["status"], &lost["markets"], &lost["allocated_share"]),
        (&json!("unavailable"), &json!([]), &Value::Null)
    );
    assert_eq!(lost["collateral"]["weighted_score"], Value::Null);
}

#[tokio::test]
async fn strategies_are_told_largest_first_and_what_is_left_is_idle() {
    let test = TestApp::with_market().await;
    let source = json!([{ "name": "Harbor", "kind": "interest", "protocol_id": "harbor", "apr": 0.03 }]);
    let more = json!({ "share": 0.5, "target_share": 0.6, "apr": 0.04, "apy": 0.0408, "yield_sources": source, "risk_flags": ["leverage"],
                       "address": address(700).to_uppercase().replace("0X", "0x"), "last_report_at": "2026-11-20T12:00:00Z" });
    let lines = [
        protocol("lantern", json!("strategies")),
        strategy(4, "b", json!({ "share": 0.2 })),
        strategy(4, "a", more),
        strategy(4, "gone", json!({ "share": 0.0, "is_active": false })),
    ];
    test.ingest(&lines.concat()).await;
    let data = ask(&test, &vault(4, "strategies")).await;
    assert_eq!((&data["status"], &data["strategy_count"]), (&json!("observed"), &json!(2)));
    assert_eq!(
        (&data["allocated_share"], &data["idle_share"], &data["idle_usd"]),
        (&json!(0.7), &json!(0.3), &json!(225_000.0))
    );
    let ids: Vec<&Value> = data["strategies"].as_array().unwrap().iter().map(|row| &row["strategy_id"]).collect();
    assert_eq!(ids, ["a", "b"]);
    let first = &data["strategies"][0];
    assert_eq!(
        (&first["allocated_usd"], &first["address"], &first["yield_sources"]),
        (&json!(375_000.0), &json!(address(700)), &source)
    );

    // The allocation of one strategy becomes unknown, and so does the sum.
    test.ingest(&strategy(4, "b", json!({ "observed_at": "2026-11-20T23:59:00Z" }))).await;
    let data = ask(&test, &vault(4, "strategies")).await;
    assert_eq!((&data["allocated_share"], &data["idle_usd"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn the_strategy_of_a_vault_is_the_active_one_that_was_seen_last() {
    let test = TestApp::with_market().await;
    test.ingest(&protocol("driftwood", json!("strategy"))).await;
    let nothing = ask(&test, &vault(8, "strategy")).await;
    assert_eq!(
        (&nothing["status"], &nothing["name"], &nothing["yield_sources"]),
        (&json!("unavailable"), &Value::Null, &json!([]))
    );
    let lines = [
        strategy(8, "old", json!({ "apy": 0.01 })),
        strategy(
            8,
            "new",
            json!({ "apy": 0.09, "risk_flags": ["not_audited"], "observed_at": "2026-11-20T23:55:00Z" }),
        ),
        strategy(8, "next", json!({ "is_active": false, "observed_at": "2026-11-20T23:58:00Z" })),
    ];
    test.ingest(&lines.concat()).await;
    let data = ask(&test, &vault(8, "strategy")).await;
    assert_eq!(
        (&data["strategy_id"], &data["apy"], &data["risk_flags"]),
        (&json!("new"), &json!(0.09), &json!(["not_audited"]))
    );
    assert_eq!(
        (&data["status"], &data["vault_apr_net"], &data["tvl_usd"]),
        (&json!("observed"), &json!(0.06), &json!(6e6))
    );
}

#[tokio::test]
async fn a_wrong_strategy_names_its_field() {
    let test = TestApp::with_market().await;
    for (changed, field) in [
        (json!({ "vault_id": format!("harbor-1-{}", address(999)) }), "vault_id"),
        (json!({ "share": 1.1 }), "share"),
        (json!({ "name": " " }), "name"),
        (json!({ "last_report_at": "2026-12-01T00:00:00Z" }), "last_report_at"),
        (json!({ "yield_sources": [{ "name": "x", "kind": "magic" }] }), "yield_sources[0].kind"),
        (
            json!({ "yield_sources": [{ "name": "x", "kind": "other", "protocol_id": "nobody" }] }),
            "yield_sources[0].protocol_id",
        ),
        (json!({ "source_url": "ftp://x" }), "source_url"),
    ] {
        let reply = test.admin("POST", "/ingest", &strategy(0, "a", changed)).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{field}");
        assert!(reply.text().contains(field), "{field}: {}", reply.text());
    }
    let reply = test.admin("POST", "/ingest", &protocol("harbor", json!("pools"))).await;
    assert!(reply.text().contains("breakdown"), "{}", reply.text());
}
