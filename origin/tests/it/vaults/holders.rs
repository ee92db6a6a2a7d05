//! Holders of a vault's shares: exact figures for balances of any size, provisional while indexing, and their history.

use crate::support::market::{BASE58, VAULTS, address, line};
use crate::support::testapp::{TestApp, signed};
use crate::vaults::lists::with_header;
use axum::http::StatusCode;
use serde_json::{Value, json};

const SHARES: [&str; 4] = [
    "400000000000000000000000000000",
    "300000000000000000000000000000",
    "200000000000000000000000000000",
    "100000000000000000000000000000",
];

fn path(number: usize) -> String {
    format!("/v1/vault/{}/{}/holders", VAULTS[number].chain, VAULTS[number].address())
}

/// Four holders with 40, 30, 20 and 10 percent of the shares. The protocol manages the second holder.
fn holders() -> Value {
    let category = ["account", "protocol_managed", "vault", "unknown"];
    let label = [Value::Null, json!("Treasury"), Value::Null, Value::Null];
    let method = [json!("bytecode"), json!("review"), json!("registry"), Value::Null];
    (0..4)
        .map(|place| {
            json!({ "address": address(900 + place as u32), "balance_raw": SHARES[place], "label": label[place],
                    "category": category[place], "method": method[place] })
        })
        .rev()
        .collect()
}

pub fn snapshot(at: &str, changed: Value) -> String {
    let mut fields = json!({
        "vault_id": VAULTS[0].id(), "backfill_complete": true, "indexed_to_block": 21_000_000, "holders": holders(),
        "total_supply_raw": "1000000000000000000000000000000",
    });
    fields.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
    line("holder_snapshot", at, fields)
}

#[tokio::test]
async fn concentration_is_exact_and_told_with_and_without_what_the_protocol_manages() {
    let test = TestApp::with_market().await;
    test.ingest(&snapshot("2026-11-20T23:00:00Z", json!({}))).await;
    let data = &test.json(&path(0)).await["data"];
    for (field, expected) in [
        ("status", json!("observed")),
        ("vault_id", json!(VAULTS[0].id())),
        ("chain_id", json!(1)),
        ("token_address", json!(address(1))),
        ("holder_count", json!(4)),
        ("external_holder_count", json!(3)),
        ("top1_pct", json!(0.4)),
        ("top5_pct", json!(1)),
        ("top10_pct", json!(1)),
        ("hhi", json!(0.3)),
        ("external_top1_pct", json!(0.571429)),
        ("external_hhi", json!(0.428571)),
        ("protocol_managed_pct", json!(0.3)),
        ("indexed_to_block", json!(21_000_000)),
        ("backfill_complete", json!(true)),
        ("coverage_status", json!("complete")),
        ("computed_at", json!("2026-11-20T23:00:00.000Z")),
    ] {
        assert_eq!(data[field], expected, "{field}");
    }
    let largest: Vec<&str> =
        data["top_holders"].as_array().unwrap().iter().map(|holder| holder["balance_raw"].as_str().unwrap()).collect();
    assert_eq!(largest, SHARES);
    let treasury = json!({ "address": address(901), "balance_raw": SHARES[1], "pct": 0.3, "label": "Treasury",
                           "category": "protocol_managed", "method": "review" });
    assert_eq!(data["top_holders"][1], treasury);
    assert_eq!(data.as_object().unwrap().len(), 20);
}

#[tokio::test]
async fn provisional_figures_can_be_kept_out() {
    let test = TestApp::with_market().await;
    // If balances do not add up to the supply, they are incomplete, whatever the indexer states.
    test.ingest(&snapshot("2026-11-20T23:00:00Z", json!({ "total_supply_raw": "1000000000000000000000000000001" })))
        .await;
    let open = test.json(&path(0)).await["data"].clone();
    assert_eq!((&open["coverage_status"], &open["backfill_complete"]), (&json!("indexing"), &json!(true)));
    assert_eq!((&open["hhi"], open["top_holders"].as_array().unwrap().len()), (&json!(0.3), 4));

    let strict = test.json(&format!("{}?completeOnly=true", path(0))).await["data"].clone();
    for figure in [
        "top1_pct",
        "top5_pct",
        "top10_pct",
        "hhi",
        "external_top1_pct",
        "external_top5_pct",
        "external_top10_pct",
        "external_hhi",
        "protocol_managed_pct",
    ] {
        assert_eq!(strict[figure], Value::Null, "{figure}");
    }
    assert_eq!(strict["top_holders"], json!([]));
    for kept in [
        "status",
        "holder_count",
        "external_holder_count",
        "indexed_to_block",
        "backfill_complete",
        "coverage_status",
        "computed_at",
    ] {
        assert_eq!(strict[kept], open[kept], "{kept}");
    }
    let history = test.json(&format!("{}/history?completeOnly=true", path(0))).await["data"].clone();
    assert_eq!(
        (&history[0]["hhi"], &history[0]["top_holders"], &history[0]["holder_count"]),
        (&Value::Null, &json!([]), &json!(4))
    );

    test.ingest(&snapshot("2026-11-20T23:10:00Z", json!({}))).await;
    let complete = test.json(&format!("{}?completeOnly=true", path(0))).await;
    assert_eq!(complete["data"], test.json(&path(0)).await["data"]);
    assert_eq!(complete["data"]["coverage_status"], "complete");
}

#[tokio::test]
async fn history_is_told_oldest_first_with_the_newest_that_fit() {
    let test = TestApp::with_market().await;
    let hours = ["20", "21", "22"];
    // The snapshots arrive out of order.
    for hour in ["21", "22", "20"] {
        test.ingest(&snapshot(
            &format!("2026-11-20T{hour}:00:00Z"),
            json!({ "indexed_to_block": hour.parse::<i64>().unwrap() }),
        ))
        .await;
    }
    let target = format!("{}/history", path(0));
    let blocks = |body: Value| {
        body["data"].as_array().unwrap().iter().map(|row| row["indexed_to_block"].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(blocks(test.json(&target).await), hours);
    assert_eq!(blocks(test.json(&format!("{target}?limit=2")).await), hours[1..]);
    assert_eq!(blocks(test.json(&format!("{target}?from=2026-11-20T21:00:00Z&to=2026-11-20T21:00:00Z")).await), ["21"]);
    let row = test.json(&target).await["data"][0].clone();
    let fields = [
        "backfill_complete",
        "computed_at",
        "coverage_status",
        "external_holder_count",
        "hhi",
        "holder_count",
        "indexed_to_block",
        "protocol_managed_pct",
        "top10_pct",
        "top1_pct",
        "top5_pct",
        "top_holders",
    ];
    assert_eq!(row.as_object().unwrap().keys().collect::<Vec<_>>(), fields);
    assert_eq!(test.json(&path(0)).await["data"]["indexed_to_block"], 22);
    for bad in ["from=2026-11-22&to=2026-11-21", "from=yesterday", "limit=0", "completeOnly=maybe"] {
        assert_eq!(test.get(&format!("{target}?{bad}")).await.code(), "INVALID_PARAMETER", "{bad}");
    }
    assert_eq!(
        test.get(&format!("/v1/vault/ethereum/{BASE58}/holders/history")).await.code(),
        "ADDRESS_NAMESPACE_MISMATCH"
    );
    assert_eq!(test.get("/v1/vault/ethereum/0x12/holders").await.code(), "INVALID_ADDRESS");
    assert_eq!(test.get(&format!("/v1/vault/ethereum/{}/holders", address(999))).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_vault_that_nobody_indexed_says_so() {
    let test = TestApp::with_market().await;
    let data = test.json(&path(12)).await["data"].clone();
    assert_eq!(
        (&data["status"], &data["coverage_status"], &data["token_address"]),
        (&json!("unavailable"), &json!("indexing"), &json!(BASE58))
    );
    for unknown in ["holder_count", "top1_pct", "hhi", "external_hhi", "indexed_to_block", "computed_at"] {
        assert_eq!(data[unknown], Value::Null, "{unknown}");
    }
    assert_eq!(test.json(&format!("{}/history", path(12))).await["data"], json!([]));
}

#[tokio::test]
async fn a_cached_count_is_used_until_the_next_count() {
    let test = TestApp::with_market().await;
    test.ingest(&snapshot("2026-11-20T23:00:00Z", json!({}))).await;
    let scored = test.json("/v1/vaults?limit=1").await;
    let etag = test.get(&path(0)).await.header("etag").unwrap().to_owned();
    test.app.clock.advance(30);
    let held = |etag: &str| with_header(signed("GET", &path(0), ""), "if-none-match", etag);
    assert_eq!(test.ask(held(&etag)).await.status, StatusCode::NOT_MODIFIED);
    let report =
        test.ingest(&snapshot("2026-11-20T23:30:00Z", json!({ "holders": [] , "total_supply_raw": "0" }))).await.json()
            ["data"]
            .clone();
    assert_eq!(
        (&report["changed"]["holder_snapshot"], &report["vaults_scored"]),
        (&json!(1), &json!(0)),
        "no score depends on it"
    );
    let empty = test.ask(held(&etag)).await.json()["data"].clone();
    assert_eq!(
        (&empty["holder_count"], &empty["hhi"], &empty["coverage_status"]),
        (&json!(0), &Value::Null, &json!("complete"))
    );
    assert_eq!(test.json("/v1/vaults?limit=1").await["data"][0]["total_score"], scored["data"][0]["total_score"]);
}

#[tokio::test]
async fn a_wrong_snapshot_names_its_line_and_field_and_leaves_nothing() {
    let test = TestApp::with_market().await;
    let holder = |address: String, balance: &str| json!({ "address": address, "balance_raw": balance });
    for (changed, field) in [
        (json!({ "vault_id": format!("harbor-1-{}", address(999)) }), "vault_id"),
        (
            json!({ "holders": [holder(address(1), "1"), holder(address(1).to_uppercase().replace("0X", "0x"), "2")] }),
            "holders[1].address",
        ),
        (json!({ "holders": [holder("0x12".to_owned(), "1")] }), "holders[0].address"),
        (json!({ "holders": [holder(address(1), "0")] }), "holders[0].balance_raw"),
        (json!({ "holders": [holder(address(1), "1.5")] }), "holders[0].balance_raw"),
        (json!({ "holders": [holder(address(1), "-1")] }), "holders[0].balance_raw"),
        (json!({ "holders": [holder(address(1), &"9".repeat(1_001))] }), "holders[0].balance_raw"),
        (json!({ "holders": [{ "address": address(1), "balance_raw": 5 }] }), "holders[0].balance_raw"),
        (
            json!({ "holders": [{ "address": address(1), "balance_raw": "5", "category": "whale" }] }),
            "holders[0].category",
        ),
        (json!({ "total_supply_raw": "lots" }), "total_supply_raw"),
        (json!({ "indexed_to_block": -1 }), "indexed_to_block"),
        (json!({ "token_address": "here" }), "token_address"),
        (json!({ "backfill_complete": null }), "backfill_complete"),
        (json!({ "supply": "1" }), "supply"),
    ] {
        let reply =
            test.admin("POST", "/ingest", &format!("\n{}", snapshot("2026-11-20T23:00:00Z", changed.clone()))).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{changed}");
        let faults = reply.text();
        assert!(faults.contains(field), "{field}: {faults}");
        assert!(faults.contains("line"), "{faults}");
    }
    assert_eq!(test.json(&path(0)).await["data"]["status"], "unavailable");
    test.ingest(&snapshot(
        "2026-11-20T23:00:00Z",
        json!({ "holders": [holder(address(1), &"9".repeat(1_000))], "total_supply_raw": null }),
    ))
    .await;
    assert_eq!(test.json(&path(0)).await["data"]["top_holders"][0]["balance_raw"].as_str().unwrap().len(), 1_000);
}
