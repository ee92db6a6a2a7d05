//! Feeds: age and status follow the clock, but an ETag changes only with the published values.

use crate::support::market::{BASE58, address, line};
use crate::support::testapp::{NOW, TestApp, signed};
use axum::http::StatusCode;
use rds_shared::wire::Timestamp;
use serde_json::{Value, json};

const SEEN: &str = "2026-11-20T23:00:00Z";

fn feed(number: u32, changed: Value) -> String {
    let mut fields = json!({
        "chain_id": 1, "address": address(number), "feed_kind": "price", "asset": "USDX", "quote": "USD", "description": "USDX / USD",
        "vendor": "Chainlink", "heartbeat_seconds": 7_200, "deviation_threshold": 0.005, "last_answer": "1.00020000",
        "last_update_at": "2026-11-20T23:00:00Z",
    });
    fields.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
    line("oracle_feed", SEEN, fields)
}

async fn with_feeds() -> TestApp {
    let test = TestApp::with_market().await;
    let lines = [
        feed(0xf1, json!({})),
        feed(0xf2, json!({"heartbeat_seconds": 60, "vendor": null})),
        feed(0xf3, json!({"heartbeat_seconds": null, "vendor": "pyth", "feed_kind": "nav"})),
        feed(0xf4, json!({"chain_id": 8453, "last_update_at": null, "last_answer": null})),
        feed(0, json!({"chain_id": 900, "address": BASE58})),
    ];
    test.ingest(&lines.concat()).await;
    test
}

fn advance(test: &TestApp, seconds: i64) {
    assert!(test.app.clock.set(Timestamp::parse(NOW).unwrap().plus_seconds(seconds)));
}

#[tokio::test]
async fn a_feed_tells_its_age_and_whether_it_keeps_its_heartbeat() {
    let test = with_feeds().await;
    let list = test.json("/v1/oracle").await;
    assert_eq!(list["meta"]["total"], 5);
    let said: Vec<(Value, Value)> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|feed| (feed["age_seconds"].clone(), feed["status"].clone()))
        .collect();
    let hour = || json!(3_600);
    assert_eq!(
        said,
        [
            (hour(), json!("fresh")),
            (hour(), json!("stale")),
            (hour(), json!("unknown")),
            (hour(), json!("fresh")),
            (Value::Null, json!("unknown")),
        ]
    );
    let one =
        test.json(&format!("/v1/oracle/ethereum/{}", address(0xf1).to_uppercase().replace("0X", "0x"))).await["data"]
            .clone();
    assert_eq!(one, list["data"][0]);
    assert_eq!(
        (&one["last_answer"], &one["vendor"], &one["last_update_at"]),
        (&json!("1.00020000"), &json!("Chainlink"), &json!("2026-11-20T23:00:00.000Z"))
    );
    advance(&test, 3_601);
    let later = test.json(&format!("/v1/oracle/1/{}", address(0xf1))).await["data"].clone();
    assert_eq!((&later["age_seconds"], &later["status"]), (&json!(7_201), &json!("stale")));
}

#[tokio::test]
async fn feeds_are_filtered_by_chain_vendor_kind_and_by_status_as_of_the_answer() {
    let test = with_feeds().await;
    let total = async |query: &str| test.json(&format!("/v1/oracle?{query}")).await["meta"]["total"].clone();
    for (query, count) in [
        ("chain=base", 1),
        ("chain=1,900", 4),
        ("vendor=chainlink", 3),
        ("vendor=unknown,PYTH", 2),
        ("kind=nav", 1),
        ("kind=price,nav", 5),
        ("status=fresh", 2),
        ("status=stale", 1),
        ("status=unknown", 2),
        ("status=fresh&chain=1", 1),
        ("vendor=nobody", 0),
    ] {
        assert_eq!(total(query).await, count, "{query}");
    }
    advance(&test, 3_601);
    assert_eq!((total("status=fresh").await, total("status=stale").await), (json!(0), json!(3)));
    for bad in ["status=old", "kind=prices", "limit=0"] {
        assert_eq!(test.get(&format!("/v1/oracle?{bad}")).await.code(), "INVALID_PARAMETER", "{bad}");
    }
    assert_eq!(test.get("/v1/oracle?page=11").await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn an_etag_holds_while_a_feed_only_grows_older_and_ends_when_it_goes_stale() {
    let test = with_feeds().await;
    for target in ["/v1/oracle".to_owned(), format!("/v1/oracle/ethereum/{}", address(0xf1))] {
        advance(&test, 0);
        let etag = test.get(&target).await.header("etag").unwrap().to_owned();
        let asked_again = async || {
            let mut request = signed("GET", &target, "");
            request.headers_mut().insert("if-none-match", etag.parse().unwrap());
            test.ask(request).await.status
        };
        advance(&test, 3_600);
        assert_eq!(asked_again().await, StatusCode::NOT_MODIFIED, "{target}");
        advance(&test, 3_601);
        assert_eq!(asked_again().await, StatusCode::OK, "{target}");
    }
}

#[tokio::test]
async fn a_newer_reading_replaces_an_older_one_and_a_late_one_changes_nothing() {
    let test = with_feeds().await;
    let newer = feed(0xf1, json!({"last_answer": "0.98", "last_update_at": "2026-11-20T23:30:00Z"}))
        .replace(SEEN, "2026-11-20T23:30:00Z");
    test.ingest(&newer).await;
    test.ingest(
        &feed(0xf1, json!({"last_answer": "5"}))
            .replace(SEEN, "2026-11-20T23:10:00Z")
            .replace("23:00:00Z", "22:00:00Z"),
    )
    .await;
    let one = test.json(&format!("/v1/oracle/ethereum/{}", address(0xf1))).await["data"].clone();
    assert_eq!((&one["last_answer"], &one["age_seconds"]), (&json!("0.98"), &json!(1_800)));
}

#[tokio::test]
async fn an_address_must_be_one_of_the_chain_and_a_feed_must_be_known() {
    let test = with_feeds().await;
    assert_eq!(test.get("/v1/oracle/ethereum/0x12").await.code(), "INVALID_ADDRESS");
    assert_eq!(test.get(&format!("/v1/oracle/ethereum/{BASE58}")).await.code(), "ADDRESS_NAMESPACE_MISMATCH");
    assert_eq!(test.get(&format!("/v1/oracle/nowhere/{}", address(0xf1))).await.code(), "NOT_FOUND");
    assert_eq!(test.get(&format!("/v1/oracle/base/{}", address(0xf1))).await.code(), "NOT_FOUND");
    let faults = [
        ("heartbeat_seconds", json!({"heartbeat_seconds": 0})),
        ("last_answer", json!({"last_answer": "1e5"})),
        ("last_update_at", json!({"last_update_at": "2026-11-21T23:00:00Z"})),
        ("chain_id", json!({"chain_id": 77})),
        ("address", json!({"address": BASE58})),
    ];
    for (field, changed) in faults {
        let reply = test.admin("POST", "/ingest", &feed(0xf9, changed)).await;
        assert_eq!(reply.json()["error"]["details"][0]["name"], format!("line 1, {field}"), "{}", reply.text());
    }
}
