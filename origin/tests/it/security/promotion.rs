//! Events made from the security registry: each changes together with its row, and is retracted when the row no longer touches the tracked
//! universe (the known vaults, assets, markets, reserves and protocols).

use crate::events::feed::{feed, titles};
use crate::http::tags::{newest, raised};
use crate::security::world::{SEEN, edit, id, listed, on_vault, report};
use crate::support::market::{VAULTS, address, line};
use crate::support::testapp::TestApp;
use axum::http::StatusCode;
use rds_engine::publication::PublicationResult;
use rds_engine::publication::commands::{self, Verb};
use rds_engine::security::auto_publish;
use rds_facts::event_id;
use rds_shared::model::security::RegistryState::{Published, Retracted};
use rds_shared::route::Tag;
use serde_json::{Value, json};

/// The same report, observed later.
fn newer(report: &str) -> String {
    report.replace(SEEN, "2026-11-20T23:00:00Z")
}

fn made(key: &str) -> i64 {
    event_id(&format!("security-{}", id(key)))
}

/// The served row with this key.
async fn row(test: &TestApp, key: &str) -> Value {
    let rows = test.json("/v1/security-events?limit=100").await["data"].clone();
    rows.as_array().unwrap().iter().find(|row| row["sourceId"] == key).cloned().unwrap_or(Value::Null)
}

/// The stream operations of an event, oldest first.
async fn stream_operations(test: &TestApp, event: i64) -> Vec<String> {
    sqlx::query_scalar("SELECT stream_op FROM push_operation WHERE event_id = $1 AND stream_op IS NOT NULL ORDER BY id")
        .bind(event.to_string())
        .fetch_all(&test.facts.db.pool)
        .await
        .unwrap()
}

/// The names of the vaults that an event affects.
async fn affected(test: &TestApp, event: i64) -> Vec<String> {
    let detail = test.json(&format!("/v1/events/{event}")).await;
    let vaults = detail["data"]["affected_vaults"].as_array().unwrap();
    vaults.iter().map(|vault| vault["vault_name"].as_str().unwrap().to_owned()).collect()
}

async fn verb(test: &TestApp, event: i64, verb: Verb) {
    assert_eq!(commands::run(&test.app.db, &test.app.clock, event, verb).await.unwrap(), PublicationResult::Moved);
    rds_origin::catalog::refresh::refresh(&test.app).await.unwrap();
}

#[tokio::test]
async fn a_batch_that_promotes_an_event_raises_the_tag_of_the_feed() {
    let test = TestApp::with_market().await;
    let before = newest(&test).await;
    let reply = test.ingest(&on_vault("one", json!({}))).await.json();
    assert_eq!((&reply["data"]["security_published"], &reply["data"]["events_published"]), (&json!(1), &json!(1)));
    let after = newest(&test).await;
    assert_eq!(raised(&before, &after), [Tag::Events, Tag::Security]);
    assert_eq!(feed(&test, "eventType=securityevent").await, ["Attack on one"]);

    // A draft is published automatically once the address that it names as victim belongs to a known vault.
    let late = address(0xbeef);
    test.ingest(&report("two", json!({ "victims": [late] }))).await;
    let before = newest(&test).await;
    test.ingest(&VAULTS[0].identity().replace(&VAULTS[0].address(), &late)).await;
    assert!(raised(&before, &newest(&test).await).contains(&Tag::Events));
    assert_eq!(feed(&test, "eventType=securityevent").await.len(), 2);
}

#[tokio::test]
async fn a_corrected_report_corrects_the_event_that_was_made_of_it() {
    let test = TestApp::with_market().await;
    test.ingest(&on_vault("one", json!({ "loss_usd": 1_000_000, "severity": "Info" }))).await;
    assert_eq!(affected(&test, made("one")).await, ["Harbor Dollar"]);
    let corrected = json!({ "loss_usd": 50_000_000.07, "severity": "Critical", "title": "A larger attack", "victims": [VAULTS[2].address()] });
    let before = newest(&test).await;
    test.ingest(&newer(&on_vault("one", corrected))).await;
    assert!(raised(&before, &newest(&test).await).contains(&Tag::Events));
    let event = test.json("/v1/events?eventType=securityevent").await["data"][0].clone();
    assert_eq!(
        (&event["title"], &event["severity"], &event["loss_amount_usd"]),
        (&json!("A larger attack"), &json!("Critical"), &json!(50_000_000.07))
    );
    let vault = |number: usize| format!("/v1/vault/ethereum/{}/events", VAULTS[number].address());
    assert!(!titles(&test.json(&vault(0)).await).iter().any(|title| title.contains("ttack")), "no longer a victim");
    assert!(titles(&test.json(&vault(2)).await).contains(&"A larger attack"));
    assert_eq!(stream_operations(&test, made("one")).await, ["promoted"], "a correction is not sent to subscribers");
    // A second pass finds nothing to correct.
    let again = auto_publish::run(&test.facts.db, &test.app.clock).await.unwrap();
    assert_eq!((again.promoted, again.published.len()), (0, 0));
}

#[tokio::test]
async fn an_event_names_victims_that_become_tracked_later() {
    let test = TestApp::with_market().await;
    let late = address(0xbeef);
    test.ingest(&on_vault("one", json!({ "victims": [VAULTS[0].address(), late] }))).await;
    assert_eq!(affected(&test, made("one")).await.len(), 1);
    test.ingest(&VAULTS[0].identity().replace(&VAULTS[0].address(), &late)).await;
    assert_eq!(affected(&test, made("one")).await.len(), 2);
}

#[tokio::test]
async fn an_event_is_retracted_while_its_report_touches_nothing_tracked() {
    let test = TestApp::with_market().await;
    test.ingest(&on_vault("one", json!({}))).await;
    test.ingest(&newer(&report("one", json!({})))).await;
    let served = row(&test, "one").await;
    assert_eq!((&served["affectsTrackedUniverse"], &served["promotedEventId"]), (&json!(false), &Value::Null));
    assert_eq!(test.get(&format!("/v1/events/{}", made("one"))).await.status, StatusCode::NOT_FOUND);
    assert!(feed(&test, "eventType=securityevent").await.is_empty());
    assert_eq!(stream_operations(&test, made("one")).await, ["promoted", "retracted"]);

    test.ingest(&on_vault("one", json!({})).replace(SEEN, "2026-11-20T23:30:00Z")).await;
    assert_eq!(feed(&test, "eventType=securityevent").await, ["Attack on one"]);
    assert_eq!(row(&test, "one").await["promotedEventId"], json!(made("one").to_string()));
    assert_eq!(stream_operations(&test, made("one")).await, ["promoted", "retracted", "published", "promoted"]);
}

#[tokio::test]
async fn a_row_names_its_event_only_while_the_event_is_served() {
    let test = TestApp::with_market().await;
    test.ingest(&on_vault("one", json!({}))).await;
    let named = async || row(&test, "one").await["promotedEventId"].clone();
    assert_eq!(named().await, json!(made("one").to_string()));
    let before = newest(&test).await;
    verb(&test, made("one"), Verb::Retract { reason: None }).await;
    assert!(raised(&before, &newest(&test).await).contains(&Tag::Security));
    assert_eq!(named().await, Value::Null);
    // A newer observation does not undo an editor's retraction.
    test.ingest(&newer(&on_vault("one", json!({ "title": "Told anew" })))).await;
    assert_eq!((named().await, feed(&test, "eventType=securityevent").await.len()), (Value::Null, 0));
    verb(&test, made("one"), Verb::Publish).await;
    assert_eq!(named().await, json!(made("one").to_string()));
    edit(&test, "one", Retracted).await;
    edit(&test, "one", Published).await;
    assert_eq!(test.json(&format!("/v1/events/{}", made("one"))).await["data"]["title"], "Told anew");
}

#[tokio::test]
async fn a_row_names_no_event_of_a_chain_that_is_withheld() {
    let test = TestApp::with_market().await;
    let incident = |chain: i64, at: &str| {
        line(
            "event",
            at,
            json!({ "event_key": "fixture-one", "event_type": "Incident", "severity": "Critical", "title": "Incident", "chain_id": chain,
                    "occurred_at": "2026-11-10T00:00:00Z" }),
        )
    };
    let base = |served: bool, at: &str| {
        line(
            "chain",
            at,
            json!({ "chain_id": 8453, "slug": "base", "name": "Base", "namespace": "evm", "is_settlement": true, "is_served": served }),
        )
    };
    test.ingest(&(incident(8453, SEEN) + &on_vault("One", json!({})))).await;
    let named = async || row(&test, "One").await["promotedEventId"].clone();
    let number = json!(event_id("fixture-one").to_string());
    assert_eq!(named().await, number);
    test.ingest(&base(false, "2026-11-20T10:00:00Z")).await;
    assert_eq!(named().await, Value::Null);
    // The row names the event again when the event moves to a served chain.
    let before = newest(&test).await;
    test.ingest(&incident(1, "2026-11-20T23:00:00Z")).await;
    assert!(raised(&before, &newest(&test).await).contains(&Tag::Security));
    assert_eq!((named().await, listed(&test, "").await.len()), (number, 1));
}
