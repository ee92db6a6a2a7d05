//! The security registry: who publishes a row, what subscribers get, and which tracked vaults, assets, markets and protocols it touches.

use crate::support::market::{BASE58, VAULTS, address, line};
use crate::support::testapp::TestApp;
use rds_engine::security::auto_publish::{self, Pass};
use rds_engine::security::editing::{self, Edited};
use rds_facts::{event_id, security_event_id};
use rds_origin::catalog::refresh;
use rds_shared::model::security::RegistryState::{self, *};
use rds_store::Db;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// When the registry was observed.
pub const SEEN: &str = "2026-11-20T22:00:00Z";

/// A report that touches no known vault, asset, market or protocol, with the fields of `changed` replaced.
pub fn report(key: &str, changed: Value) -> String {
    let mut fields = json!({
        "source_id": key, "chain_id": 1, "title": format!("Attack on {key}"), "severity": "Warning", "victims": [address(0xdead)],
        "attacked_at": "2026-11-10T00:00:00Z",
    });
    fields.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
    line("security_event", SEEN, fields)
}

/// Like [`report`], with the market's first vault as the victim.
pub fn on_vault(key: &str, changed: Value) -> String {
    let mut fields = json!({ "victims": [VAULTS[0].address()] });
    fields.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
    report(key, fields)
}

pub fn id(key: &str) -> i64 {
    security_event_id("fixture", key)
}

/// Runs an editor's command and refreshes the service.
pub async fn edit(test: &TestApp, key: &str, state: RegistryState) -> Edited {
    let edited = editing::run(&test.facts.db, &test.app.clock, id(key), state, Some("said so")).await.unwrap();
    refresh::refresh(&test.app).await.unwrap();
    edited
}

async fn pass(test: &TestApp) -> Pass {
    let pass = auto_publish::run(&test.facts.db, &test.app.clock).await.unwrap();
    refresh::refresh(&test.app).await.unwrap();
    pass
}

/// The `sourceId` of each row that a query lists.
pub async fn listed(test: &TestApp, query: &str) -> Vec<String> {
    let body = test.json(&format!("/v1/security-events?limit=100&{query}")).await;
    body["data"].as_array().unwrap().iter().map(|row| row["sourceId"].as_str().unwrap().to_owned()).collect()
}

/// The captured operations, oldest first: event type and stream operation, and the body.
async fn operations(test: &TestApp) -> Vec<(String, Value)> {
    let rows: Vec<(String, Vec<u8>)> = sqlx::query_as(
        "SELECT concat_ws(' ', family, stream_op), body FROM push_operation \
         WHERE family = 'security_event.published' OR event_id IN (SELECT promoted_event_id::text FROM security_event) ORDER BY id",
    )
    .fetch_all(&test.facts.db.pool)
    .await
    .unwrap();
    rows.into_iter().map(|(said, body)| (said, serde_json::from_slice(&body).unwrap())).collect()
}

async fn said(test: &TestApp) -> Vec<String> {
    operations(test).await.into_iter().map(|(said, _)| said).collect()
}

fn moved(edited: Edited) -> bool {
    matches!(edited, Edited::Moved { .. })
}

#[tokio::test]
async fn a_draft_is_served_only_after_publication_and_is_captured_as_served() {
    let test = TestApp::with_market().await;
    test.ingest(&report(
        "one",
        json!({ "loss_usd": 1_250_000.105, "confirmations": 4, "disconfirmations": 1, "tx_hash": "0xfe" }),
    ))
    .await;
    assert!(listed(&test, "").await.is_empty());
    assert!(said(&test).await.is_empty());

    assert_eq!(edit(&test, "one", Published).await, Edited::Moved { from: Draft });
    let served = test.json("/v1/security-events").await;
    let row = &served["data"][0];
    assert_eq!(
        (&row["published_by"], &row["netScore"], &row["chainSlug"], &row["lossAmountUsd"], &row["promotedEventId"]),
        (&json!("admin"), &json!(3), &json!("ethereum"), &json!(1_250_000.1), &Value::Null)
    );
    assert_eq!(served["meta"], json!({ "page": 1, "limit": 50, "hasMore": false }));
    assert_eq!(operations(&test).await, [("security_event.published".to_owned(), row.clone())]);

    assert_eq!(edit(&test, "one", Published).await, Edited::Already);
    assert_eq!(said(&test).await.len(), 1, "publishing again captures nothing");
}

#[tokio::test]
async fn only_published_rows_are_served_and_only_allowed_transitions_are_accepted() {
    let test = TestApp::with_market().await;
    let keys = ["draft", "published", "dismissed", "retracted", "removed", "purged"];
    test.ingest(&keys.map(|key| report(key, json!({}))).concat()).await;
    for (key, state) in keys.iter().zip([Draft, Published, Dismissed, Published, Removed, Purged]) {
        if state != Draft {
            assert!(moved(edit(&test, key, state).await), "{key}");
        }
    }
    assert!(moved(edit(&test, "retracted", Retracted).await));
    assert_eq!(listed(&test, "").await, ["published"]);

    for (key, state) in [
        ("draft", Retracted),
        ("published", Dismissed),
        ("published", Draft),
        ("dismissed", Retracted),
        ("retracted", Dismissed),
        ("purged", Published),
        ("purged", Removed),
    ] {
        assert!(matches!(edit(&test, key, state).await, Edited::Refused { .. }), "{key} to {state}");
    }
    assert_eq!(edit(&test, "nobody", Published).await, Edited::Unknown);
    for key in ["dismissed", "retracted", "removed"] {
        assert!(moved(edit(&test, key, Published).await), "{key}");
    }
    assert_eq!(listed(&test, "").await.len(), 4);
    // A newer observation changes a row's content but not its state.
    let newer = report("purged", json!({ "title": "Again" })) + &report("published", json!({ "title": "Told anew" }));
    test.ingest(&newer.replace(SEEN, "2026-11-20T23:00:00Z")).await;
    let titles = listed(&test, "search=told%20anew").await;
    assert_eq!((titles, listed(&test, "search=again").await), (vec!["published".to_owned()], vec![]));
}

#[tokio::test]
async fn each_pass_publishes_the_fifty_oldest_due_rows() {
    let test = TestApp::with_market().await;
    let day = |number: u32| format!("2026-{:02}-{:02}T00:00:00Z", 1 + number / 28, 1 + number % 28);
    let rows: String =
        (0..60).rev().map(|number| on_vault(&format!("r{number:02}"), json!({ "attacked_at": day(number) }))).collect();
    test.ingest(&rows).await;
    let names = |range: std::ops::Range<u32>| range.rev().map(|number| format!("r{number:02}")).collect::<Vec<_>>();
    assert_eq!(listed(&test, "published_by=auto").await, names(0..50));

    test.ingest(&rows).await;
    assert_eq!(listed(&test, "").await.len(), 50, "repeating a batch changes nothing");
    let second = pass(&test).await;
    assert_eq!(second.published, (50..60).map(|number| id(&format!("r{number:02}"))).collect::<Vec<_>>());
    assert_eq!((second.waiting, second.promoted), (0, 10), "promoted with their publication");
    assert_eq!(listed(&test, "").await, names(0..60));
    assert_eq!(pass(&test).await, Pass::default());
}

#[tokio::test]
async fn two_processes_with_a_pass_at_the_same_time_publish_each_row_once() {
    let test = TestApp::with_market().await;
    let rows: String = (0..120).map(|number| on_vault(&format!("r{number}"), json!({}))).collect();
    test.ingest(&rows).await;
    let other = Db::connect(&test.facts.url, 2).await.unwrap();
    let (one, two) =
        tokio::join!(auto_publish::run(&test.facts.db, &test.app.clock), auto_publish::run(&other, &test.app.clock));
    let (one, two) = (one.unwrap(), two.unwrap());
    let mut sizes = [one.published.len(), two.published.len()];
    sizes.sort_unstable();
    assert_eq!(sizes, [20, 50]);
    let together: BTreeSet<i64> = one.published.into_iter().chain(two.published).collect();
    assert_eq!(together.len(), 70);
    let captured = "SELECT count(*) = 120 AND count(DISTINCT event_id) = 120 FROM push_operation WHERE family = 'security_event.published'";
    assert!(sqlx::query_scalar::<_, bool>(captured).fetch_one(&test.facts.db.pool).await.unwrap());
    other.pool.close().await;
}

#[tokio::test]
async fn a_row_touches_vaults_assets_markets_and_protocols_on_its_own_chain() {
    let test = TestApp::with_market().await;
    let market = line(
        "market",
        SEEN,
        json!({ "protocol_id": "harbor", "protocol_version": "v3", "chain_id": 8453, "address": address(0xa0), "name": "Pool",
                "shape": "pool", "discovered_by": "onchain_rpc" }),
    );
    let victim = |key: &str, chain: u64, victim: String| {
        report(key, json!({ "chain_id": chain, "victims": [address(0xdead), victim] }))
    };
    let rows = [
        market,
        victim("vault", 1, VAULTS[0].address().to_uppercase().replace("0X", "0x")),
        victim("elsewhere", 8453, VAULTS[0].address()),
        victim("solana", 900, BASE58.to_owned()),
        victim("asset", 1, crate::support::market::DOLLAR.to_owned()),
        victim("market", 8453, address(0xa0)),
        report("protocol", json!({ "chain_id": null, "victims": [], "protocol_id": "lantern" })),
        report("attacker", json!({ "attackers": [VAULTS[0].address()] })),
    ];
    test.ingest(&rows.concat()).await;
    let touching: BTreeSet<String> = listed(&test, "affectsTrackedUniverse=true").await.into_iter().collect();
    assert_eq!(touching, ["asset", "market", "protocol", "solana", "vault"].map(str::to_owned).into());
    assert_eq!(pass(&test).await.waiting, 0);
}

#[tokio::test]
async fn a_row_is_promoted_when_its_victim_becomes_tracked_later() {
    let test = TestApp::with_market().await;
    let late = address(0xbeef);
    test.ingest(&(report("waits", json!({ "victims": [late] })) + &report("public", json!({ "victims": [late] }))))
        .await;
    edit(&test, "public", Published).await;
    assert_eq!(said(&test).await, ["security_event.published"]);

    let vault = VAULTS[0].identity().replace(&VAULTS[0].address(), &late);
    test.ingest(&vault).await;
    assert_eq!(listed(&test, "affectsTrackedUniverse=true&published_by=auto").await, ["waits"]);
    assert_eq!(listed(&test, "affectsTrackedUniverse=true&published_by=ADMIN").await, ["public"]);
    let row = test.json("/v1/security-events?published_by=admin").await["data"][0].clone();
    assert_eq!(row["promotedEventId"], json!(event_id(&format!("security-{}", id("public"))).to_string()));
    let feed = "SELECT count(*) FROM event WHERE event_type = 'SecurityEvent' AND state = 'published' AND promoted_at IS NOT NULL";
    assert_eq!(sqlx::query_scalar::<_, i64>(feed).fetch_one(&test.facts.db.pool).await.unwrap(), 2);
}

#[tokio::test]
async fn the_event_of_a_promoted_row_is_retracted_and_published_again_with_it() {
    let test = TestApp::with_market().await;
    test.ingest(&on_vault("one", json!({ "loss_usd": 5 }))).await;
    let scored = "SELECT score, provenance::text FROM vault_score ORDER BY vault_id";
    let scores =
        async || sqlx::query_as::<_, (Option<i32>, String)>(scored).fetch_all(&test.facts.db.pool).await.unwrap();
    let before = scores().await;
    assert!(moved(edit(&test, "one", Retracted).await));
    assert!(listed(&test, "").await.is_empty());
    assert!(moved(edit(&test, "one", Published).await));
    assert_eq!(
        said(&test).await,
        [
            "event.published promoted",
            "security_event.published",
            "event.retracted retracted",
            "event.published published",
            "promoted",
            "security_event.published",
        ]
    );
    let row = test.json("/v1/security-events").await["data"][0].clone();
    assert_eq!(row["published_by"], "admin");
    let (_, body) = operations(&test).await.pop().unwrap();
    assert_eq!(body, row, "the body is the row with its event");
    assert!(scores().await == before, "a registry report does not change a score");
}

#[tokio::test]
async fn an_incident_reported_separately_is_the_rows_event_and_outlives_it() {
    let test = TestApp::with_market().await;
    let incident = line(
        "incident_link",
        SEEN,
        json!({ "event_key": "fixture-one", "vault_id": VAULTS[0].id(), "severity": "Critical", "incident_severity": "minor",
                "title": "Incident", "occurred_at": "2026-11-10T00:00:00Z", "links": [] }),
    );
    test.ingest(&(incident + &on_vault("One", json!({})))).await;
    let row = test.json("/v1/security-events").await["data"][0].clone();
    assert_eq!(row["promotedEventId"], json!(event_id("fixture-one").to_string()));
    let count = async |sql: &str| sqlx::query_scalar::<_, i64>(sql).fetch_one(&test.facts.db.pool).await.unwrap();
    assert_eq!(count("SELECT count(*) FROM event WHERE event_type = 'SecurityEvent'").await, 0);
    assert!(moved(edit(&test, "One", Removed).await));
    assert_eq!(count("SELECT count(*) FROM event WHERE event_key = 'fixture-one' AND state = 'published'").await, 1);
}

#[tokio::test]
async fn an_event_made_from_a_row_is_replaced_by_the_incident_itself() {
    let test = TestApp::with_market().await;
    test.ingest(&on_vault("One", json!({}))).await;
    let incident = line(
        "incident_link",
        SEEN,
        json!({ "event_key": "fixture-one", "vault_id": VAULTS[0].id(), "severity": "Critical", "incident_severity": "minor",
                "title": "Incident", "occurred_at": "2026-11-10T00:00:00Z", "links": [] }),
    );
    test.ingest(&incident).await;
    let row = test.json("/v1/security-events").await["data"][0].clone();
    assert_eq!(row["promotedEventId"], json!(event_id("fixture-one").to_string()));
    let made = "SELECT state FROM event WHERE event_type = 'SecurityEvent'";
    assert_eq!(sqlx::query_scalar::<_, String>(made).fetch_one(&test.facts.db.pool).await.unwrap(), "retracted");
}

#[tokio::test]
async fn only_a_case_with_a_loss_makes_its_row_due() {
    let test = TestApp::with_market().await;
    let case = |key: &str, changed: Value| {
        let mut fields = json!({ "case_id": key, "source_id": key, "title": key, "loss_usd": 10, "loss_basis": "stated",
            "attacked_at": "2026-11-10T00:00:00Z", "security_source": "fixture", "security_source_id": key });
        fields.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
        report(key, json!({})) + &line("loss_case", SEEN, fields)
    };
    let cases = [
        case("lost", json!({})),
        case("nothing", json!({ "loss_usd": 0 })),
        case("doubted", json!({ "loss_usd": null, "loss_basis": "doubtful" })),
        case("gone", json!({ "is_active": false })),
        case("verified", json!({ "contamination": { "reason": "counted twice", "verified_by": "desk" } })),
        case("suspected", json!({ "contamination": { "reason": "counted twice", "verified_by": null } })),
        case("alone", json!({ "security_source_id": "another" })),
    ];
    test.ingest(&cases.concat()).await;
    let published: BTreeSet<String> = listed(&test, "published_by=auto").await.into_iter().collect();
    assert_eq!(published, ["lost", "suspected"].map(str::to_owned).into());
    assert!(listed(&test, "affectsTrackedUniverse=true").await.is_empty(), "a loss promotes nothing");
    assert_eq!(said(&test).await, ["security_event.published"; 2]);
}

#[tokio::test]
async fn a_withheld_chain_publishes_nothing_and_shows_nothing() {
    let test = TestApp::with_market().await;
    test.ingest(&on_vault("early", json!({}))).await;
    let chain = |served: bool, hour: u32| {
        line(
            "chain",
            &format!("2026-11-20T{hour}:00:00Z"),
            json!({ "chain_id": 1, "slug": "ethereum", "name": "Ethereum", "namespace": "evm", "is_settlement": true, "is_served": served }),
        )
    };
    test.ingest(&chain(false, 10)).await;
    test.ingest(&on_vault("late", json!({}))).await;
    assert!(listed(&test, "").await.is_empty());
    assert_eq!(edit(&test, "late", Published).await, Edited::Withheld);
    assert_eq!(pass(&test).await.waiting, 0);
    test.ingest(&chain(true, 11)).await;
    assert_eq!(listed(&test, "").await.len(), 2, "rows that waited for the chain are published with it");
}
