//! Access of keys: the check at the origin, a key's own description, bulk scores.

use crate::events::feed::event;
use crate::keys::operators::options;
use crate::support::market::{VAULTS, line};
use crate::support::testapp::{NOW, Reply, TestApp, holder, signed_as};
use crate::vaults::lists::with_header;
use axum::http::StatusCode;
use rds_origin::keys::{self, CreateKey};
use rds_shared::access::{Plan, Principal};
use rds_shared::route::{Access, Method, ROUTES, Route, is_graph_path};
use serde_json::{Value, json};

/// A minted key's principal, as the edge states it.
async fn minted(test: &TestApp, options: CreateKey) -> (Principal, String) {
    let minted = keys::mint(&test.app.db, &test.app.clock, &options).await.unwrap();
    (Principal::Key { id: minted.id, org_id: 1, plan: options.plan }, minted.key)
}

fn data(reply: &Reply) -> Value {
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    reply.json()["data"].clone()
}

#[tokio::test]
async fn the_origin_itself_refuses_keyed_routes_without_a_key() {
    let test = TestApp::with_market().await;
    let page = Principal::FirstParty { origin: "https://app.example".to_owned() };
    // While the graph is disabled, its routes do not exist.
    let is_there = |route: &&Route| !is_graph_path(route.path) && route.access != Access::Public;
    for route in ROUTES.iter().filter(is_there).filter(|route| route.method == Method::Get) {
        for caller in [&Principal::Anonymous, &page] {
            let reply = test.get_as(caller, route.path).await;
            assert_eq!(
                (reply.status, reply.code().as_str()),
                (StatusCode::UNAUTHORIZED, "UNAUTHORIZED"),
                "{}",
                route.path
            );
            assert_eq!(reply.json()["error"]["legacy_code"], "tier_required");
        }
    }
    for plan in Plan::ALL {
        assert_eq!(test.get_as(&holder(plan), "/v1/vaults/scores").await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn a_key_lifts_the_depth_of_a_list() {
    let test = TestApp::with_market().await;
    assert_eq!(test.get("/v1/vaults?page=3&limit=100").await.code(), "FORBIDDEN");
    assert_eq!(test.get_as(&holder(Plan::Data), "/v1/vaults?page=3&limit=100").await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_page_that_reaches_beyond_the_open_rows_ends_with_them_unless_a_key_opens_the_rest() {
    let test = TestApp::with_market().await;
    let mut lines = String::new();
    for number in 0..250 {
        lines += &line("curator", NOW, json!({"id": format!("one-{number}"), "name": format!("One {number}")}));
        lines += &event(&format!("event-{number}"), 1, json!({"vault_ids": [VAULTS[0].id()]}));
    }
    test.ingest(&lines).await;
    for (target, open, keyed, total) in [
        ("/v1/curators?page=3&limit=99", 2, 55, json!(253)),
        ("/v1/curators?page=2&limit=100", 100, 100, json!(253)),
        ("/v1/events?page=7&limit=30&eventType=Incident", 20, 30, Value::Null),
        ("/v1/curators/north/events?offset=199&limit=20", 1, 20, Value::Null),
        ("/v1/curators/north?vaultPage=1&vaultLimit=100", 2, 2, Value::Null),
    ] {
        let rows = |reply: &Reply| {
            let data = data(reply);
            let list = if data.is_array() { &data } else { data.get("vaults").unwrap_or(&data["events"]) };
            list.as_array().unwrap().clone()
        };
        let (anybody, holder) = (test.get(target).await, test.get_as(&holder(Plan::Data), target).await);
        let (some, all) = (rows(&anybody), rows(&holder));
        assert_eq!((some.len(), all.len()), (open, keyed), "{target}");
        assert_eq!(some[..], all[..open], "{target}");
        assert_eq!(anybody.header("etag") == holder.header("etag"), open == keyed, "{target}");
        let meta = [&anybody, &holder].map(|reply| reply.json()["meta"].clone());
        assert_eq!((&meta[0], &meta[0]["total"]), (&meta[1], &total), "the list is as long as it is: {target}");
    }
    assert_eq!(test.json("/v1/events?page=7&limit=30&eventType=Incident").await["meta"]["hasMore"], true);
    assert_eq!(test.get("/v1/curators?page=11").await.code(), "FORBIDDEN");
}

#[tokio::test]
async fn a_key_describes_itself_and_no_other() {
    let test = TestApp::new().await;
    let (ordinary, text) = minted(&test, CreateKey { rpm: Some(900), ..options("Acme", Plan::Decisioning) }).await;
    let (shared, _) = minted(&test, CreateKey { shared: true, ..options("Globex", Plan::Data) }).await;
    let reply = test.get_as(&ordinary, "/v1/me").await;
    assert_eq!((reply.header("cache-control"), reply.header("etag")), (Some("no-store"), None));
    let me = data(&reply);
    assert_eq!(
        me["key"],
        json!({ "id": 1, "prefix": text[..12], "partner_name": "Acme", "tier": "decisioning",
                "created_at": "2026-11-21T00:00:00.000Z", "last_used_at": null, "org_id": 1 })
    );
    assert_eq!(
        me["limits"],
        json!({ "requests_per_minute": 900, "shared_key": false, "subclient_requests_per_minute": null })
    );
    let usage = &me["usage"];
    assert_eq!(
        (&usage["total_count"], &usage["throttled_count"], &usage["endpoints"]),
        (&json!(0), &json!(0), &json!([]))
    );
    assert!(usage["as_of_lag_seconds"].is_u64() && usage["day"].as_str().is_some_and(|day| day.len() == 10), "{usage}");

    let other = data(&test.get_as(&shared, "/v1/me").await);
    assert_eq!((&other["key"]["partner_name"], &other["key"]["id"]), (&json!("Globex"), &json!(2)));
    assert_eq!(
        other["limits"],
        json!({ "requests_per_minute": 300, "shared_key": true, "subclient_requests_per_minute": 75 })
    );
    let gone = Principal::Key { id: 99, org_id: 1, plan: Plan::Data };
    assert_eq!(test.get_as(&gone, "/v1/me").await.code(), "NOT_FOUND");
}

#[tokio::test]
async fn scores_in_bulk_have_the_run_behind_them_and_the_lists_filters() {
    let test = TestApp::with_market().await;
    let key = holder(Plan::Data);
    let reply = test.get_as(&key, "/v1/vaults/scores").await;
    assert_eq!(reply.json()["meta"], json!({ "page": 1, "limit": 500, "total": 12, "totalPages": 1 }));
    let rows = data(&reply);
    let listed = test.json("/v1/vaults?limit=100").await["data"].clone();
    let shared = ["id", "total_score", "risk_tier", "tvl_usd", "apr_net", "last_synced_at", "freshness_seconds"];
    for (row, list) in rows.as_array().unwrap().iter().zip(listed.as_array().unwrap()) {
        assert!(shared.iter().all(|field| row[field] == list[field]), "{row}\n{list}");
        assert_eq!((&row["is_active"], &row["score_computed_at"]), (&json!(true), &json!("2026-11-21T00:00:00.000Z")));
        assert!(row["score_run_id"].as_str().is_some_and(|run| run.starts_with("run-")), "{row}");
    }
    let prime = test.get_as(&key, "/v1/vaults/scores?riskTier=prime&sortBy=total_score&limit=3").await;
    let same = test.json("/v1/vaults?riskTier=prime&sortBy=total_score&limit=3").await;
    let ids = |page: &Value| page["data"].as_array().unwrap().iter().map(|row| row["id"].clone()).collect::<Vec<_>>();
    assert_eq!((ids(&prime.json()), &prime.json()["meta"]), (ids(&same), &same["meta"]));
    let clamped = test.get_as(&key, "/v1/vaults/scores?limit=5000").await;
    assert_eq!(clamped.json()["meta"]["limit"], 1000);
    let refused = test.get_as(&key, "/v1/vaults/scores?limit=0").await;
    assert_eq!(
        (refused.code().as_str(), &refused.json()["error"]["details"][0]["name"]),
        ("INVALID_PARAMETER", &json!("limit"))
    );
}

#[tokio::test]
async fn a_run_that_confirms_the_scores_moves_only_when_they_were_computed() {
    let test = TestApp::with_market().await;
    let key = holder(Plan::Data);
    let before = test.get_as(&key, "/v1/vaults/scores").await;
    let etag = before.header("etag").unwrap().to_owned();
    let conditional = || with_header(signed_as(&key.to_json(), "GET", "/v1/vaults/scores", ""), "if-none-match", &etag);
    test.app.clock.advance(60);
    assert_eq!(test.ask(conditional()).await.status, StatusCode::NOT_MODIFIED, "freshness alone changes no tag");

    rds_engine::scoring_run::run_due(&test.app.db, &test.app.clock, 60).await.unwrap().unwrap();
    rds_origin::catalog::refresh::refresh(&test.app).await.unwrap();
    let after = data(&test.ask(conditional()).await);
    let (before, first) = (data(&before), VAULTS[0].id());
    let row = |rows: &Value| rows.as_array().unwrap().iter().find(|row| row["id"] == first).unwrap().clone();
    let (before, after) = (row(&before), row(&after));
    assert_eq!(after["score_computed_at"], "2026-11-21T00:01:00.000Z");
    assert_ne!(after["score_run_id"], before["score_run_id"]);
    assert_eq!(
        (&after["score_updated_at"], &after["total_score"]),
        (&before["score_updated_at"], &before["total_score"])
    );
    assert_eq!(after["freshness_seconds"], 660);
}
