//! The events feed over HTTP: groups, filters, orders, pages, bad input.

use crate::support::market::{VAULTS, address, line};
use crate::support::testapp::{NOW, TestApp, holder};
use axum::http::StatusCode;
use rds_engine::publication::PublicationResult;
use rds_engine::publication::commands::{self, Verb};
use rds_facts::event_id;
use rds_shared::access::Plan;
use rds_shared::wire::Timestamp;
use serde_json::{Value, json};

/// The ingest line of an event that occurred `days` days before [`NOW`].
pub fn event(key: &str, days: i64, fields: Value) -> String {
    let now = Timestamp::parse(NOW).unwrap();
    let mut all = json!({"event_key": key, "event_type": "Incident", "severity": "Info", "title": key,
                         "occurred_at": now.plus_seconds(-days * 86_400)});
    all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    line("event", NOW, all)
}

pub fn titles(answer: &Value) -> Vec<&str> {
    answer["data"].as_array().unwrap().iter().map(|row| row["title"].as_str().unwrap()).collect()
}

pub async fn feed(test: &TestApp, query: &str) -> Vec<String> {
    let answer = test.json(&format!("/v1/events?excludeSource=rating-change&{query}")).await;
    titles(&answer).into_iter().map(str::to_owned).collect()
}

pub async fn retract(test: &TestApp, key: &str) {
    let verb = Verb::Retract { reason: None };
    assert_eq!(
        commands::run(&test.app.db, &test.app.clock, event_id(key), verb).await.unwrap(),
        PublicationResult::Moved
    );
}

/// The market, with events that differ in every filtered field.
pub async fn with_events() -> TestApp {
    let test = TestApp::with_market().await;
    let events = [
        event(
            "drain",
            1,
            json!({"severity": "Critical", "incident_severity": "major", "remediation_status": "unresolved", "loss_usd": 5e6,
            "vault_ids": [VAULTS[0].id()], "title": "Harbor was drained", "description": "It's \"100%\" of the_pool 🦀 exploited"}),
        ),
        event(
            "pause",
            2,
            json!({"event_type": "Pause", "severity": "Warning", "protocol_id": "lantern", "source": "peg-monitor",
            "title": "Lantern paused"}),
        ),
        event(
            "curated",
            3,
            json!({"curator_id": "tide", "chain_id": 8453, "incident_severity": "minor", "remediation_status": "resolved",
            "loss_usd": 10.0, "title": "Tidewater rebalanced"}),
        ),
        event("old", 500, json!({"severity": "Warning", "title": "Long ago"})),
        event("ancient", 800, json!({"title": "Before all windows"})),
        event("hidden", 0, json!({"publication": "draft", "title": "Not yet"})),
    ];
    test.ingest(&events.concat()).await;
    test
}

#[tokio::test]
async fn the_newest_come_first_and_drafts_and_the_too_old_are_not_there() {
    let test = with_events().await;
    let answer = test.json("/v1/events?excludeSource=rating-change").await;
    let all = titles(&answer);
    let own: Vec<&str> = all.iter().filter(|title| !title.starts_with("Incident ")).copied().collect();
    assert_eq!(own, ["Harbor was drained", "Lantern paused", "Tidewater rebalanced", "Long ago"]);
    assert_eq!(answer["meta"], json!({"page": 1, "limit": 20, "hasMore": false}));
    let row = &answer["data"][0];
    assert_eq!((&row["protocol_id"], &row["protocol_name"]), (&json!("harbor"), &json!("Harbor Lending")));
    assert_eq!((&row["chain_id"], &row["curator_name"]), (&json!(1), &json!("North Star")));
    assert_eq!((&row["occurrence_count"], &row["group_key"], row["id"].is_string()), (&json!(1), &Value::Null, true));
}

#[tokio::test]
async fn every_filter_keeps_what_it_names() {
    let test = with_events().await;
    for (query, expected) in [
        ("eventType=pause", &["Lantern paused"][..]),
        ("eventType=Pause,BadDebt", &["Lantern paused"]),
        ("eventType=Nothing", &[]),
        ("severity=Critical&daysBack=30", &["Harbor was drained"]),
        ("severity=critical,warning&daysBack=30", &["Harbor was drained", "Lantern paused"]),
        ("protocolId=harbor&daysBack=30", &["Harbor was drained"]),
        ("protocolId=LANTERN&daysBack=30", &["Lantern paused"]),
        ("curatorId=tide&daysBack=30", &["Tidewater rebalanced"]),
        ("curatorId=north&daysBack=30", &["Harbor was drained"]),
        ("chainId=base&daysBack=30", &["Tidewater rebalanced"]),
        ("chainId=1,nowhere&daysBack=30", &["Harbor was drained"]),
        ("chainId=nowhere", &[]),
        ("incidentSeverity=major", &["Harbor was drained"]),
        ("remediationStatus=resolved&daysBack=30", &["Tidewater rebalanced"]),
        ("daysBack=1", &["Harbor was drained"]),
        ("daysBack=730&severity=Warning", &["Lantern paused", "Long ago"]),
        ("daysBack=9999&severity=Warning", &["Lantern paused", "Long ago"]),
        ("search=drain", &["Harbor was drained"]),
        ("search=EXPLOIT", &["Harbor was drained"]),
        ("search=harbor%20-drained", &[]),
        ("search=harbor%20-drains", &[]),
        ("search=harbor%20-paused", &["Harbor was drained"]),
        ("search=the%20draining%20of%20a%20harbor", &["Harbor was drained"]),
        ("search=paused%20or%20rebalanced", &["Lantern paused", "Tidewater rebalanced"]),
        ("search=%22was%20drained%22", &["Harbor was drained"]),
        ("search=%22drained%20harbor%22", &[]),
        ("search=%22", &[]),
        ("search=%25", &[]),
        ("search=100%25", &["Harbor was drained"]),
        ("search=the_pool", &["Harbor was drained"]),
        ("search=%F0%9F%90%99", &[]),
        ("search='%20or%201%3D1%20--", &[]),
        ("search=it", &["Harbor was drained"]),
    ] {
        assert_eq!(feed(&test, query).await, expected, "{query}");
    }
    let without = test.json("/v1/events?excludeSource=Peg-Monitor,rating-change&daysBack=30").await;
    assert_eq!(titles(&without), ["Harbor was drained", "Tidewater rebalanced"]);
}

#[tokio::test]
async fn bad_input_names_its_parameter() {
    let test = TestApp::new().await;
    for (query, name) in [
        ("page=0", "page"),
        ("limit=x", "limit"),
        ("severity=High", "severity"),
        ("incidentSeverity=huge", "incidentSeverity"),
        ("remediationStatus=maybe", "remediationStatus"),
        ("sortBy=title", "sortBy"),
        ("sortOrder=up", "sortOrder"),
        ("daysBack=week", "daysBack"),
        ("daysBack=0", "daysBack"),
        ("search=a%00b", "search"),
    ] {
        let reply = test.get(&format!("/v1/events?{query}")).await;
        assert_eq!((reply.status, reply.code().as_str()), (StatusCode::BAD_REQUEST, "INVALID_PARAMETER"), "{query}");
        assert_eq!(reply.json()["error"]["details"][0]["name"], name, "{query}");
    }
    let long = test.get(&format!("/v1/events?search={}", "a".repeat(201))).await;
    assert_eq!(long.code(), "INVALID_PARAMETER");
    assert_eq!(test.get("/v1/events?page=11").await.status, StatusCode::FORBIDDEN);
    assert_eq!(test.get_as(&holder(Plan::Data), "/v1/events?page=11").await.status, StatusCode::OK);
    for missing in [
        "/v1/events/nothing",
        "/v1/events/17",
        "/v1/events/99999999999999999999",
        "/v1/events/group/none",
        "/v1/markets/none/events",
    ] {
        assert_eq!(test.get(missing).await.code(), "NOT_FOUND", "{missing}");
    }
}

#[tokio::test]
async fn pages_of_equal_instants_neither_overlap_nor_skip() {
    let test = TestApp::with_market().await;
    let all: String =
        (0..23).map(|number| event(&format!("same-{number}"), 1, json!({"severity": "Warning"}))).collect();
    test.ingest(&all).await;
    for order in
        ["", "&sortOrder=asc", "&sortBy=severity", "&sortBy=loss_amount_usd&sortOrder=asc", "&sortBy=occurrence_count"]
    {
        let mut seen = Vec::new();
        for page in 1..=5 {
            let answer = test.json(&format!("/v1/events?severity=Warning&daysBack=7&limit=5&page={page}{order}")).await;
            assert_eq!(answer["meta"]["hasMore"], json!(page < 5), "{order} {page}");
            seen.extend(titles(&answer).into_iter().map(str::to_owned));
        }
        seen.sort_unstable();
        let count = seen.len();
        seen.dedup();
        assert_eq!((count, seen.len()), (23, 23), "{order}");
    }
}

#[tokio::test]
async fn another_order_looks_back_as_far_as_a_page_needs() {
    let test = with_events().await;
    // Two matching events occurred within seven days, the third 500 days ago: only the longest window of a query contains it.
    assert_eq!(
        feed(&test, "sortBy=loss_amount_usd&limit=2&eventType=incident").await,
        ["Harbor was drained", "Tidewater rebalanced"]
    );
    let three = feed(&test, "sortBy=severity&limit=3&search=drained%20or%20paused%20or%20ago").await;
    assert_eq!(three, ["Harbor was drained", "Lantern paused", "Long ago"]);
    let rising = feed(&test, "sortBy=loss_amount_usd&sortOrder=asc&daysBack=30").await;
    assert_eq!(rising, ["Tidewater rebalanced", "Harbor was drained", "Lantern paused"], "without a loss last");
}

#[tokio::test]
async fn repeats_are_one_row_that_survives_the_one_that_stood_for_it() {
    let test = TestApp::with_market().await;
    let repeat = |number: i64, publication: &str| {
        let fields = json!({"group_key": "depeg-usdx", "publication": publication, "vault_ids": [VAULTS[0].id()]});
        event(&format!("depeg-{number}"), 10 - number, fields)
    };
    test.ingest(&[repeat(1, "published"), repeat(3, "published"), repeat(2, "published"), repeat(4, "draft")].concat())
        .await;
    let group = async || test.get("/v1/events/group/depeg-usdx").await;
    let row = group().await.json()["data"].clone();
    assert_eq!(
        (&row["title"], &row["occurrence_count"], &row["group_key"]),
        (&json!("depeg-3"), &json!(3), &json!("depeg-usdx"))
    );
    assert_eq!(feed(&test, "search=depeg").await, ["depeg-3"]);
    assert_eq!(feed(&test, "search=%22depeg-1%22").await, ["depeg-1"], "any occurrence is found");
    let one = test.json(&format!("/v1/events/{}", event_id("depeg-1"))).await["data"].clone();
    assert_eq!((&one["title"], &one["occurrence_count"]), (&json!("depeg-1"), &json!(3)));
    assert_eq!(one["affected_vaults"][0]["vault_name"], "Harbor Dollar");
    assert_eq!(one["affected_vaults"][0]["tvl_usd"], json!(5e6));

    retract(&test, "depeg-3").await;
    let row = group().await.json()["data"].clone();
    assert_eq!((&row["title"], &row["occurrence_count"]), (&json!("depeg-2"), &json!(2)));
    assert_eq!(test.get(&format!("/v1/events/{}", event_id("depeg-3"))).await.code(), "NOT_FOUND");
    commands::run(&test.app.db, &test.app.clock, event_id("depeg-4"), Verb::Publish).await.unwrap();
    assert_eq!(group().await.json()["data"]["title"], "depeg-4");
    for key in ["depeg-1", "depeg-2", "depeg-4"] {
        retract(&test, key).await;
    }
    assert_eq!(group().await.code(), "NOT_FOUND");
    assert_eq!(feed(&test, "search=depeg").await, [""; 0]);
}

#[tokio::test]
async fn an_event_that_changes_its_group_leaves_the_old_one_right() {
    let test = TestApp::with_market().await;
    let of = |key: &str, days: i64, group: &str, seen: &str| {
        event(key, days, json!({"group_key": group}))
            .replace(&format!("\"observed_at\":\"{NOW}\""), &format!("\"observed_at\":\"{seen}\""))
    };
    test.ingest(&[of("a", 3, "one", NOW), of("b", 2, "one", NOW)].concat()).await;
    assert_eq!(test.json("/v1/events/group/one").await["data"]["occurrence_count"], 2);
    test.ingest(&of("b", 2, "two", "2026-11-21T00:00:01Z")).await;
    let row = test.json("/v1/events/group/one").await["data"].clone();
    assert_eq!((&row["title"], &row["occurrence_count"]), (&json!("a"), &json!(1)));
    assert_eq!(test.json("/v1/events/group/two").await["data"]["title"], "b");
}

#[tokio::test]
async fn a_withheld_chain_shows_nowhere() {
    let test = TestApp::with_market().await;
    let grouped = |key: &str, days: i64, chain: i64| event(key, days, json!({"group_key": "both", "chain_id": chain}));
    let vault = VAULTS[3].id();
    test.ingest(
        &[
            grouped("on-base", 1, 8453),
            grouped("on-ethereum", 2, 1),
            event("of-vault", 1, json!({"vault_ids": [vault]})),
        ]
        .concat(),
    )
    .await;
    assert_eq!(test.json("/v1/events/group/both").await["data"]["title"], "on-base");
    let base = |served: bool, at: &str| {
        line(
            "chain",
            at,
            json!({"chain_id": 8453, "slug": "base", "name": "Base", "namespace": "evm", "is_settlement": true, "is_served": served}),
        )
    };
    test.ingest(&base(false, "2026-11-20T00:00:00Z")).await;
    assert_eq!(feed(&test, "daysBack=30").await, ["on-ethereum"]);
    let group = test.json("/v1/events/group/both").await["data"].clone();
    assert_eq!((&group["title"], &group["occurrence_count"]), (&json!("on-ethereum"), &json!(1)));
    for key in ["on-base", "of-vault"] {
        assert_eq!(test.get(&format!("/v1/events/{}", event_id(key))).await.code(), "NOT_FOUND", "{key}");
    }
    assert_eq!(test.get(&format!("/v1/vaults/{vault}")).await.code(), "NOT_FOUND");
    test.ingest(&base(true, "2026-11-20T00:00:01Z")).await;
    assert_eq!(test.json("/v1/events/group/both").await["data"]["title"], "on-base");
    assert_eq!(test.get(&format!("/v1/vaults/{vault}")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_wrong_event_is_named_with_its_field_and_nothing_is_kept() {
    let test = TestApp::with_market().await;
    let lines = [
        event("Bad Key", 1, json!({})),
        event("a", -1, json!({})),
        event("b", 1, json!({"vault_ids": ["nobody"]})),
        event("c", 1, json!({"vault_ids": [VAULTS[0].id(), VAULTS[0].id()]})),
        event("d", 1, json!({"protocol_id": "nobody"})),
        event("e", 1, json!({"curator_id": "nobody"})),
        event("f", 1, json!({"chain_id": 77})),
        event("g", 1, json!({"market_address": address(1)})),
        event("h", 1, json!({"market_address": address(1), "chain_id": 1})),
        event("i", 1, json!({"publication": "retracted"})),
        event("j", 1, json!({"data": {"note": "x".repeat(20_000)}})),
        event("k", 1, json!({"title": "nul \u{0}"})),
        event("l", 1, json!({"data": {"note": "nul \u{0}"}})),
        event("m", 1, json!({"surprise": 1})),
        event("n", 1, json!({"vault_ids": ["harbor-1-0x00000000000000000000000000000000000000ff"]})),
        event("fine", 1, json!({})),
    ];
    let reply = test.admin("POST", "/ingest", &lines.concat()).await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    let text = reply.text();
    for (line, field) in [
        (1, "event_key"),
        (2, "occurred_at"),
        (3, "vault_ids[0]"),
        (4, "vault_ids[1]"),
        (5, "protocol_id"),
        (6, "curator_id"),
        (7, "chain_id"),
        (8, "chain_id"),
        (9, "market_address"),
        (10, "publication"),
        (11, "data"),
        (12, "title"),
        (13, "data"),
        (14, "surprise"),
        (15, "vault_ids[0]"),
    ] {
        assert!(text.contains(&format!("\"line {line}, {field}\"")), "{line} {field}: {text}");
    }
    assert_eq!(feed(&test, "search=fine").await, [""; 0]);
}

/// The newest occurrence is a Warning on Base; an older one is Critical, on Ethereum.
#[tokio::test]
async fn a_group_is_found_by_any_of_its_occurrences_and_shown_by_the_newest_of_those() {
    let test = TestApp::with_market().await;
    let of = |key: &str, days: i64, fields: Value| {
        let mut all = json!({"group_key": "storm", "event_type": "Storm"});
        all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        event(key, days, all)
    };
    test.ingest(
        &[
            of("breeze", 1, json!({"severity": "Warning", "chain_id": 8453, "source": "crowd"})),
            of("gale", 3, json!({"severity": "Critical", "vault_ids": [VAULTS[0].id()], "loss_usd": 7.0})),
            of("flood", 4, json!({"severity": "Critical", "chain_id": 1, "protocol_id": "lantern"})),
            of("secret", 0, json!({"severity": "Critical", "publication": "draft", "title": "secret flood"})),
            event("calm", 2, json!({"event_type": "Storm", "severity": "Critical", "group_key": "other"})),
        ]
        .concat(),
    )
    .await;
    for (query, expected) in [
        ("eventType=storm&daysBack=30", &["breeze", "calm"][..]),
        ("eventType=storm&severity=Critical", &["calm", "gale"]),
        ("eventType=storm&severity=Critical&sortOrder=asc&daysBack=30", &["gale", "calm"]),
        ("eventType=storm&severity=Critical,Warning", &["breeze", "calm"]),
        ("eventType=storm&severity=Critical&chainId=base", &[]),
        ("eventType=storm&severity=Warning&chainId=base", &["breeze"]),
        ("search=flood", &["flood"]),
        ("protocolId=lantern&eventType=storm", &["flood"]),
        ("curatorId=north&eventType=storm", &["gale"]),
        ("severity=Critical&eventType=storm&sortBy=loss_amount_usd", &["gale", "calm"]),
        ("severity=Critical&eventType=storm&sortBy=occurrence_count", &["gale", "calm"]),
        ("severity=Critical&eventType=storm&sortBy=severity&limit=1", &["calm"]),
        ("severity=Critical&eventType=storm&limit=1&page=2", &["gale"]),
    ] {
        assert_eq!(feed(&test, query).await, expected, "{query}");
    }
    let without = test.json("/v1/events?eventType=storm&excludeSource=crowd,rating-change").await;
    assert_eq!(titles(&without), ["calm", "gale"]);
    let row = test.json("/v1/events?eventType=storm&severity=Critical&chainId=1&search=gale").await["data"][0].clone();
    assert_eq!((&row["occurrence_count"], &row["group_key"]), (&json!(3), &json!("storm")));
    let curated = test.json("/v1/curators/north/events?limit=50").await["data"].clone();
    let shown: Vec<&str> =
        curated["events"].as_array().unwrap().iter().map(|row| row["title"].as_str().unwrap()).collect();
    assert!(shown.contains(&"gale") && !shown.contains(&"breeze"), "{shown:?}");
    assert_eq!(curated["total"], json!(shown.len()));

    retract(&test, "gale").await;
    assert_eq!(feed(&test, "eventType=storm&severity=Critical").await, ["calm", "flood"]);
    retract(&test, "breeze").await;
    assert_eq!(
        feed(&test, "eventType=storm&severity=Critical").await,
        ["calm", "flood"],
        "now it stands for the group"
    );
    let repeats: i64 = sqlx::query_scalar("select count(*) from event_repeat where group_key = 'storm'")
        .fetch_one(&test.facts.db.pool)
        .await
        .unwrap();
    assert_eq!(repeats, 0);
}
