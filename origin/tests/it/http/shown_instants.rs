//! Instants are stored in microseconds and mostly shown in milliseconds. A shown instant used as an upper bound includes the row that showed it.

use crate::baskets::world::World as Baskets;
use crate::support::market::{VAULTS, line};
use crate::support::receiver::{Manner, Receiver};
use crate::support::testapp::TestApp;
use crate::vaults::holders::snapshot;
use crate::webhooks::world::World as Webhooks;
use rds_shared::wire::Timestamp;
use serde_json::json;

const STORED: &str = "2026-11-21T01:00:00.123456Z";
const SHOWN: &str = "2026-11-21T01:00:00.123Z";

#[tokio::test]
async fn score_history_up_to_a_point_as_it_was_shown_ends_with_that_point() {
    let test = TestApp::with_market().await;
    assert!(test.app.clock.set(Timestamp::parse(STORED).unwrap()));
    let lost = json!({ "vault_id": VAULTS[0].id(), "status": "unavailable" });
    test.ingest(&line("exposure", "2026-11-21T01:00:00Z", lost)).await;
    let history = format!("/v1/vault/ethereum/{}/score-history", VAULTS[0].address());
    let all = test.json(&history).await["data"].as_array().unwrap().clone();
    assert_eq!((all.len(), &all[1]["observed_at"]), (2, &json!(SHOWN)));
    for (bounds, kept) in [
        (format!("to={SHOWN}"), &all[..]),
        (format!("from={SHOWN}&to={SHOWN}"), &all[1..]),
        (format!("to={STORED}"), &all[..]),
        ("to=2026-11-21T01:00:00.123455Z".to_owned(), &all[..1]),
        ("to=2026-11-21T01:00:00.122Z".to_owned(), &all[..1]),
    ] {
        assert_eq!(test.json(&format!("{history}?{bounds}")).await["data"], json!(kept), "{bounds}");
    }
}

#[tokio::test]
async fn holders_up_to_a_snapshot_as_it_was_shown_end_with_that_snapshot() {
    let test = TestApp::with_market().await;
    test.ingest(&snapshot("2026-11-20T21:00:00.123456Z", json!({}))).await;
    let history = format!("/v1/vault/ethereum/{}/holders/history", VAULTS[0].address());
    let rows = test.json(&history).await["data"].clone();
    let shown = rows[0]["computed_at"].as_str().unwrap();
    assert_eq!(shown, "2026-11-20T21:00:00.123Z");
    assert_eq!(test.json(&format!("{history}?from={shown}&to={shown}")).await["data"], rows);
}

#[tokio::test]
async fn a_replay_up_to_a_delivery_as_it_was_shown_includes_it() {
    let world = Webhooks::new().await;
    let receiver = Receiver::new(Manner::status(200)).await;
    let (id, _) = world.subscribed(&receiver).await;
    world.tell("once").await;
    let sql = "update webhook_delivery set state = 'failed_terminal', attempt = 6, finished_at = '2026-11-20T18:00:00.123456Z'";
    sqlx::query(sql).execute(&world.app().db.pool).await.unwrap();
    let shown = world.deliveries(id).await[0]["finished_at"].as_str().unwrap().to_owned();
    assert_eq!(shown, "2026-11-20T18:00:00.123Z");
    let replay = format!("/v1/webhooks/{id}/replay?from={shown}&to={shown}");
    assert_eq!(world.ask("POST", &replay).await["enqueued"], 1);
}

#[tokio::test]
async fn a_basket_as_of_a_version_s_instant_as_it_was_shown_is_that_version() {
    let world = Baskets::begun().await;
    world.pass_to(STORED);
    world.review("amber", 8.0).await;
    world.refresh().await;
    let row = world.data("").await;
    assert_eq!((&row["version_id"], &row["last_rebalanced_at"]), (&json!("dollars-v2"), &json!(SHOWN)));
    for (at, version) in [(SHOWN, "dollars-v2"), (STORED, "dollars-v2"), ("2026-11-21T01:00:00.123455Z", "dollars-v1")]
    {
        assert_eq!(world.data(&format!("?at={at}")).await["version_id"], version, "{at}");
    }
}
