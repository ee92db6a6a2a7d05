//! Reference rates as holders of index tokens read them: exact, with the vaults they are computed from and those that are excluded.

use crate::support::market::{SYNCED, VAULTS, line};
use crate::support::testapp::TestApp;
use rds_shared::access::Principal;
use serde_json::{Value, json};

async fn data(test: &TestApp, target: &str) -> Value {
    let reply = test.get_as(&Principal::IndexToken { id: 1 }, target).await;
    assert_eq!(reply.status, 200, "{target}: {}", reply.text());
    reply.json()["data"].clone()
}

#[tokio::test]
async fn a_rate_is_the_average_of_the_open_vaults_weighted_by_value() {
    let test = TestApp::with_market().await;
    let rates = data(&test, "/v1/rates").await;
    let symbols: Vec<&str> =
        rates.as_array().unwrap().iter().map(|row| row["asset_symbol"].as_str().unwrap()).collect();
    assert_eq!(symbols, ["USDX", "XETH", "SOLX", "PAIR", "GRÖSSE"], "highest value first");
    // (5 000 000 · 0.05 + 2 000 000 · 0.05 + 900 000 · 0.031 + 12 000 000 · 0.06) / 19 900 000, rewards included.
    let dollar = json!({"asset_symbol": "USDX", "methodology_version": "rate-1.0.0", "rate": 0.05517085, "tvl_usd": 19_900_000.0,
        "vaults": 5, "largest_share": 0.301508, "left_out": 2, "oldest_reading_at": "2026-11-20T23:50:00.000Z",
        "newest_reading_at": "2026-11-20T23:50:00.000Z"});
    assert_eq!(rates[0], dollar);
    assert_eq!(
        (&rates[1]["rate"], &rates[1]["vaults"], &rates[1]["largest_share"]),
        (&json!(0.02), &json!(1), &json!(1))
    );

    let detail = data(&test, "/v1/rates/usdx").await;
    for (name, field) in dollar.as_object().unwrap() {
        assert_eq!(&detail[name], field, "{name}");
    }
    let constituents = detail["constituents"].as_array().unwrap();
    let ids: Vec<String> = constituents.iter().map(|it| it["vault_id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids, [8, 9, 0, 2, 3].map(|place: usize| VAULTS[place].id()));
    assert_eq!((&constituents[2]["apr_net"], &constituents[2]["share"]), (&json!(0.05), &json!(0.251256)));
    let excluded =
        json!([{"vault_id": VAULTS[1].id(), "reason": "closed"}, {"vault_id": VAULTS[7].id(), "reason": "unread"}]);
    assert_eq!(detail["excluded"], excluded);
    assert_eq!(data(&test, "/v1/rates/Gr%C3%B6%C3%9Fe").await["rate"], json!(0));
    let unknown = test.get_as(&Principal::IndexToken { id: 1 }, "/v1/rates/NONE").await;
    assert_eq!((unknown.status.as_u16(), unknown.message().as_str()), (404, "no such asset symbol"));
}

#[tokio::test]
async fn stale_vaults_and_vaults_under_review_are_excluded() {
    let test = TestApp::with_market().await;
    test.app.clock.advance(86_400);
    let fresh = "2026-11-22T00:00:00Z";
    test.ingest(
        &[VAULTS[8].state(fresh, json!({})), VAULTS[9].state(fresh, json!({"needs_risk_review": true}))].concat(),
    )
    .await;
    let reasons = async || {
        let detail = data(&test, "/v1/rates/USDX").await;
        let reason = |row: &Value| row["reason"].as_str().unwrap().to_owned();
        (detail["rate"].clone(), detail["excluded"].as_array().unwrap().iter().map(reason).collect::<Vec<_>>())
    };
    let (_, before) = reasons().await;
    assert_eq!(
        before,
        ["under_review", "closed", "unread"],
        "ordered by id; no vault is stale, because {SYNCED} is less than two days ago"
    );
    test.app.clock.advance(86_400);
    let (rate, after) = reasons().await;
    assert_eq!(rate, json!(0.06));
    assert_eq!(after.iter().filter(|it| *it == "stale").count(), 4, "{after:?}");
    test.app.clock.advance(2 * 86_400);
    assert_eq!(reasons().await.0, Value::Null, "a missing rate is null, not zero");
}

#[tokio::test]
async fn a_withheld_chain_is_in_no_rate() {
    let test = TestApp::with_market().await;
    let base = json!({"chain_id": 8453, "slug": "base", "name": "Base", "namespace": "evm", "is_settlement": true, "is_served": false});
    test.ingest(&line("chain", "2026-11-20T00:00:00Z", base)).await;
    let detail = data(&test, "/v1/rates/USDX").await;
    // (350 000 + 360 000) / 13 000 000.
    assert_eq!((&detail["rate"], &detail["vaults"]), (&json!(0.05461538), &json!(3)));
    assert!(!detail.to_string().contains("8453"));
}
