//! `GET /v1/graph/look-through`: nested vaults are expanded in proportion, and the parts add up to the whole.

use crate::graph::world::{SEEN, build, built, exposure, get, key, opened};
use crate::support::market::{BASE58, VAULTS, address};
use crate::support::testapp::holder;
use axum::http::StatusCode;
use rds_shared::access::Plan;
use serde_json::{Value, json};

fn id_of(number: u32) -> String {
    format!("1:{}", address(number))
}

#[tokio::test]
async fn a_vault_shows_its_assets_and_all_that_stands_between() {
    let test = built().await;
    let reply = get(&test, &format!("/v1/graph/look-through?vaults={}", key(0))).await;
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    let data = reply.json()["data"].clone();
    assert_eq!(data["snapshotId"], test.app.graph.current().unwrap().id().to_hex());
    assert_eq!(
        (&data["builtAt"], &data["validTime"]),
        (&json!("2026-11-21T00:00:00.000Z"), &json!("2026-11-20T23:55:00.000Z"))
    );
    assert_eq!(
        data["results"][key(0)],
        json!({
            "vaultKey": key(0), "curator": "north", "protocol": "harbor", "chain": 1,
            "assets": [
                {"assetKey": "coin", "symbol": "COIN", "share": 0.3, "usdExposure": "1500000", "wrappers": [], "oracles": [],
                 "bridges": [{"id": "ferry/coin", "verified": false, "confidence": 0.5, "share": 0.3}]},
                // The remainder, a tenth, is held in the deposit asset. The coin's feed prices no reserve here.
                {"assetKey": "dollar", "symbol": "USDX", "share": 0.7, "usdExposure": "3500000",
                 "wrappers": [{"id": id_of(0xaa), "share": 0.7}], "oracles": [{"id": id_of(0xfe), "vendor": "lamp", "share": 0.7}],
                 "bridges": []},
            ],
            "signerSets": [{"id": "council", "verified": true, "confidence": 0.9, "share": 1}, {"id": "keeper", "verified": false, "confidence": 0.9, "share": 1}],
            "clusters": [], "unattributed": [], "cycles": [],
        })
    );
}

#[tokio::test]
async fn a_cycle_of_vaults_is_reported_and_followed_once() {
    let test = built().await;
    let holder = opened(&test, &key(1)).await;
    // The vault holds half in the first vault and a quarter in the third, of which half leads back. The remaining quarter is idle in the
    // bridged dollar.
    assert_eq!(holder["unattributed"], json!([{"reason": "cycle", "share": 0.125, "usdExposure": "625000"}]));
    let assets: Vec<(&str, f64)> = holder["assets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["assetKey"].as_str().unwrap(), it["share"].as_f64().unwrap()))
        .collect();
    assert_eq!(assets, [("coin", 0.275), ("dollar", 0.6)]);
    assert_eq!(
        holder["assets"][1]["bridges"],
        json!([{"id": "ferry/dollar", "verified": true, "confidence": 0.9, "share": 0.25}])
    );
    assert_eq!(holder["clusters"], json!([{"id": "gate-nodes", "share": 1}]), "a rumour is no fact");
    assert_eq!(holder["signerSets"][0]["share"], 0.5, "the council administers the half that is lent in its market");
    let (one, other) = (json!([[key(1), key(2)]]), json!([[key(2), key(1)]]));
    assert!(holder["cycles"] == one || holder["cycles"] == other, "{}", holder["cycles"]);
}

#[tokio::test]
async fn shares_of_every_vault_are_one_within_the_last_digit_and_dollars_its_value() {
    let test = built().await;
    for (place, stored) in VAULTS.iter().enumerate().take(10) {
        let vault = opened(&test, &key(place)).await;
        let lists = ["assets", "unattributed"].map(|list| vault[list].as_array().unwrap().clone()).concat();
        let sum: f64 = lists.iter().map(|it| it["share"].as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() <= 1.5e-12, "{place}: {sum}");
        let dollars = |it: &Value| it["usdExposure"].as_str().map(|text| text.parse::<f64>().unwrap());
        let value: Option<f64> = lists.iter().map(dollars).sum();
        let read = "SELECT tvl_usd FROM vault_state WHERE vault_id = $1";
        let tvl: Option<f64> = sqlx::query_scalar(read).bind(stored.id()).fetch_one(&test.facts.db.pool).await.unwrap();
        assert_eq!(value, tvl, "{place}");
    }
}

#[tokio::test]
async fn unknown_values_are_reported_as_unknown() {
    let test = built().await;
    // The exposures of the fourth vault were not read; the deposit asset of the fifth is unknown.
    test.ingest(&exposure(4, SEEN, &[("asset:coin", 0.4)])).await;
    build(&test).await;
    let unread = opened(&test, &key(3)).await;
    assert_eq!((&unread["assets"], &unread["unattributed"][0]["reason"]), (&json!([]), &json!("holdings_unknown")));
    let stranger = id_of(0x999);
    assert_eq!(opened(&test, &stranger).await, Value::Null);
    let idle = opened(&test, &key(4)).await;
    assert_eq!(idle["unattributed"], json!([{"reason": "idle", "share": 0.6, "usdExposure": "450000"}]));
    // A vault that is gone is still expanded, but its value is unknown.
    let gone = opened(&test, &key(11)).await;
    assert_eq!((&gone["protocol"], &gone["unattributed"][0]["usdExposure"]), (&json!("harbor"), &Value::Null));
}

#[tokio::test]
async fn keys_are_checked_and_counted_and_their_case_does_not_matter() {
    let test = built().await;
    let ask = async |query: &str| get(&test, &format!("/v1/graph/look-through{query}")).await;
    for (query, code) in [
        ("", "MISSING_PARAMETER"),
        ("?vaults=", "MISSING_PARAMETER"),
        ("?vaults=1", "INVALID_PARAMETER"),
        ("?vaults=0x1:0x00", "INVALID_PARAMETER"),
        (&format!("?vaults={},", key(0)), "INVALID_PARAMETER"),
        (&format!("?vaults={},,{}", key(0), key(1)), "INVALID_PARAMETER"),
        (&format!("?vaults=eth:{}", address(1)), "INVALID_PARAMETER"),
        (&format!("?vaults=01:{}", address(1)), "INVALID_PARAMETER"),
        (&format!("?vaults=%2B1:{}", address(1)), "INVALID_PARAMETER"),
        (&format!("?vaults=1:{BASE58}"), "INVALID_PARAMETER"),
        (&format!("?vaults=900:{}", address(1)), "INVALID_PARAMETER"),
        (&format!("?vaults={}", vec![key(0); 51].join(",")), "TOO_MANY_ITEMS"),
    ] {
        let reply = ask(query).await;
        assert_eq!((reply.status, reply.code().as_str()), (StatusCode::BAD_REQUEST, code), "{query}");
        assert!(reply.message().contains("vaults"), "{}", reply.message());
    }
    let fifty = ask(&format!("?vaults={}", (0..50).map(|n| id_of(0x100 + n)).collect::<Vec<_>>().join(","))).await;
    assert_eq!(fifty.json()["data"]["results"].as_object().unwrap().len(), 50);
    let shouted = ask(&format!("?vaults={}", key(0).to_uppercase().replace("0X", "0x"))).await;
    assert_eq!(shouted.json()["data"]["results"][key(0)]["vaultKey"], key(0));
}

#[tokio::test]
async fn only_a_decisioning_key_looks_through() {
    let test = built().await;
    let target = format!("/v1/graph/look-through?vaults={}", key(0));
    assert_eq!(test.get(&target).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(test.get_as(&holder(Plan::Data), &target).await.status, StatusCode::FORBIDDEN);
    assert_eq!(test.get_as(&holder(Plan::Embedded), &target).await.status, StatusCode::OK);
}
