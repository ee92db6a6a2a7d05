//! The feed follows changes of chains and vaults, and is not rewritten when they are observed again unchanged.

use crate::events::feed::{event, titles};
use crate::support::market::{VAULTS, Vault, lines};
use crate::support::testapp::TestApp;
use rds_facts::event_id;
use serde_json::json;
use std::collections::BTreeMap;

/// The transaction that wrote each row of the feed.
async fn written(test: &TestApp) -> BTreeMap<i64, String> {
    let rows: Vec<(i64, String)> =
        sqlx::query_as("SELECT event_id, xmin::text FROM event_feed").fetch_all(&test.app.db.pool).await.unwrap();
    rows.into_iter().collect()
}

async fn with_events() -> TestApp {
    let test = TestApp::with_market().await;
    let events = [
        event("named", 1, json!({"vault_ids": [VAULTS[0].id()]})),
        event("whole", 2, json!({"protocol_id": "harbor", "affects_protocol_score": true})),
        event("elsewhere", 3, json!({"vault_ids": [VAULTS[4].id()], "chain_id": 1})),
    ];
    test.ingest(&events.concat()).await;
    test
}

/// The vault's identity, observed on another day.
fn again(vault: &Vault, at: &str) -> String {
    vault.identity().replace("2026-11-01T00:00:00Z", at)
}

#[tokio::test]
async fn an_unchanged_observation_rewrites_no_row() {
    let test = with_events().await;
    let before = written(&test).await;
    assert!(before.len() >= 3);
    let reply = test.ingest(&lines().replace("2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z")).await.json();
    assert!(
        reply["data"]["changed"]["vault"].as_u64() > Some(0) && reply["data"]["changed"]["chain"].as_u64() > Some(0)
    );
    let events = [event_id("named"), event_id("whole"), event_id("elsewhere")];
    let after = written(&test).await;
    for event in events {
        assert_eq!(after[&event], before[&event]);
    }
}

#[tokio::test]
async fn a_vault_with_another_curator_moves_its_events_and_no_others() {
    let test = with_events().await;
    let of = async |curator: &str| -> Vec<String> {
        let answer =
            test.json(&format!("/v1/events?daysBack=30&excludeSource=rating-change&curatorId={curator}")).await;
        titles(&answer).into_iter().map(str::to_owned).collect()
    };
    assert_eq!(
        (of("north").await, of("tide").await),
        (vec!["named".to_owned(), "whole".to_owned()], vec!["elsewhere".to_owned()])
    );
    let before = written(&test).await;
    let moved = VAULTS[0].curated_by("tide");
    test.ingest(&again(&moved, "2026-11-02T00:00:00Z")).await;
    // Another vault of the protocol still has the first curator.
    assert_eq!((of("north").await, of("tide").await.len()), (vec!["whole".to_owned()], 3));
    let row = test.json("/v1/events?daysBack=30&search=named").await["data"][0].clone();
    assert_eq!(row["curator_id"], "tide");
    let after = written(&test).await;
    assert_eq!(after[&event_id("elsewhere")], before[&event_id("elsewhere")]);
    assert_ne!(after[&event_id("named")], before[&event_id("named")]);
}
