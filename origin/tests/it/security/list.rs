//! The security registry's list and its reports: filters, tolerated input, and refused reports.

use crate::security::world::{listed, report};
use crate::support::testapp::{Reply, TestApp, holder};
use axum::http::StatusCode;
use rds_engine::security::editing;
use rds_facts::security_event_id;
use rds_origin::catalog::refresh;
use rds_shared::access::Plan;
use rds_shared::model::security::RegistryState::Published;
use serde_json::json;

#[tokio::test]
async fn the_list_takes_every_filter_and_tolerates_the_documented_deviations() {
    let test = TestApp::with_market().await;
    let rows = [
        report(
            "plain",
            json!({ "severity": "Info", "description": "100% of \"it\" was_lost ☃", "attacked_at": "2026-11-01T00:00:00Z" }),
        ),
        report(
            "base",
            json!({ "chain_id": 8453, "severity": "Critical", "loss_usd": 70, "attacked_at": "2026-11-03T00:00:00Z" }),
        ),
        report("nowhere", json!({ "chain_id": null, "loss_usd": 900, "attacked_at": "2026-11-02T00:00:00Z" })),
        report("other", json!({ "attacked_at": "2026-11-02T00:00:00Z" })).replace("\"fixture\"", "\"elsewhere\""),
    ];
    test.ingest(&rows.concat()).await;
    for (source, key) in [("fixture", "plain"), ("fixture", "base"), ("fixture", "nowhere"), ("elsewhere", "other")] {
        let id = security_event_id(source, key);
        editing::run(&test.facts.db, &test.app.clock, id, Published, None).await.unwrap();
    }
    refresh::refresh(&test.app).await.unwrap();
    let all = listed(&test, "").await;
    assert_eq!(
        (all.first().map(String::as_str), all.last().map(String::as_str)),
        (Some("base"), Some("plain")),
        "newest first"
    );
    assert_eq!(&listed(&test, "sort=loss").await[..2], ["nowhere", "base"]);
    for (query, count) in [
        ("sort=anything", 4),
        ("source=fixture", 3),
        ("source=FIXTURE", 3),
        ("source=nobody", 0),
        ("chainId=1", 2),
        ("chainId=ethereum,base", 3),
        ("chainId=8453", 1),
        ("chainId=moon", 0),
        ("severity=critical", 1),
        ("severity=Info", 1),
        ("published_by=admin", 4),
        ("published_by=auto", 0),
        ("affectsTrackedUniverse=true", 0),
        ("affectsTrackedUniverse=false", 4),
        ("hasLoss=false", 4),
        ("hasLoss=1", 4),
        ("search=ATTACK%20on", 4),
        ("search=100%25%20of", 1),
        ("search=%22it%22%20was_lost", 1),
        ("search=%E2%98%83", 1),
        ("search=%25", 1),
        ("search=_", 1),
        ("search=%27%20OR%201%3D1", 0),
        ("search=%00", 0),
        (&format!("search={}", "a".repeat(201)), 0),
        (&format!("source={}", "a".repeat(65)), 0),
        ("page=10001", 0),
        ("page=4294967296000", 0),
    ] {
        assert_eq!(listed(&test, query).await.len(), count, "{query}");
    }
    for (query, name) in [
        ("severity=high", "severity"),
        ("severity=bad", "severity"),
        ("published_by=me", "published_by"),
        ("affectsTrackedUniverse=maybe", "affectsTrackedUniverse"),
        ("limit=0", "limit"),
        ("page=0", "page"),
    ] {
        let reply = test.get(&format!("/v1/security-events?{query}")).await;
        assert_eq!((reply.status, reply.code().as_str()), (StatusCode::BAD_REQUEST, "INVALID_PARAMETER"), "{query}");
        assert_eq!(reply.json()["error"]["details"][0]["name"], name);
    }
    assert_eq!(test.get("/v1/security-events?page=5").await.status, StatusCode::FORBIDDEN);
    let deep = test.get_as(&holder(Plan::Data), "/v1/security-events?page=10000").await;
    assert_eq!((deep.status, deep.json()["meta"]["hasMore"].clone()), (StatusCode::OK, json!(false)));
    assert_eq!(
        test.json("/v1/security-events?limit=3").await["meta"],
        json!({ "page": 1, "limit": 3, "hasMore": true })
    );
    assert_eq!(test.json("/v1/security-events?limit=1000").await["meta"]["limit"], 100);
}

#[tokio::test]
async fn a_faulty_report_is_named_by_line_and_field() {
    let test = TestApp::with_market().await;
    let refused = async |text: String| -> Reply { test.admin("POST", "/ingest", &text).await };
    for (field, changed) in [
        ("chain_id", json!({ "chain_id": 77 })),
        ("protocol_id", json!({ "protocol_id": "nobody" })),
        ("loss_usd", json!({ "loss_usd": -1 })),
        ("severity", json!({ "severity": "high" })),
        ("attacked_at", json!({ "attacked_at": "2026-11-21T00:00:00Z" })),
        ("native_url", json!({ "native_url": "javascript:alert(1)" })),
        ("links[0].url", json!({ "links": [{ "label": "x", "url": "ftp://x" }] })),
        ("title", json!({ "title": "a\u{0}b" })),
        ("confirmations", json!({ "confirmations": -1 })),
        ("state", json!({ "state": "published" })),
    ] {
        let reply = refused(report("bad", changed)).await;
        assert_eq!(reply.json()["error"]["details"][0]["name"], format!("line 1, {field}"), "{}", reply.text());
    }
}
